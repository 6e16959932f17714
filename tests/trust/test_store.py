"""LIMITS, Store, lines 1 to 11 (8 is in test_jobs.py): the index under kills, full disks, damage.

Each test's output says how many points it took; `--points all` takes every one.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers import service
from helpers.errors import RagDocError, StoreError
from helpers.store import database, schema
from tests import doors
from tests.sync.stage import Stage, stage_in

Points = Callable[[int, int], int]
Record = Callable[[str, object], None]

DRIVER = Path(__file__).with_name("killed_sync.py")
SEED = 20_261


def text_of(name: str, version: int) -> str:
    """A document of a few chunks whose words tell its version."""
    body = f"The {name} in its version{version} says something about water and pipes. " * 30
    return f"# {name} version{version}\n\n" + "\n\n".join([body] * 2)


def written(stage: Stage, count: int, version: int = 1) -> None:
    for number in range(count):
        stage.write(f"f{number % 5}/d{number:03}.md", text_of(f"d{number:03}", version))


def driven(stage: Stage, mode: str, number: int) -> subprocess.CompletedProcess[str]:
    """One sync under the driver."""
    words = stage.command("rag_sync.py", "--quiet", "--workers", "1")[2:]
    return doors.run(DRIVER, [mode, str(number), *words])


def whole(stage: Stage) -> bool:
    """Every document has exactly the chunks it says, in order from 0."""
    rows = stage.rows(
        "SELECT d.chunks, count(c.id), min(c.ordinal), max(c.ordinal) FROM document d"
        " LEFT JOIN chunk c ON c.document_id = d.id GROUP BY d.id"
    )
    return all(
        said == found and (not said or (low, high) == (0, said - 1))
        for said, found, low, high in rows
    )


class Resync:
    """An indexed folder with changes waiting, restored before each blow."""

    def __init__(self, folder: Path) -> None:
        self.stage = stage_in(folder)
        written(self.stage, 10)
        self.stage.sync()
        self.before = self.stage.texts()
        self.saved = folder / "saved"
        shutil.copytree(self.stage.state, self.saved)
        for number in (1, 3):
            self.stage.write(f"f{number}/d{number:03}.md", text_of(f"d{number:03}", 2))
        self.stage.write("f9/new.md", text_of("new", 1))
        (self.stage.docs / "f4/d004.md").unlink()
        os.utime(self.stage.docs / "f0/d000.md", (5, 5))
        counted = driven(self.stage, "count", 0)
        self.counts = json.loads(counted.stdout.splitlines()[-1])
        self.after = self.stage.texts()
        self.digest = self.stage.digest()

    def restore(self) -> None:
        shutil.rmtree(self.stage.state)
        shutil.copytree(self.saved, self.stage.state)

    def check(self) -> None:
        """Sound now, old or new document by document, and converging."""
        assert self.stage.problems() == []
        assert whole(self.stage)
        for path, text in self.stage.texts().items():
            assert text in (self.before.get(path), self.after.get(path)), path
        assert self.stage.sync()["status"] == "done"
        assert self.stage.digest() == self.digest
        assert self.stage.problems() == []


@pytest.fixture(scope="module")
def resync(tmp_path_factory: pytest.TempPathFactory) -> Resync:
    return Resync(tmp_path_factory.mktemp("resync"))


def spread(total: int, count: int) -> list[int]:
    """`count` of 1 … total: the ends, and a seeded choice between."""
    if count >= total:
        return list(range(1, total + 1))
    middle = random.Random(SEED).sample(range(2, total), max(0, count - 2))
    return sorted({1, total, *middle})


@pytest.mark.parametrize(("mode", "least"), [("statement", 0), ("step", 140)])
def test_01_02_a_kill_at_any_statement_or_step_of_a_resync_loses_nothing(
    resync: Resync, points: Points, record_property: Record, mode: str, least: int
) -> None:
    total = resync.counts[f"{mode}s"]
    chosen = spread(total, points(6, max(total if mode == "statement" else 0, least)))
    for point in chosen:
        resync.restore()
        assert driven(resync.stage, mode, point).returncode == -signal.SIGKILL
        resync.check()
    record_property("points", f"{len(chosen)} of {total} {mode}s")


def test_03_random_kills_across_a_first_sync_converge(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    kills = points(4, 50)
    files = points(60, 500)
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    written(stage, files)
    chance = random.Random(SEED)
    counted = json.loads(driven(stage, "count", 0).stdout.splitlines()[-1])
    reference = stage.digest()
    shutil.rmtree(stage.state)
    for _ in range(kills):
        driven(stage, "statement", chance.randint(1, counted["statements"]))
    assert stage.sync()["status"] == "done"
    assert stage.digest() == reference
    assert stage.problems() == []
    record_property("kills", kills)


def test_04_a_kill_at_any_migration_statement_leaves_the_old_or_the_new_schema(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    stage = stage_in(tmp_path)
    total = sum(len(step) for step in schema.MIGRATIONS) + 10
    chosen = spread(total, points(5, total))
    for point in chosen:
        shutil.rmtree(stage.state, ignore_errors=True)
        assert driven(stage, "statement", point).returncode == -signal.SIGKILL
        if stage.settings.db.exists():
            raw = sqlite3.connect(stage.settings.db)
            assert raw.execute("PRAGMA user_version").fetchone()[0] in (0, schema.CURRENT)
            raw.close()
        database.open_write(stage.settings.db).close()
        db = database.open_read(stage.settings.db)
        assert schema.version(db) == schema.CURRENT
        db.close()
    record_property("points", f"{len(chosen)} of {total}")


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO posting(posting) VALUES('delete-all')",
        "DELETE FROM posting_docsize WHERE id = 1",
        "UPDATE chunk SET text = 'quite other words' WHERE id = 2",
        "INSERT INTO posting(rowid, body, context) VALUES(1000000, 'stray', '')",
    ],
)
def test_05_desynchronised_postings_are_found_by_health_and_rebuilt_by_one_command(
    tmp_path: Path, damage: str
) -> None:
    stage = stage_in(tmp_path)
    written(stage, 3)
    stage.sync()
    db = database.open_write(stage.settings.db)
    db.execute(damage)
    db.close()
    problems = service.health(stage.settings)["problems"]
    assert [p["code"] for p in problems] == ["postings_mismatch"]
    assert "rag_sync.py --force" in problems[0]["remedy"]
    stage.sync("--force")
    assert service.health(stage.settings)["ok"] is True
    assert set(stage.paths("version1")) == set(stage.texts())


def flipped(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 8, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def test_06_byte_flipped_indexes_give_typed_errors_and_can_be_rebuilt(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    stage = stage_in(tmp_path)
    written(stage, 5)
    stage.sync()
    good = stage.settings.db.read_bytes()
    chance = random.Random(SEED)
    found = 0
    count, rebuilt = points(25, 200), points(3, 20)
    for number in range(count):
        for suffix in database.SIDE_FILES:
            Path(f"{stage.settings.db}{suffix}").unlink(missing_ok=True)
        stage.settings.db.write_bytes(good)
        flipped(stage.settings.db, chance)
        report = service.health(stage.settings)
        found += not report["ok"]
        assert all(p["remedy"] for p in report["problems"])
        done = stage.run("rag_search.py", "water pipes", "--json") if number < rebuilt else None
        if done is not None:
            assert done.returncode in (0, 4) and "Traceback" not in done.stderr
            assert stage.sync("--force")["status"] == "done"
            assert stage.problems() == []
    assert found
    record_property("databases", f"{count}, {found} found damaged, {rebuilt} rebuilt")


def test_07_a_full_disk_fails_the_job_and_keeps_the_old_index(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    stage = stage_in(tmp_path)
    written(stage, 10)
    stage.sync()
    old = stage.texts()
    written(stage, 40, version=2)
    saved = tmp_path / "saved"
    shutil.copytree(stage.state, saved)
    pages = points(4, 20)
    for number in range(pages):
        shutil.rmtree(stage.state)
        shutil.copytree(saved, stage.state)
        done = driven(stage, "pages", number)
        assert done.returncode == StoreError.exit_code
        job = service.sync_status(stage.settings)
        assert job["status"] == "failed" and "disk is full" in job["error"].lower()
        assert whole(stage) and set(old) <= set(stage.texts())
        assert stage.problems() == []
    assert stage.sync()["status"] == "done"
    assert len(stage.texts()) == 40
    record_property("points", pages)


def test_09_readers_see_whole_documents_through_a_sync(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    stage = stage_in(tmp_path)
    written(stage, 20)
    stage.sync()
    written(stage, points(100, 500), version=2)
    done = threading.Event()
    looks, errors = [0] * 4, []

    def read(reader: int) -> None:
        while not done.is_set():
            try:
                if not whole(stage):
                    errors.append("half a document")
                looks[reader] += 1
            except (RagDocError, sqlite3.Error) as error:
                errors.append(repr(error))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for reader in readers:
        reader.start()
    try:
        job = stage.sync()
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert job["status"] == "done"
    assert errors == []
    assert all(looks)
    record_property("looks", sum(looks))


def test_10_many_processes_open_a_new_data_directory_at_once(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    rounds = points(2, 20)
    code = (
        "import sys; from pathlib import Path; from helpers.store import database, schema;"
        "db = database.open_write(Path(sys.argv[1])); print(schema.version(db))"
    )
    for number in range(rounds):
        path = tmp_path / f"state{number}" / "ragdoc.sqlite3"
        command = [sys.executable, "-c", code, str(path)]
        root = Path(__file__).resolve().parents[2]
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)
            for _ in range(8)
        ]
        for process in processes:
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out.strip()) == (0, str(schema.CURRENT).encode()), err
    record_property("rounds", rounds)


def test_11_state_is_private_under_any_umask(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    written(stage, 2)
    old = os.umask(0)
    try:
        stage.sync()
        assert service.sync_blocking(stage.settings)["status"] == "done"
    finally:
        os.umask(old)
    modes: dict[str, Any] = {}
    for path in [stage.state, *stage.state.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        if stat.S_IMODE(path.stat().st_mode) != wanted:
            modes[str(path)] = oct(path.stat().st_mode)
    assert modes == {}
    assert {"logs", "sync_jobs"} <= {path.name for path in stage.state.iterdir()}
