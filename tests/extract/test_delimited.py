"""Tables of text: header once, rows with their numbers, quotes that keep what they hold."""

from __future__ import annotations

import io
import random

import pytest

from helpers.errors import Unread
from helpers.extract import delimited
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice


def read(text: str | bytes, name: str = "a.csv") -> list[Item]:
    data = text.encode() if isinstance(text, str) else text
    return list(delimited.read(io.BytesIO(data), Context(name, len(data))))


def rows(text: str | bytes, name: str = "a.csv") -> list[tuple[str, str]]:
    return [(b.kind, b.text) for b in read(text, name) if isinstance(b, Block)]


def test_header_and_rows_with_their_numbers() -> None:
    items = read("이름,부서\n홍길동,총무팀\n\n성춘향,재무팀\n")
    found = [item for item in items if isinstance(item, Block)]
    assert [(b.kind, b.text) for b in found] == [
        ("table_header", "이름 | 부서"),
        ("table_row", "홍길동 | 총무팀"),
        ("table_row", "성춘향 | 재무팀"),
    ]
    assert [b.location.label for b in found if b.location] == ["row 1", "row 2", "row 4"]


def test_quotes_keep_commas_and_line_breaks_in_their_cell() -> None:
    assert rows('a,b\n"x, y","one\ntwo"\n3,4\n')[1:] == [
        ("table_row", "x, y | one two"),
        ("table_row", "3 | 4"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(delimiter: str) -> None:
    text = "\n".join(
        delimiter.join((f"n{i}", f"{i},5" if delimiter == ";" else str(i))) for i in range(9)
    )
    assert rows(text)[3][1].startswith("n3 | 3")


def test_delimiter_that_is_named_for_excel_is_taken_and_is_no_row() -> None:
    found = [item for item in read("sep=;\na;b\n1;2\n") if isinstance(item, Block)]
    assert [block.text for block in found] == ["a | b", "1 | 2"]
    assert found[0].location is not None and found[0].location.number == 2


def test_tab_separated_table_may_hold_commas() -> None:
    assert rows("a\tb\n1,2\t3,4\n", "a.tsv") == [
        ("table_header", "a | b"),
        ("table_row", "1,2 | 3,4"),
    ]


def test_byte_order_mark_is_no_part_of_the_first_cell() -> None:
    assert rows(b"\xef\xbb\xbf" + "이름,값\n가,1\n".encode())[0] == ("table_header", "이름 | 값")


def test_short_korean_table_in_cp949_is_read() -> None:
    items = read("이름,부서\n홍길동,총무팀\n".encode("cp949"))
    assert items[0] == Metadata(encoding="EUC-KR")
    assert isinstance(items[2], Block) and items[2].text == "홍길동 | 총무팀"


def test_caption_above_a_table_is_not_its_header() -> None:
    assert rows("Report 2025,,\n,,\nitem,amount,unit\na,1,kg\n") == [
        ("paragraph", "Report 2025"),
        ("table_header", "item | amount | unit"),
        ("table_row", "a | 1 | kg"),
    ]


def test_table_of_numbers_has_no_header() -> None:
    assert rows("1,2\n3,4\n") == [("table_row", "1 | 2"), ("table_row", "3 | 4")]


def test_single_column_keeps_every_row() -> None:
    assert [text for _, text in rows("name\nแดง\nดำ\n")] == ["name", "แดง", "ดำ"]


@pytest.mark.parametrize("tail", [5, 5_000])
def test_stray_quote_never_swallows_the_rest(tail: int) -> None:
    body = "".join(f"{i},row {i}\n" for i in range(tail))
    items = read(f'a,b\n1,"unclosed\n{body}')
    texts = [item.text for item in items if isinstance(item, Block)]
    assert len(texts) == tail + 2
    assert texts[-1] == f"{tail - 1} | row {tail - 1}"
    assert [item.code for item in items if isinstance(item, Notice)] == ["stray_quotes"]


def test_huge_cell_comes_in_pieces_without_loss() -> None:
    found = rows('a,b\n1,"' + "word " * 100_000 + '"\n2,3\n')
    assert sum(text.count("word") for _, text in found) >= 99_990
    assert max(len(text) for _, text in found) <= 33_000
    assert found[-1] == ("table_row", "2 | 3")


def test_empty_table_is_empty() -> None:
    with pytest.raises(Unread) as refused:
        read(",,\n,,\n")
    assert refused.value.code == "empty"


def test_mutated_tables_are_read_or_refused() -> None:
    rng = random.Random(5)
    base = 'a,"b\nc",d\n1;2\t"x""y"\n' * 30
    for _ in range(300):
        signs = list(base)
        for _ in range(rng.randrange(1, 30)):
            signs[rng.randrange(len(signs))] = rng.choice('",;\t\n\r|xก가')
        assert read("".join(signs))
