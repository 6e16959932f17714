"""Faults that people reported against systems of this kind, through the doors a user has.

Each test stands for a whole kind of fault and bears its number. It uses the handed input where
that lies beside the repository ("handed"), and what the test itself writes ("made") where a few
lines show the same fault. b18 to b23 are held by tests/trust/test_mcp.py.
"""

from __future__ import annotations

import ast
import io
import os
import shutil
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.extract.hangul_files import grid, hwp, hwpx, p, tbl
from tests.server.session import SERVER, Session
from tests.source.tree import without_override
from tests.sync.stage import ROOT, Stage, stage_in

MEMORY_BYTES = 1_500_000 * 1024  # of address space, as b35 asks
NAME_BYTES = 255  # bytes of one name on the file systems of Linux

Shelf = Callable[..., Stage]
Made = Mapping[str, str | bytes]


@pytest.fixture(params=["made", "handed"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    """A stage that holds a case's input: made by the test, or the handed files."""

    def fill(case: str, made: Made | None = None) -> Stage:
        stage = stage_in(tmp_path)
        if request.param == "made":
            for name, content in (made or {}).items():
                stage.write(name, content)
        else:
            shutil.copytree(
                request.getfixturevalue("shared") / "bugs" / case,
                stage.docs,
                dirs_exist_ok=True,
                copy_function=shutil.copyfile,
            )
            for folder, _, _ in os.walk(stage.docs):
                os.chmod(folder, 0o755)
        return stage

    return fill


@pytest.fixture
def handed(shared: Path, tmp_path: Path) -> Callable[[str], Stage]:
    """A stage that holds a copy of a case's handed files."""

    def fill(case: str) -> Stage:
        stage = stage_in(tmp_path)
        shutil.copytree(shared / "bugs" / case, stage.docs, dirs_exist_ok=True)
        for folder, _, _ in os.walk(stage.docs):
            os.chmod(folder, 0o755)
        return stage

    return fill


def _first(stage: Stage, query: str, *words: str) -> dict[str, Any]:
    results = stage.search(query, *words)["results"]
    assert results, f"nothing found for {query}"
    return dict(results[0])


def _marked(result: Mapping[str, Any]) -> set[str]:
    return {result["text"][start:end] for start, end in result["highlights"]}


def _codes(job: Mapping[str, Any]) -> dict[str, str]:
    return {failure["path"]: failure["code"] for failure in job["failures"]}


# --- words ---------------------------------------------------------------------------------


def test_b01_short_term_beside_a_long_one_counts(shelf: Shelf) -> None:
    made = {
        "a.md": "올해 도로포장공사 일정을 알린다.",
        "b.md": "도로포장공사에 드는 예산은 3억 원이다.",
        "c.md": "내년 예산을 심의한다.",
    }
    stage = shelf("b01", made)
    stage.sync()
    results = stage.search("도로포장공사 예산")["results"]
    marked = {result["path"]: _marked(result) for result in results}
    assert results[0]["path"] == "b.md" and marked["b.md"] == {"도로포장공사", "예산"}
    assert marked.get("a.md", set()) <= {"도로포장공사"}


def test_b02_words_of_one_and_two_syllables_are_found(shelf: Shelf) -> None:
    made = {
        "history.md": "이 고장의 역사와 물 이야기를 적는다.",
        "th.md": "เปิดไฟแล้วให้อาหารปลาในบ่อ",
        "other.md": "길 건너 산으로 간다.",
    }
    stage = shelf("b02", made)
    stage.sync()
    for query, path in (("역사", "history.md"), ("물", "history.md")):
        assert stage.paths(query) == [path]
    for query in ("ไฟ", "ปลา"):
        assert stage.paths(query) == ["th.md"]


def test_b04_korean_particles_do_not_hide_the_noun(shelf: Shelf) -> None:
    made = {
        "seoul.md": "서울에서 부산까지 기차로 간다. 서울은 크다.",
        "sugar.md": "혈당이 오르면 운동을 한다.",
        "busan.md": "부산항에서 물동량이 늘었다.",
    }
    stage = shelf("b04", made)
    stage.sync()
    wanted = {"서울": "seoul.md", "혈당에서": "sugar.md", "부산항의 물동량은": "busan.md"}
    assert {query: stage.paths(query)[0] for query in wanted} == wanted


def test_b05_thai_words_inside_a_sentence_are_found_by_keyword(shelf: Shelf) -> None:
    made = {
        "news.md": "ข่าววันนี้รายงานว่าน้ำท่วมหลายเขตในกรุงเทพ",
        "food.md": "แม่ค้าขายข้าวสวยกับแกงทุกเช้า",
    }
    stage = shelf("b05", made)
    stage.sync()
    wanted = dict.fromkeys(("ข่าว", "น้ำท่วม", "กรุงเทพ"), "news.md") | {"ข้าวสวย": "food.md"}
    for query, path in wanted.items():
        result = _first(stage, query, "--mode", "lexical")
        assert (result["path"], result["matched_by"]) == (path, ["keyword"])


def test_b07_broken_thai_text_layer_is_repaired_or_reported(
    handed: Callable[[str], Stage],
) -> None:
    stage = handed("b07")
    reported = _codes(stage.sync())
    for query in ("น้ำ", "กำหนดการ"):
        found = set(stage.paths(query))
        assert found | set(reported) == {"mixed_up.pdf", "pua.pdf", "split.pdf"}
    assert not any("\ue000" <= sign <= "\uf8ff" for text in stage.texts().values() for sign in text)


def test_b08_snippet_is_whole_and_stands_verbatim_in_the_source(shelf: Shelf) -> None:
    made = {
        "am.md": "กำ" * 200 + " และท้ายสุดกำก",
        "nfd.md": unicodedata.normalize("NFD", "한국어 문장이 이어진다. " * 30 + "끝글자"),
    }
    stage = shelf("b08", made)
    stage.sync()
    for query, name in (("ท้ายสุดกำก", "am.md"), ("끝글자", "nfd.md")):
        result = _first(stage, query)
        source = (stage.docs / name).read_bytes().decode()
        assert result["path"] == name and result["text"] in source
        last = max(result["highlights"], key=lambda span: int(span[1]))
        shown = unicodedata.normalize("NFC", result["text"][last[0] : last[1]])
        assert shown and unicodedata.normalize("NFC", query).endswith(shown)


# --- files that are not what they seem -----------------------------------------------------


def test_b11_docx_that_is_no_zip_is_skipped_read_or_named(shelf: Shelf) -> None:
    made = {
        "~$report.docx": b"\x05owner" + b"\0" * 156,
        "good.md": "정상 문서",
        "old_as.docx": "<html><body><p>웹에서 낸 글</p></body></html>",
    }
    stage = shelf("b11", made)
    job = stage.sync()
    failures = {failure["path"]: failure for failure in job["failures"]}
    assert "good.md" in stage.texts() and "~$report.docx" not in failures
    if "enc.docx" in failures:
        assert failures["enc.docx"]["code"] == "encrypted"
        assert "password needed" in failures["enc.docx"]["reason"]
        assert "노후 송수관 교체 공사" in stage.texts()["old_as.docx"]
    else:
        assert "웹에서 낸 글" in stage.texts()["old_as.docx"]


def test_b13_empty_files_are_reported_once_and_read_when_they_get_content(shelf: Shelf) -> None:
    empty = ("empty.docx", "empty.hwpx", "empty.pdf", "empty.txt")
    stage = shelf("b13", dict.fromkeys(empty, "") | {"next.md": "다음 문서 뒤에 오는 글"})
    job = stage.sync()
    assert sorted(failure["path"] for failure in job["failures"]) == sorted(empty)
    assert set(_codes(job).values()) == {"empty"}
    assert set(stage.texts()) == {"next.md"}
    stage.write("empty.txt", "이제는 내용이 있다")
    assert "empty.txt" not in _codes(stage.sync())
    assert stage.paths("이제는 내용이") == ["empty.txt"]


def test_b14_deleted_file_is_not_returned_even_before_the_next_sync(shelf: Shelf) -> None:
    stage = shelf("b14", {"gone.md": "the zebra-gone clause", "keep.md": "the zebra-kept clause"})
    stage.sync()
    assert "gone.md" in stage.paths("zebra-gone")
    (stage.docs / "gone.md").unlink()
    assert "gone.md" not in stage.paths("zebra-gone")
    assert stage.sync()["deleted"] == 1
    assert "gone.md" not in stage.paths("zebra-gone")
    assert stage.rows("SELECT count(*) FROM document WHERE path = 'gone.md'") == [(0,)]
    assert stage.rows("SELECT count(*) FROM chunk WHERE text LIKE '%zebra-gone%'") == [(0,)]
    assert stage.problems() == []


@pytest.mark.skipif(os.name != "posix", reason="mode bits are POSIX")
def test_b17_unreadable_folder_is_named_and_loses_nothing(shelf: Shelf) -> None:
    made = {"a/ok.md": "앞 폴더 글", "locked/secret.md": "잠긴 글", "z/ok2.md": "뒤 폴더 글"}
    stage = shelf("b17", made)
    stage.sync()
    held = stage.texts()["locked/secret.md"]
    stage.write("z/new.md", "새로 온 글")
    (stage.docs / "locked").chmod(0)
    try:
        job = stage.sync(preexec_fn=without_override)
    finally:
        (stage.docs / "locked").chmod(0o755)
    assert (job["status"], job["exit_code"], job["deleted"]) == ("done", 1, 0)
    assert _codes(job)["locked"] == "unreadable"
    assert {"a/ok.md", "z/ok2.md", "z/new.md"} <= set(stage.texts())
    assert stage.texts()["locked/secret.md"] == held


def test_b18_to_b23_are_held_by_the_tests_of_the_server() -> None:
    tree = ast.parse((ROOT / "tests" / "trust" / "test_mcp.py").read_text("utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for case in ("b18", "b19", "b20", "b22", "b23"):
        assert any(name.startswith(f"test_{case}_") for name in names), case


# --- formats -------------------------------------------------------------------------------


def _sheet_with_a_gap() -> bytes:
    """A workbook whose second and last row is row 815."""
    rows = "".join(
        f'<row r="{number}"><c r="A{number}" t="inlineStr"><is><t>{text}</t></is></c></row>'
        for number, text in ((1, "첫 줄"), (815, "행815 멀리 있는 값"))
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Override '
        'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-'
        'officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        '<sheet name="Sheet" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{links}/worksheet" Target="worksheets/s.xml"/>'
        "</Relationships>",
        "xl/worksheets/s.xml": f'<worksheet xmlns="{main}"><dimension ref="A1:XFD1048576"/>'
        f"<sheetData>{rows}</sheetData></worksheet>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def test_b26_row_after_a_gap_is_found_with_its_sheet_and_row(shelf: Shelf) -> None:
    stage = shelf("b26", {"gap.xlsx": _sheet_with_a_gap()})
    stage.sync()
    result = _first(stage, "행815")
    assert "행815" in result["text"] or "815" in _marked(result)
    location = result["location"]
    assert (location["kind"], location["sheet"], location["row"]) == ("sheet", "Sheet", 815)


def test_b27_cells_of_hangul_tables_are_found_in_their_row(shelf: Shelf) -> None:
    rows = [["ABC", "DEF", "GHI"], ["LMN", "OPQ", "STR"]]
    grades = [["이름", "국어"], ["개똥이", "89"]]
    made = {"표.hwp": hwp([grid(rows)]), "Table.hwpx": hwpx(p(tbl(grades)))}
    stage = shelf("b27", made)
    stage.sync()
    for query, row in (("LMN", "LMN | OPQ | STR"), ("개똥이", "개똥이 | 89")):
        assert row in _first(stage, query)["text"]


def test_b29_text_box_in_a_header_is_found(handed: Callable[[str], Stage]) -> None:
    stage = handed("b29")
    stage.sync()
    result = _first(stage, "inside of a text box in the header")
    assert "inside of a text box in the header" in " ".join(result["text"].split())


def test_b32_glyph_codes_are_never_indexed_as_text(handed: Callable[[str], Stage]) -> None:
    stage = handed("b32")
    failures = {failure["path"]: failure for failure in stage.sync()["failures"]}
    assert failures["cid.pdf"]["code"] == "no_text"
    assert "unusable text layer" in failures["cid.pdf"]["reason"]
    texts = stage.texts()
    assert "cid.pdf" not in texts
    if "no_map.pdf" in texts:
        assert "노후 송수관 교체 공사" in texts["no_map.pdf"]
    else:
        assert failures["no_map.pdf"]["code"] == "no_text"
    assert not any("(cid:" in text or "\ufffd" in text for text in texts.values())


def test_b33_legacy_charsets_are_told_and_noted(shelf: Shelf) -> None:
    made = {
        "ko.txt": "노후 송수관 교체 공사 안내".encode("euc-kr"),
        "ko.csv": "이름,사는 곳\n성춘향,남원\n".encode("cp949"),
        "th.txt": "กำหนดการหยุดจ่ายน้ำ".encode("tis-620"),
        "late.log": b"ok\n" * 30_000 + "노후 송수관 파손\n".encode("euc-kr"),
    }
    stage = shelf("b33", made)
    assert stage.sync()["failed"] == 0
    assert len(stage.paths("노후 송수관")) == 2
    assert len(stage.paths("성춘향")) == len(stage.paths("กำหนดการ")) == 1
    labels = {label for (label,) in stage.rows("SELECT DISTINCT encoding FROM document")}
    assert labels <= {"EUC-KR", "CP949", "TIS-620", "CP874"}


def _bomb() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override'
            ' PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        body = "<w:p><w:r><w:t>" + "A" * 60_000_000 + "</w:t></w:r></w:p>"
        archive.writestr(
            "word/document.xml",
            '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
            f"<w:body>{body}</w:body></w:document>",
        )
    return made.getvalue()


def _little_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@pytest.mark.skipif(os.name != "posix", reason="address space limits are POSIX")
def test_b35_bomb_under_another_name_is_stopped_by_its_size(shelf: Shelf) -> None:
    bomb = _bomb()
    made = {"bomb.docx": bomb, "bomb_as.doc": bomb, "after.md": "bomb neighbour"}
    stage = shelf("b35", made)
    job = stage.sync(preexec_fn=_little_memory)
    assert _codes(job) == {"bomb.docx": "limit_reached", "bomb_as.doc": "limit_reached"}
    assert all(" > " in failure["reason"] for failure in job["failures"])
    assert stage.paths("bomb neighbour") == ["after.md"]


def test_b41_paths_over_260_letters_are_indexed(shelf: Shelf) -> None:
    deep = "/".join(["아주긴폴더이름을가진자료실"] * 9 + ["보고서 최종(2).md"])
    longest = "ก" * (NAME_BYTES // 3 - 1) + ".md"
    stage = shelf("b41", {deep: "긴 경로 문서", longest: "ชื่อยาวที่สุด"})
    job = stage.sync()
    assert (job["status"], job["failed"]) == ("done", 0)
    (path,) = stage.paths("긴 경로 문서")
    assert len(str(stage.docs / path).encode()) > 260
    if longest in stage.texts():
        assert stage.paths("ชื่อยาวที่สุด") == [longest]


def test_server_gives_the_answers_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    stage = stage_in(tmp_path / "cli")
    texts = {
        "seoul.md": "서울에서 부산까지 간다.",
        "th.md": "เปิดไฟในบ่อปลา",
        "water.md": "물 이야기",
    }
    with Session(tmp_path, script=SERVER) as session:
        for name, text in texts.items():
            stage.write(name, text)
            (tmp_path / "library" / name).write_text(text, encoding="utf-8")
        stage.sync()
        session.open()
        session.call("sync_kb")
        while session.call("sync_status")["structuredContent"]["status"] in ("queued", "running"):
            session.request("ping")
        for query in ("서울", "ไฟ", "물"):
            answer = session.call("rag_search", query=query)["structuredContent"]
            assert [result["path"] for result in answer["results"]] == stage.paths(query) != []
