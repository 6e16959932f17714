"""The keyword leg: the chunks that hold the query's words, best first.

Promises: only the terms that tell chunks apart go into the search (those in more than PRUNE_SHARE
of the chunks do not, unless nothing else is left), so its cost stays a small multiple of the bare
full-text query; a chunk that holds all of at most FEW_WORDS words stands before one that does
not; a query of one or two letters gives only chunks that hold it as typed; the order is the same
every time.
Does not: know aliases' file, file names, or meaning.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.language import english
from helpers.language.terms import Query, Word, index_terms
from helpers.retrieve import rerank
from helpers.retrieve.hit import Filters, Hit
from helpers.retrieve.passages import Passage, Passages
from helpers.store.database import Connection

PRUNE_SHARE = 0.03  # of all chunks: a term in more of them says little
PRUNE_FROM = 300  # chunks; a term in fewer costs nothing, however small the index
KEEP_RAREST = 2  # terms kept when every one is common
TERMS = 10  # terms searched for, the rarest first
POOL = 50  # candidates
LOOK = 30  # candidates, the first ones, that are looked at closely: more changed no set
DEEP_POOL = 250  # candidates for a later page, and for a short query before it is checked
FEW_WORDS = 3  # words up to which a chunk with all of them comes first
SHORT_CHARS = 2  # letters of a query that every hit must hold as typed
SPLIT_CHARS = (6, 24)  # letters of a word that may be written as two
SPLIT_PART_CHARS = 3  # letters of either half
NEAR_WORTH = 0.2  # of words near each other, beside meaning, which does not see their places
EXACT_SCAN_CHARS = 3  # letters of an exact string that is worth reading every chunk for
BARE_NOUN = 2  # times as often in the index as with the syllable after it: that is a particle

CODE_SIGNS = frozenset("-_./:")  # inside a part number or path
CODE_ENDS = ("+", "#")  # of C++ and C#
AROUND = ",.;:!?()[]'\"“”"  # punctuation around a word of a query


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of the index: an expression per word, and the words' counts."""

    any_of: str
    all_of: str  # "" where the words are too many, too common, or not all known


class _Counts:
    """In how many chunks a term is. Common terms were counted by the last sync."""

    def __init__(self, db: Connection, terms: Sequence[str]) -> None:
        self._db = db
        self.total = int(db.execute("SELECT count(*) FROM posting_docsize").fetchone()[0])
        marks = ",".join("?" * len(terms))
        query = f"SELECT term, chunks FROM common_term WHERE term IN ({marks})"
        self._known: dict[str, int] = dict(db.execute(query, terms).fetchall())

    def __getitem__(self, term: str) -> int:
        known = self._known.get(term)
        if known is None:
            row = self._db.execute(
                "SELECT doc FROM posting_vocab WHERE term = ?", (term,)
            ).fetchone()
            known = self._known[term] = int(row[0]) if row else 0
        return known

    @property
    def bound(self) -> float:
        """The number of chunks beyond which a term is common."""
        return max(self.total * PRUNE_SHARE, PRUNE_FROM)


def search(
    query: Query,
    passages: Passages,
    filters: Filters,
    aliases: Sequence[Sequence[str]] = (),
    deep: bool = False,
) -> list[Hit]:
    """Hits for `query`, best first; `aliases` are further wordings of parts of it."""
    db = passages.db
    counts = _Counts(db, query.terms)
    plan = _plan(query, counts, aliases)
    deep = deep or len(query.text) <= SHORT_CHARS
    found, full, near = _candidates(db, plan, filters, DEEP_POOL if deep else POOL)
    if not found:
        few = len(query.words) <= FEW_WORDS or query.phrases
        return [Hit(i, 1.0) for i in _scan(query, passages, filters)] if few else []
    head, rest = dict(list(found.items())[:LOOK]), list(found)[LOOK:]
    hits = _ranked(query, passages, head, full, _weighed(query, counts))
    if query.phrases and not any(_holds(passages, hit.chunk, query.phrases) for hit in hits):
        known = {hit.chunk for hit in hits}
        hits = [*(Hit(i, 1.0) for i in _scan(query, passages, filters) if i not in known), *hits]
    hits += [Hit(i, 0.0, rest=True, later=place >= near) for place, i in enumerate(rest, LOOK)]
    if len(query.text) <= SHORT_CHARS and not aliases:
        texts = passages.load(hit.chunk for hit in hits)
        hits = [
            h for h in hits if h.chunk in texts and query.text in passages.folded(texts[h.chunk])
        ]
    return hits


def _plan(query: Query, counts: _Counts, aliases: Sequence[Sequence[str]]) -> Plan:
    words = query.strong
    known = [term for word in words for term in (word.term, *word.more) if counts[term]]
    terms = sorted(dict.fromkeys(known), key=lambda term: counts[term])
    kept = [term for term in terms if counts[term] <= counts.bound] or terms[:KEEP_RAREST]
    phrases = [*_respelled(words, counts), *(_phrase(alias) for alias in aliases)]
    parts = [*map(_quoted, kept[:TERMS]), *phrases]
    if parts and len(query.text) <= SHORT_CHARS and not aliases:  # a title is not enough
        return Plan(f"body : ({' OR '.join(parts)})", "")
    all_of = _conjunction(words, counts, phrases) if _is_few_words(query) else ""
    return Plan(" OR ".join(parts), all_of)


def _is_few_words(query: Query) -> bool:
    """Whether all words are wanted at once. A question's are not: putting chunks that hold them
    all first cost 1 to 2 points on every set of questions."""
    return len(query.words) <= FEW_WORDS and not query.is_question


def _conjunction(words: Sequence[Word], counts: _Counts, phrases: Sequence[str]) -> str:
    """All words at once, each in any of its forms; "" where that cannot help."""
    if len(words) < 2:
        return ""
    if min(counts[word.term] for word in words) > counts.bound:
        return ""
    forms = []
    for word in words:
        parts = [_quoted(word.term)]
        if len(word.more) > 1:
            parts.append("(" + " AND ".join(map(_quoted, word.more)) + ")")
        forms.append("(" + " OR ".join(parts) + ")")
    joined = " AND ".join(forms)
    return f"({joined})" + "".join(f" OR {phrase}" for phrase in phrases)


def _respelled(words: Sequence[Word], counts: _Counts) -> list[str]:
    """`data base` for database and the other way round, where the index has it."""
    found: list[str] = []
    plain = [word for word in words if word.surface.isascii() and word.surface.isalpha()]
    for one, other in itertools.pairwise(plain):
        joined = english.stem(one.surface + other.surface)
        if counts[joined]:
            found.append(_quoted(joined))
    for word in plain if len(words) <= FEW_WORDS else [w for w in plain if not counts[w.term]]:
        if not SPLIT_CHARS[0] <= len(word.surface) <= SPLIT_CHARS[1]:
            continue
        for cut in range(SPLIT_PART_CHARS, len(word.surface) - SPLIT_PART_CHARS + 1):
            halves = [english.stem(word.surface[:cut]), english.stem(word.surface[cut:])]
            if counts[halves[0]] and counts[halves[1]]:
                found.append(_phrase(halves))
    return found


def _candidates(
    db: Connection, plan: Plan, filters: Filters, pool: int
) -> tuple[dict[int, float], set[int], int]:
    """Row id → BM25 (higher is better); the rows that match all words, which come first; and how
    many of all a pool of POOL has."""
    full = dict(_match(db, plan.all_of, filters, POOL))
    found = dict(full)
    rows = _match(db, plan.any_of, filters, pool)
    for row, score in rows[:POOL]:
        found.setdefault(row, score)
    near = len(found)
    for row, score in rows[POOL:]:
        found.setdefault(row, score)
    return found, set(full), near


def _match(
    db: Connection, expression: str, filters: Filters, limit: int
) -> list[tuple[int, float]]:
    if not expression:
        return []
    if not filters:
        return db.execute(
            "SELECT rowid, -rank FROM posting WHERE posting MATCH ? ORDER BY rank LIMIT ?",
            (expression, limit),
        ).fetchall()
    return db.execute(
        "SELECT posting.rowid, -posting.rank FROM posting"
        " JOIN chunk ON chunk.id = posting.rowid JOIN document ON document.id = chunk.document_id"
        f" WHERE posting MATCH ? AND {filters.sql} ORDER BY posting.rank LIMIT ?",
        (expression, *filters.values, limit),
    ).fetchall()


def _ranked(
    query: Query,
    passages: Passages,
    found: dict[int, float],
    full: set[int],
    weighed: Sequence[tuple[Word, float]],
) -> list[Hit]:
    rows = passages.load(found)
    texts = {i: passages.folded(row) for i, row in rows.items()}
    closer = rerank.look(query, rows, texts, found)
    exact = _exact_strings(query)
    few = _is_few_words(query)
    held = {i: _held(weighed, text, rows[i].context.lower()) for i, text in texts.items()}
    most_held = max(held.values(), default=0.0)
    hits = []
    for i, text in texts.items():
        steps = 0.0
        if few:
            steps = len(query.strong) if i in full else _words_in(query, text)
            steps += _is_headed(query, rows[i], text) or 0.5 * (query.text in text)
        steps += 2 * sum(part in text for part in exact)
        most = (len(query.strong) + 1 if few else 0) + 2 * len(exact)
        score = (steps + closer[i].score) / (most + 1)
        proof = held[i] * most_held * (score + NEAR_WORTH * closer[i].near)
        if (few and i in full) or any(part in text for part in exact):
            proof *= most + 1  # what was looked up is there: no likeness outweighs that
        hits.append(Hit(i, score, proof=proof))
    return sorted(hits, key=lambda hit: (-hit.score, rows[hit.chunk].path, rows[hit.chunk].ordinal))


def _weighed(query: Query, counts: _Counts) -> list[tuple[Word, float]]:
    """Each word of the query and how rare it is; one that no chunk holds weighs most."""
    words = [_bare(word, counts) for word in query.strong]
    return [(word, math.log1p(counts.total / (1 + counts[word.term]))) for word in words]


def _bare(word: Word, counts: _Counts) -> Word:
    """A Korean noun of one syllable without what is written on to it: 왕은 is 왕 (king), which
    stands more often alone and with other particles; 국가 (state) hardly ever loses its end."""
    noun = word.more[-1] if word.more else ""
    if len(noun) == 1 and "가" <= noun <= "힣" and counts[noun] > BARE_NOUN * counts[word.term]:
        return Word(noun, noun)
    return word


def _held(weighed: Sequence[tuple[Word, float]], text: str, context: str) -> float:
    """The share of the query that a chunk holds, rare words counting more, and of a word that it
    does not hold as it is the share of its parts."""
    held = 0.0
    for word, weight in weighed:
        if any(form in text or form in context for form in (word.surface, word.term)):
            held += weight
        elif len(word.more) > 1:
            parts = sum(part in text or part in context for part in word.more)
            held += weight * parts / len(word.more)
    return held / (sum(weight for _, weight in weighed) or 1.0)


def _words_in(query: Query, text: str) -> int:
    return sum(
        any(form in text for form in (word.surface, word.term))
        or (len(word.more) > 1 and all(part in text for part in word.more))
        for word in query.strong
    )


def _is_headed(query: Query, passage: Passage, text: str) -> bool:
    """Whether the passage stands under a title or first line that is the query itself."""
    first = passage.text.split("\n", 1)[0].strip(" #*=\t")
    return len(first) < 2 * len(query.text) + 8 and index_terms(first) == index_terms(query.text)


def _exact_strings(query: Query) -> list[str]:
    """What must be found letter by letter to count: quoted phrases, part numbers, C++."""
    words = (word.strip(AROUND) for word in query.text.split())
    return list(dict.fromkeys([*query.phrases, *filter(_is_code, words)]))


def _is_code(word: str) -> bool:
    if word.endswith(CODE_ENDS) and any(map(str.isalpha, word)):
        return True
    mixed = any(map(str.isalpha, word)) and any(map(str.isdigit, word))
    return mixed and not CODE_SIGNS.isdisjoint(word)


def _holds(passages: Passages, chunk: int, parts: Sequence[str]) -> bool:
    row = passages.load([chunk]).get(chunk)
    return row is not None and all(part in passages.folded(row) for part in parts)


def _scan(query: Query, passages: Passages, filters: Filters) -> list[int]:
    """The last resort for an exact string: read every chunk (300 ms per 100,000)."""
    wanted = query.phrases or tuple(_exact_strings(query)) or (query.text,)
    if any(len(part) < EXACT_SCAN_CHARS for part in wanted):
        return []
    join = " JOIN document ON document.id = chunk.document_id" if filters else ""
    where = " AND ".join("instr(lower(chunk.text), ?)" for _ in wanted)
    extra = f" AND {filters.sql}" if filters else ""
    rows = passages.db.execute(
        f"SELECT chunk.id FROM chunk{join} WHERE {where}{extra} LIMIT {POOL}",
        (*wanted, *filters.values),
    )
    return [row[0] for row in rows]


def _quoted(term: str) -> str:
    return f'"{term}"'


def _phrase(terms: Sequence[str]) -> str:
    return '"' + " ".join(terms) + '"'
