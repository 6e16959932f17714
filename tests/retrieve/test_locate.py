from __future__ import annotations

from helpers.language.terms import query_terms
from helpers.retrieve.locate import located

SHEET = {"kind": "sheet", "label": "Q1 rows 1–9", "sheet": "Q1", "row": 1, "end": 9}
WANTED = frozenset(query_terms("month may june 20").terms)
TEXT = "Month | Sum\nMay | 10\nJune | 20"


def test_row_with_most_distinct_words_is_cited() -> None:
    place = located(
        SHEET | {"rows": "12:4 21:9"}, TEXT, [(0, 5), (12, 15), (21, 25), (28, 30)], WANTED
    )
    assert place == {
        "kind": "sheet",
        "label": "Q1 row 9",
        "sheet": "Q1",
        "row": 9,
        "span": "Q1 rows 1–9",
    }


def test_first_of_equal_rows_is_cited() -> None:
    assert located(SHEET | {"rows": "12:4 21:9"}, TEXT, [(18, 20), (28, 30)])["row"] == 4


def test_words_in_the_header_alone_leave_the_whole_span() -> None:
    assert located(SHEET | {"rows": "12:4 21:9"}, TEXT, [(0, 5)]) == SHEET


def test_row_of_a_csv_file_keeps_its_kind() -> None:
    line = {"kind": "line", "label": "rows 1–3", "line": 1, "end": 3, "rows": "12:2 21:3"}
    place = located(line, TEXT, [(21, 25)])
    assert (place["label"], place["line"]) == ("row 3", 3)


def test_location_without_or_with_broken_rows_is_left_as_it_is() -> None:
    for rows in ({}, {"rows": ""}, {"rows": "x:y 3"}, {"rows": 7}):
        assert located(SHEET | rows, TEXT, [(0, 5)]) == SHEET


def test_row_with_the_whole_part_number_is_cited_before_one_with_its_first_half() -> None:
    text = "Part | Shelf\nAC-2207 | B3\nAC-2210 | B3"
    main = frozenset({"ac", "2210"})
    place = located(SHEET | {"rows": "13:2 26:3"}, text, [(13, 20), (26, 33)], main)
    assert place["row"] == 3


def test_row_of_a_table_in_a_section_is_a_line_below_its_heading() -> None:
    section = {"kind": "section", "label": "Rooms", "section": "Rooms", "line": 5, "end": 18}
    place = located(section | {"rows": "12:12 21:14"}, TEXT, [(21, 25)])
    assert place == {"kind": "section", "label": "Rooms", "section": "Rooms", "line": 14}


def test_two_words_say_more_of_a_row_than_the_parts_of_one_compound() -> None:
    text = "A | B\n사이버서당 신청\n담당자 | 성명"
    query = query_terms("사이버서당 담당자 성명")
    main = frozenset(word.term for word in query.words)
    spans = [(6, 11), (15, 18), (21, 23)]
    place = located(SHEET | {"rows": "6:2 15:3"}, text, spans, main, frozenset(query.terms))
    assert place["row"] == 3
