"""Lines of a reading: what they say of themselves, and the better of two readings."""

from __future__ import annotations

import pytest

from helpers.recognize import lines
from helpers.recognize.lines import Line


def line(text: str, sure: float, top: int, width: int = 900, block: str = "1") -> Line:
    return Line(text, sure, len(text), (0, top, width, top + 30), (block,))


def row(number: int, text: str, sure: float, left: int = 0, block: int = 1) -> str:
    return f"5\t1\t{block}\t1\t{number}\t1\t{left}\t{number * 40}\t100\t30\t{sure}\t{text}"


def test_text_comes_from_the_text_output_and_confidence_from_the_table() -> None:
    tsv = "\n".join(["head", row(1, "น", 90), row(1, "ำ", 50), "4\tno word", row(2, "ab", 80)])
    found = lines.lines_of(tsv, "นำ\n\nab\n\f")
    assert [(f.text, round(f.confidence, 2), f.letters) for f in found] == [
        ("นำ", 0.7, 2),
        ("ab", 0.8, 2),
    ]


def test_where_both_outputs_differ_the_table_gives_the_text() -> None:
    found = lines.lines_of("\n".join(["head", row(1, "a", 90), row(1, "b", 90)]), "a\nb\nc")
    assert [f.text for f in found] == ["a b"]


@pytest.mark.parametrize("tsv", ["", "junk", "5\t1", "5" + "\tx" * 11, "\0" * 100])
def test_nonsense_gives_no_confidence_and_no_exception(tsv: str) -> None:
    assert lines.mean(lines.lines_of("head\n" + tsv, "text")) == 0.0


def test_each_line_stays_as_it_was_read_best() -> None:
    one = [line("first right", 0.95, 0), line("sec0nd wr0ng", 0.5, 40), line("third", 0.95, 80)]
    two = [line("f1rst wr0ng", 0.6, 2), line("second right", 0.9, 41), line("th1rd", 0.88, 80)]
    assert [f.text for f in lines.better_of(one, two)] == ["first right", "second right", "third"]
    assert [f.text for f in lines.better_of(two, one)] == ["first right", "second right", "third"]


def test_a_reading_that_lost_the_end_of_a_line_gives_way() -> None:
    short = [line("노", 0.94, 0), line("good enough", 0.95, 40)]
    whole = [line("노후 송수관", 0.93, 0), line("g00d en0ugh", 0.9, 40)]
    assert [f.text for f in lines.better_of(short, whole)] == ["노후 송수관", "good enough"]


def test_a_reading_that_is_surer_by_far_counts_first() -> None:
    upside_down = [line("ssoɹɔ", 0.4, 200), line("sǝuıl", 0.4, 100)]
    upright = [line("straight lines", 0.95, 0)]
    assert [f.text for f in lines.better_of(upside_down, upright)] == ["straight lines"]


def test_readings_of_a_skewed_page_are_not_mixed() -> None:
    def skewed(*texts: str, sure: float) -> list[Line]:
        return [
            Line(text, sure, len(text), (0, 40 * at, 900, 40 * at + 120), ("1",))
            for at, text in enumerate(texts)
        ]

    good, bad = skewed("one", "two", "three", sure=0.9), skewed("0ne", "tw0", "thr33", sure=0.6)
    assert lines.better_of(bad, good) == good == lines.better_of(good, bad)


def test_a_line_that_one_reading_missed_takes_its_place() -> None:
    one = [line("first", 0.95, 0), line("third", 0.95, 80)]
    two = [Line("second", 0.9, 6, (0, 35, 900, 82), ("1",)), line("dirt", 0.3, 200)]
    assert [f.text for f in lines.better_of(one, two)] == ["first", "second", "third"]


def test_two_halves_give_way_to_a_whole_line() -> None:
    halves = [
        Line("le", 0.4, 2, (0, 0, 400, 30), ("1",)),
        Line("ft", 0.4, 2, (500, 0, 900, 30), ("1",)),
        line("good", 0.99, 40),
    ]
    whole = [line("left", 0.9, 0)]
    assert [f.text for f in lines.better_of(halves, whole)] == ["left", "good"]


def test_wrapped_lines_share_a_paragraph_and_rows_do_not() -> None:
    page = [
        line("wrapped line", 0.9, 0),
        line("its end", 0.9, 40, 300),
        line("a row", 0.9, 80, 200),
    ]
    assert [text for text, _ in lines.paragraphs(page)] == ["wrapped line\nits end", "a row"]


def test_lines_nobody_was_sure_of_are_left_out() -> None:
    page = [line("good", 0.9, 0), line("|.,; 1", 0.2, 40), line("Page 2", 0.15, 80)]
    assert [text for text, _ in lines.paragraphs(page)] == ["good\nPage 2"]
    assert lines.legible(page)
    assert not lines.legible([line("l1|.;", 0.45, 0)])
    assert not lines.legible([line("ab", 0.99, 0)])
    assert not lines.legible([])
