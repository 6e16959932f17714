"""A closer look at candidates: what each of its four views adds, the others being equal."""

from __future__ import annotations

from helpers.language.normalize import fold
from helpers.language.terms import query_terms
from helpers.retrieve import rerank
from helpers.retrieve.passages import Passage


def look(query: str, *rows: str | tuple[str, str]) -> list[float]:
    """The scores of passages, each a text or (context, text), that BM25 finds equal."""
    pairs = [("", row) if isinstance(row, str) else row for row in rows]
    passages = {
        number: Passage(number, b"", 1, number, text, context, "{}", "a.md", b"", b"a.md", "", 0)
        for number, (context, text) in enumerate(pairs)
    }
    texts = {number: fold(passage.text) for number, passage in passages.items()}
    found = rerank.look(query_terms(query), passages, texts, dict.fromkeys(passages, 2.0))
    return [found[number].score for number in passages]


def test_letters_that_few_candidates_hold_count_more() -> None:
    common, rare, *_ = look("pressure quartz", "pressure", "quartz", *["pressure"] * 4)
    assert rare > common


def test_a_title_that_names_the_query_counts_and_more_where_it_names_nothing_else() -> None:
    plain, named, long = look(
        "harbour fees",
        "the text",
        ("Harbour fees", "the text"),
        ("Harbour fees and staff", "the text"),
    )
    assert named > long > plain


def test_words_that_stand_near_each_other_in_their_order_count() -> None:
    far = "water " + "and so on " * 9 + "pipes"
    near, apart, turned = look("water pipes", "water pipes " + "and so on " * 9, far, "pipes water")
    assert near > apart and near > turned


def test_scores_lie_between_nothing_and_one() -> None:
    scores = look("water pipes", ("Water pipes", "water pipes"), "nothing of it")
    assert 0 <= scores[1] < scores[0] <= 1
