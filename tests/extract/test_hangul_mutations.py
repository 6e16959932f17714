"""Damaged Hangul documents: whatever byte is wrong, a reader ends with blocks or with Unread."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.extract.hangul_files import (
    DISTRIBUTION,
    automatic,
    box,
    cell,
    control,
    deflated,
    distributed,
    equation,
    grid,
    head,
    hwp,
    hwpx,
    info,
    listing,
    mark,
    p,
    para,
    table,
    tbl,
    tc,
    wide,
    written,
)
from tests.extract.test_office_mutations import damaged, outcome, repacked, swapped

Damage = Callable[[bytes, random.Random], bytes]
Points = Callable[[int, int], int]

CODES = {"read", "corrupt", "limit_reached", "encrypted", "unsupported", "empty"}
SECONDS = 5.0  # what one damaged file may take, generously

SECTION = [
    para(mark(2, "secd") + mark(16, "head"), control("head", listing(para("머리말")))),
    para("제목", shape=1),
    para(f"본문{mark(17, 'fn  ')}{mark(9)} 뒤", control("fn  ", listing(para("각주")))),
    para(f"식 {mark(11, 'eqed')}", equation("{a} over {b}")),
    para(
        mark(11, "tbl "),
        table(
            2,
            *(cell(r, c, para(f"칸{r}{c}"), grid([["안"] * 2])) for r in (0, 1) for c in (0, 1)),
            caption=listing(para(f"표 {mark(18, 'atno')}", automatic(4, 1))),
        ),
    ),
    para(f"이{mark(23, 'tdut')}", control("tdut", data=wide("본") + wide("덧"))),
    para("끝"),
]
DOCUMENT = hwp(SECTION, docinfo=info([None, 0], ["바탕글", "개요 1"]))
PAGES = hwpx(
    p("제목", shape=1)
    + p(f"<hp:t>본문</hp:t><hp:ctrl>{box('footNote', p('각주'))}</hp:ctrl>")
    + p("가<hp:deleteBegin/>나<hp:deleteEnd/><hp:tab/>다")
    + p(tbl([[tc(p("칸"), p(tbl([["안", "쪽"]]))), "옆"]], box("caption", p("표"))))
    + p("<hp:equation><hp:script>x^2</hp:script></hp:equation>"),
    header=head([None, 0], ["바탕글", "개요 1"]),
)


def records_damaged(data: bytes, chance: random.Random) -> bytes:
    """The compound file is sound, the records of its section or of its styles are damaged."""
    if chance.random() < 0.2:
        return hwp(SECTION, docinfo=damaged(info([None, 0], ["개요 1"]), chance))
    return hwp(deflated(damaged(written(SECTION), chance)), docinfo=info([None, 0]))


def records_shuffled(data: bytes, chance: random.Random) -> bytes:
    """Sound records that stand where they should not, or on another level."""
    trees = [chance.choice(SECTION) for _ in range(chance.randint(1, 9))]
    levels = [written([tree], chance.choice((0, 0, 1, 2, 5))) for tree in trees]
    return hwp(deflated(b"".join(levels)))


def unlocked_damaged(data: bytes, chance: random.Random) -> bytes:
    return damaged(distributed(SECTION, chance.randrange(1 << 32)), chance)


@pytest.mark.parametrize("damage", [damaged, records_damaged, records_shuffled, unlocked_damaged])
def test_damaged_hwp_gives_blocks_or_a_typed_error(damage: Damage, points: Points) -> None:
    count = points(200, 2_000)
    if damage is unlocked_damaged:
        count //= 4  # enciphering costs most of it
    chance = random.Random(damage.__name__)
    outcomes = set()
    for _ in range(count):
        data = damage(DOCUMENT, chance)
        began = time.process_time()
        outcomes.add(outcome("hwp", data))
        assert time.process_time() - began < SECONDS
    assert outcomes <= CODES
    assert "read" in outcomes


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("damage", [damaged, repacked, swapped])
def test_damaged_hwpx_gives_blocks_or_a_typed_error(damage: Damage, points: Points) -> None:
    chance = random.Random(damage.__name__)
    outcomes = {outcome("hwpx", damage(PAGES, chance)) for _ in range(points(200, 2_000))}
    assert outcomes <= CODES - {"limit_reached"}  # damage to a small file reaches none
    assert "read" in outcomes


@pytest.mark.parametrize(
    ("module", "data"),
    # The last sector of the compound file is its table of sectors, the end of it unused.
    [("hwp", DOCUMENT[:-512]), ("hwpx", PAGES[:-1])],
)
def test_every_cut_gives_a_typed_error(module: str, data: bytes) -> None:
    outcomes = {outcome(module, data[:length]) for length in range(0, len(data), 31)}
    assert outcomes <= {"corrupt", "empty", "limit_reached"}


@pytest.mark.parametrize(("module", "data"), [("hwp", DOCUMENT), ("hwpx", PAGES)])
def test_undamaged_files_are_read(module: str, data: bytes) -> None:
    assert outcome(module, data) == "read"


def test_every_flag_of_the_header_gives_a_typed_error() -> None:
    outcomes = {outcome("hwp", hwp(SECTION, flags=1 | 1 << bit)) for bit in range(32)}
    assert outcomes == {"read", "encrypted"}
    assert outcome("hwp", hwp(SECTION, flags=1 | DISTRIBUTION)) == "read"
