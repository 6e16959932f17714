"""A sync that recognises: each page once, what is missing named, nothing left behind.

Most of it runs with a stand-in for Tesseract, written by the test and first on the path.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.recognize.pictures import png, scan, tiff
from tests.recognize.programs import StandIn, needs_tesseract, without_engine
from tests.sync.stage import Stage

CANCEL_S = 2.0  # seconds in which a cancelled sync has to end
WAIT_S = 60.0
needs_poppler = pytest.mark.skipif(
    shutil.which("pdftoppm") is None, reason="needs pdftoppm (.ci/run installs poppler-utils)"
)
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
pytestmark = posix_only

NUMBERED = """
    if looks:
        print("Rotate: 0\\nScript: Latin")
    else:
        with open({count!r}, "a") as file:
            file.write("x")
        number = os.path.getsize({count!r})
        if number > {hangs_after}:
            open({pid!r}, "w").write(str(os.getpid()))
            time.sleep(1000)
        row = ["5", "1", "1", "1", "1", "1", "10", "10", "500", "40", "95", "words"]
        open(target + ".tsv", "w").write("heading\\n" + "\\t".join(row) + "\\n")
        open(target + ".txt", "w").write(f"words number {{number}}\\n")
"""


@pytest.fixture
def engine(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


def sync(stage: Stage, engine: StandIn, *words: str) -> dict[str, Any]:
    return stage.sync(*words, env=engine.environment())


def fingerprints(stage: Stage) -> dict[str, str]:
    return dict(stage.rows("SELECT path, fingerprint FROM document"))


def remedies(stage: Stage) -> dict[str, tuple[str, str, str]]:
    rows = stage.rows("SELECT path, code, reason, remedy FROM document WHERE code IS NOT NULL")
    return {path: (code, reason, remedy) for path, code, reason, remedy in rows}


# --- each page once ------------------------------------------------------------------


def test_a_picture_is_recognised_and_found(stage: Stage, engine: StandIn) -> None:
    stage.write("photo.png", png())
    engine.reads("harbour crane invoice")
    assert sync(stage, engine)["added"] == 1
    assert stage.texts() == {"photo.png": "harbour crane invoice"}
    assert stage.rows("SELECT ocr FROM chunk") == [(1,)]
    assert stage.paths("harbour crane") == ["photo.png"]
    assert stage.problems() == []


def test_force_rename_and_copy_recognise_nothing_again(stage: Stage, engine: StandIn) -> None:
    original = stage.write("photo.png", png())
    sync(stage, engine)
    calls = len(engine.calls)
    assert calls
    assert sync(stage, engine, "--force")["updated"] == 1
    original.rename(stage.docs / "renamed.png")
    stage.write("copy/of it.png", png())
    sync(stage, engine)
    assert sorted(stage.texts()) == ["copy/of it.png", "renamed.png"]
    assert len(engine.calls) == calls


@needs_poppler
def test_a_changed_scan_recognises_its_new_page_alone(stage: Stage, engine: StandIn) -> None:
    stage.write("scan.pdf", scan(10, 20))
    sync(stage, engine)
    calls = len(engine.calls)
    stage.write("scan.pdf", scan(10, 20, 30))
    sync(stage, engine)
    pages = stage.rows("SELECT json_extract(location, '$.page') FROM chunk ORDER BY ordinal")
    assert stage.texts()["scan.pdf"].count("recognised words") == 3, pages
    assert len(engine.calls) == calls * 3 // 2


def test_a_picture_without_text_is_looked_at_once(stage: Stage, engine: StandIn) -> None:
    stage.write("sky.png", png())
    engine.reads("l.;", sure=10)
    sync(stage, engine)
    calls = len(engine.calls)
    sync(stage, engine, "--force")
    assert len(engine.calls) == calls
    code, reason, _ = remedies(stage)["sky.png"]
    assert code == "no_text" and "nothing legible" in reason


@needs_poppler
def test_a_page_with_text_keeps_it_and_one_without_is_recognised(
    stage: Stage, engine: StandIn
) -> None:
    stage.write("mixed.pdf", scan(10, 20, text={1: "The text layer"}))
    sync(stage, engine)
    rows = stage.rows("SELECT text, ocr, json_extract(location, '$.page') FROM chunk ORDER BY 3")
    assert rows == [("The text layer", 0, 1), ("recognised words", 1, 2)]


def test_every_page_of_a_tiff_is_a_place(stage: Stage, engine: StandIn) -> None:
    stage.write("fax.tif", tiff(10, 20, 30))
    sync(stage, engine)
    assert [call for call in engine.calls if "tessedit_page_number=2" in call]
    pages = stage.rows("SELECT DISTINCT json_extract(location, '$.page') FROM chunk ORDER BY 1")
    assert pages == [(1,), (2,), (3,)]


@needs_poppler
def test_pictures_inside_mail_and_archives_are_recognised_under_their_place(
    stage: Stage, engine: StandIn
) -> None:
    mail = EmailMessage()
    mail["Subject"] = "A scan"
    mail.set_content("See the attached scan.")
    mail.add_attachment(scan(1, 2), maintype="application", subtype="pdf", filename="fax.pdf")
    stage.write("mail.eml", bytes(mail))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("in/photo.png", png())
    stage.write("a.zip", held.getvalue())
    sync(stage, engine, "--archives", "on")
    rows = stage.rows("SELECT json_extract(location, '$.label') FROM chunk WHERE ocr ORDER BY 1")
    assert [label for (label,) in rows] == [
        "attachment fax.pdf, p. 1",
        "attachment fax.pdf, p. 2",
        "in/photo.png, p. 1",
    ]
    assert all(" picture=tesseract" in found for found in fingerprints(stage).values())


# --- what is missing -----------------------------------------------------------------


def test_installing_an_engine_reads_exactly_the_scans_anew(
    stage: Stage, engine: StandIn, tmp_path: Path
) -> None:
    stage.write("photo.png", png())
    stage.write("scan.pdf", scan(10, text={1: "A text layer"}))
    stage.write("note.txt", "words")
    stage.sync(env=without_engine(tmp_path / "nothing"))
    before = fingerprints(stage)
    assert before["photo.png"].endswith(" picture=absent")
    assert not any("picture" in before[name] for name in ("scan.pdf", "note.txt"))
    job = sync(stage, engine)
    assert (job["updated"], job["unchanged"]) == (1, 2)
    assert "photo.png" in stage.texts()
    job = stage.sync(env=without_engine(tmp_path / "nothing"))
    assert (job["updated"], job["failed"]) == (0, 1), "without its engine it is told again"


def test_another_minor_version_reads_scans_anew_and_a_patch_does_not(
    stage: Stage, engine: StandIn
) -> None:
    stage.write("photo.png", png())
    stage.write("note.txt", "words")
    sync(stage, engine)
    code = engine.path.read_text()
    engine.path.write_text(code.replace("5.9.1", "5.9.22"))
    assert sync(stage, engine)["updated"] == 0
    engine.path.write_text(code.replace("5.9.1", "5.10.1"))
    assert [sync(stage, engine)["updated"], sync(stage, engine)["updated"]] == [1, 0]


def test_absent_broken_and_languageless_engines_are_told_apart(
    stage: Stage, engine: StandIn, tmp_path: Path
) -> None:
    stage.write("photo.png", png())
    stage.sync(env=without_engine(tmp_path / "nothing"))
    code, reason, remedy = remedies(stage)["photo.png"]
    assert code == "no_text" and "no OCR is installed" in reason
    assert "apt install tesseract-ocr tesseract-ocr-tha tesseract-ocr-kor" in remedy
    sync(stage, engine, "--ocr-languages", "tha,kor")
    code, reason, remedy = remedies(stage)["photo.png"]
    assert code == "no_text" and "language data for tha, kor" in reason
    assert "tesseract-ocr-tha tesseract-ocr-kor" in remedy
    engine.path.write_text("#!/bin/sh\necho 'libgone.so: cannot open' >&2; exit 127\n")
    sync(stage, engine)
    code, reason, remedy = remedies(stage)["photo.png"]
    assert code == "no_text" and "does not run" in reason and "libgone.so" in reason
    assert "Reinstall" in remedy
    engine.reads()
    sync(stage, engine)
    assert stage.texts()["photo.png"] == "recognised words"


def test_switched_off_says_how_to_switch_it_on(stage: Stage, engine: StandIn) -> None:
    stage.write("photo.png", png())
    sync(stage, engine, "--ocr", "off")
    code, _, remedy = remedies(stage)["photo.png"]
    assert code == "no_text" and "--ocr auto" in remedy
    assert engine.calls == []


def test_a_page_nothing_can_draw_names_what_draws_pages(stage: Stage, engine: StandIn) -> None:
    stage.write("scan.pdf", scan(10))
    stage.write("photo.png", png())
    job = stage.sync(env=os.environ | {"PATH": str(engine.folder)})
    assert job["added"] == 1
    code, reason, remedy = remedies(stage)["scan.pdf"]
    assert code == "no_text" and "draws PDF pages" in reason and "poppler-utils" in remedy
    assert "-nopages" in fingerprints(stage)["scan.pdf"]


# --- engines that misbehave ----------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("    sys.exit(3)", "no_text"),
        ("    os.kill(os.getpid(), 11)", "no_text"),
        ("    pass", "no_text"),
        (
            "    open(target + '.tsv', 'wb').write(os.urandom(9999)); open(target + '.txt', 'w')",
            "no_text",
        ),
        ("    open(target + '.tsv', 'w').truncate(100_000_000)", "limit_reached"),
        ("    while looks: print('x' * 100_000)\n    sys.exit(1)", "no_text"),
    ],
    ids=["fails", "crashes", "silent", "junk", "100 MB", "endless"],
)
def test_an_engine_that_misbehaves_costs_its_page_alone(
    stage: Stage, engine: StandIn, code: str, wanted: str
) -> None:
    stage.write("photo.png", png())
    stage.write("note.txt", "words")
    engine.does(code)
    job = sync(stage, engine)
    assert (job["status"], job["added"], job["failed"]) == ("done", 1, 1)
    assert remedies(stage)["photo.png"][0] == wanted
    assert left_over(stage) == []


def test_a_picture_too_large_by_its_head_meets_no_engine(stage: Stage, engine: StandIn) -> None:
    stage.write("bomb.png", png(declared=50_000))
    sync(stage, engine)
    code, reason, _ = remedies(stage)["bomb.png"]
    assert code == "limit_reached" and "2,500,000,000 > 100,000,000 pixels" in reason
    assert engine.calls == []


# --- cancelled and killed ------------------------------------------------------------


def left_over(stage: Stage) -> list[str]:
    folder = stage.state / "recognising"
    return os.listdir(folder) if folder.exists() else []


def started(stage: Stage, engine: StandIn) -> subprocess.Popen[str]:
    command = stage.command("rag_sync.py", "--json", "--quiet")
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=engine.environment(), stdout=pipe, text=True)


def awaited(path: Path) -> str:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()):
            return text
        os.sched_yield()
    raise AssertionError(f"no {path.name}")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@needs_poppler
def test_a_long_scan_is_cancelled_at_once_and_resumed_where_it_was(
    stage: Stage, engine: StandIn, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pages = 300 if request.config.getoption("--points") == "all" else 30
    stage.write("long.pdf", scan(*range(pages)))
    count, pid = tmp_path / "count", tmp_path / "pid"
    facts = {"count": str(count), "pid": str(pid)}
    engine.does(NUMBERED.format(**facts, hangs_after=pages // 3))
    running = started(stage, engine)
    engine_pid = int(awaited(pid))
    job = json.loads(stage.run("rag_sync.py", "--status", "--json").stdout)
    assert job["current_file"] == "long.pdf" and 0 < job["progress_percent"] < 90
    began = time.monotonic()
    (stage.state / "sync_jobs" / f"{job['job_id']}.cancel").touch()
    told = json.loads(running.communicate(timeout=30)[0])
    assert time.monotonic() - began < CANCEL_S
    assert told["status"] == "cancelled" and not alive(engine_pid)
    assert left_over(stage) == []
    done = count.stat().st_size
    engine.does(NUMBERED.format(**facts, hangs_after=10_000))
    assert sync(stage, engine)["added"] == 1
    repeated = count.stat().st_size - done - (pages - pages // 3)
    assert repeated <= 0, "only pages that were not finished are recognised"
    assert len(stage.texts()["long.pdf"].splitlines()) == pages


def test_a_killed_sync_leaves_no_engine_and_the_next_no_copy(
    stage: Stage, engine: StandIn, tmp_path: Path
) -> None:
    stage.write("photo.png", png())
    count, pid = tmp_path / "count", tmp_path / "pid"
    engine.does(NUMBERED.format(count=str(count), pid=str(pid), hangs_after=0))
    running = started(stage, engine)
    engine_pid = int(awaited(pid))
    copies = [path for path in (stage.state / "recognising").rglob("*") if path.is_file()]
    assert copies and all(path.stat().st_mode & 0o077 == 0 for path in copies)
    assert (stage.state / "recognising").stat().st_mode & 0o077 == 0
    running.send_signal(signal.SIGKILL)
    running.communicate()
    deadline = time.monotonic() + 5
    while alive(engine_pid) and time.monotonic() < deadline:
        os.sched_yield()
    assert not alive(engine_pid)
    engine.reads()
    assert sync(stage, engine)["added"] == 1
    assert left_over(stage) == []


def test_what_is_kept_is_private_and_goes_with_the_index(stage: Stage, engine: StandIn) -> None:
    stage.write("photo.png", png())
    sync(stage, engine)
    kept = list((stage.state / "recognised").rglob("*"))
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)
    assert stage.run("rag_sync.py", "--clear", "--yes").returncode == 0
    assert not (stage.state / "recognised").exists()


def test_damaged_results_are_made_again(stage: Stage, engine: StandIn) -> None:
    stage.write("photo.png", png())
    sync(stage, engine)
    calls = len(engine.calls)
    for path in (stage.state / "recognised").rglob("*.json"):
        path.write_text('{"pieces": [["x", "y"]]}')
    sync(stage, engine, "--force")
    assert stage.texts()["photo.png"] == "recognised words"
    assert len(engine.calls) > calls


# --- searching -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "query"),
    [
        ("สํานักงานประปาอําเภอนําพองขอแจ้งกําหนดการหยุดจ่ายนําชัวคราว", "หยุดจ่ายน้ำชั่วคราว"),
        ("เพือซ่อมท่อประธานทีชํารุด", "ซ่อมท่อประธานที่ชำรุด"),
        ("ค่าใช้จ่ายในการซ่อมแซมทังสิน", "ค่าซ่อมแซมทั้งสิ้น"),
        ("노후 송수곤 교체 공사로 단수를 실시합니다", "노후 송수관 교체 공사"),
        ("The rnunicipal water departrnent", "municipal water department"),
    ],
)
def test_wrong_letters_and_lost_marks_are_tolerated(
    stage: Stage, engine: StandIn, read: str, query: str
) -> None:
    stage.write("scan.png", png())
    stage.write("other.txt", "เอกสารเรื่องอื่น 다른 문서 another document")
    engine.reads(read)
    sync(stage, engine, "--semantic", "off")
    assert stage.paths(query, "--semantic", "off")[:1] == ["scan.png"]


# --- with the real engine ------------------------------------------------------------


@needs_tesseract
def test_thai_without_its_tone_marks_is_found_by_the_right_spelling(
    stage: Stage, shared: Path
) -> None:
    stage.write("scan.jpg", (shared / "docs" / "image" / "made_th_photo.jpg").read_bytes())
    stage.write("other.txt", "เอกสารเรื่องอื่น ไม่เกี่ยวกับน้ำ")
    stage.sync()
    assert "นำพอง" in stage.texts()["scan.jpg"], "the tone mark of น้ำพอง is lost"
    for query in ("อำเภอน้ำพอง", "หยุดจ่ายน้ำชั่วคราว", "ซ่อมท่อประธานที่ชำรุด"):
        assert stage.paths(query)[:1] == ["scan.jpg"], query
