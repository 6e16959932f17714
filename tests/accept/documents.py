"""The reference documents against their manifest: what each file has to give, what it gave.

    python -m tests.accept.documents        # the table per format and class

Promises: one sync of the folder as it lies, in one run, into a data directory of its own; texts
are compared as the data's README says.
Does not: write into the reference data, or judge what a search finds.
"""

from __future__ import annotations

import csv
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.extract import formats
from tests.sync.stage import Stage

BETWEEN = " ¦ "  # two fragments of one column
INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
TONES = re.compile("[\u0e48-\u0e4b]")  # Thai marks that OCR loses
TEXT_CLASSES = ("text", "text-hard", "recover", "damaged", "text+ocr")
PICTURE_CLASSES = ("ocr", "garbled", "damaged")


@dataclass(frozen=True)
class Sample:
    """A row of the manifest."""

    path: str
    format: str
    kind: str
    must: tuple[str, ...]
    hard: tuple[str, ...]
    must_not: tuple[str, ...]

    @property
    def readable(self) -> bool:
        """Whether the format has a reader in this version."""
        known = formats.BY_NAME.get(self.format)
        return self.format in ("wrong-ext", "skip") or (known is not None and known.supported)


@dataclass(frozen=True)
class Outcome:
    """What became of a sample: its text in the index, or why there is none."""

    sample: Sample
    text: str
    code: str | None
    reason: str
    remedy: str
    notices: str
    known: bool  # whether the index has a row for the file

    @property
    def missing(self) -> tuple[str, ...]:
        return self._absent(self.sample.must)

    @property
    def hard_missing(self) -> tuple[str, ...]:
        return self._absent(self.sample.hard)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Fragments that must not be there; one with an invisible sign is looked for as it is."""
        return tuple(
            found
            for found in self.sample.must_not
            if (found in self.text if INVISIBLE.search(found) else folded(found) in self.folded)
        )

    @property
    def folded(self) -> str:
        return folded(self.text)

    @property
    def recognised(self) -> tuple[int, int]:
        """Fragments found and wanted, Thai tone marks left out of account."""
        wanted = self.sample.must + self.sample.hard
        text = TONES.sub("", self.folded)
        return sum(TONES.sub("", folded(found)) in text for found in wanted), len(wanted)

    @property
    def complete(self) -> bool:
        return self.code is None and not self.missing and not self.forbidden

    def _absent(self, fragments: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(found for found in fragments if folded(found) not in self.folded)


@dataclass(frozen=True)
class Library(Stage):
    """A stage over a folder that lies elsewhere and is only read."""

    source: Path = field(default=Path())

    @property
    def docs(self) -> Path:
        return self.source


def folded(text: str) -> str:
    """NFC + NFKC, SARA AM in one sign, without white space and invisible signs, lower case."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFC", text))
    text = text.replace("\u0e4d\u0e32", "\u0e33")
    return "".join(INVISIBLE.sub("", text).split()).lower()


def samples(shared: Path) -> list[Sample]:
    """The rows of the manifest."""
    with (shared / "docs" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Sample(
                unicodedata.normalize("NFC", row["file"]),
                row["format"],
                row["class"],
                _fragments(row["must_contain"]),
                _fragments(row["hard_contain"]),
                _fragments(row["must_not_contain"]),
            )
            for row in rows
        ]


def outcomes(stage: Stage, wanted: Iterable[Sample]) -> list[Outcome]:
    """What the index of `stage` holds of the samples."""
    texts = stage.texts()
    rows = {
        row[0]: row[1:]
        for row in stage.rows("SELECT path, code, reason, remedy, notices FROM document")
    }
    return [
        Outcome(
            sample,
            texts.get(sample.path, ""),
            *_facts(rows.get(sample.path, (None, "", "", ""))),
            known=sample.path in rows,
        )
        for sample in wanted
    ]


def table(found: Iterable[Outcome]) -> list[str]:
    """Lines of Markdown: files, complete ones and codes per format and class."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in found:
        groups.setdefault((outcome.sample.format, outcome.sample.kind), []).append(outcome)
    lines = ["| format | class | files | complete | hard | codes |", "|---|---|---|---|---|---|"]
    for (name, kind), group in sorted(groups.items()):
        hard = [outcome for outcome in group if outcome.sample.hard]
        codes = sorted(outcome.code for outcome in group if outcome.code)
        told = ", ".join(f"{code} {codes.count(code)}" for code in dict.fromkeys(codes))
        complete = sum(outcome.complete for outcome in group if outcome.sample.must)
        wanted = any(outcome.sample.must for outcome in group)
        got = sum(not outcome.hard_missing for outcome in hard)
        lines.append(
            f"| {name} | {kind} | {len(group)} | {complete if wanted else '–'} |"
            f" {f'{got}/{len(hard)}' if hard else '–'} | {told or '–'} |"
        )
    return lines


def recognition(found: Iterable[Outcome]) -> list[str]:
    """Lines of Markdown: fragments found per file that has to be recognised."""
    lines = ["| file | class | fragments | code |", "|---|---|---|---|"]
    got = wanted = 0
    for outcome in found:
        if outcome.sample.kind in PICTURE_CLASSES:
            here, all_of_it = outcome.recognised
            got, wanted = got + here, wanted + all_of_it
            sample = outcome.sample
            told = f"{here}/{all_of_it} | {outcome.code or 'read'}"
            lines.append(f"| {sample.path} | {sample.kind} | {told} |")
    return [*lines, f"| together | | {got}/{wanted} | |"]


def misses(found: Iterable[Outcome]) -> list[str]:
    """A line for each readable file whose fragments are not all as the manifest says."""
    return [
        f"{o.sample.path} ({o.sample.kind}): missing {list(o.missing)}, hard"
        f" {list(o.hard_missing)}, forbidden {list(o.forbidden)}, {o.code or 'read'}"
        for o in found
        if o.sample.readable and (o.missing or o.hard_missing or o.forbidden)
    ]


def _fragments(column: str | None) -> tuple[str, ...]:
    return tuple(part.strip(" ") for part in (column or "").split(BETWEEN) if part.strip())


def _facts(row: tuple[Any, ...]) -> tuple[str | None, str, str, str]:
    code, reason, remedy, notices = row
    return code, reason or "", remedy or "", notices or ""


def main() -> int:
    """Sync the reference documents and print the table."""
    from tests.conftest import SHARED

    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder), source=SHARED / "docs")
        job = library.sync(timeout=3_600)
        found = outcomes(library, samples(SHARED))
    print("\n".join(table(found)), end="\n\n")
    print("\n".join(recognition(found)))
    text = [o for o in found if o.sample.readable and o.sample.kind == "text"]
    complete = sum(o.complete for o in text)
    print(f"\ntext files of the formats read: {complete} of {len(text)} complete")
    print(f"run: {job['status']}, {job['added']} added, {job['failed']} failed\n")
    print("\n".join(misses(found)) or "no misses")
    return 0 if complete == len(text) else 1


if __name__ == "__main__":
    sys.exit(main())
