"""The story of a search: understand → legs → fuse → validate → answer.

    python rag_search.py QUERY --knowledge-dir DIR --data-dir STATE [--limit N] [--json]
    python rag_search.py --eval GOLDEN … | --export …

Promises: the index is only read; a file that is gone, is no regular file any more, or has left
the folder is never returned; the same question over the same index and folder gives the same
answer; any string of 1 to 4,000 characters is a query, whatever signs are in it.
Does not: sync, and keeps nothing between two searches. The story comes first, its command line
last.
"""

from __future__ import annotations

from helpers import environment

if __name__ == "__main__":
    environment.prefer(__file__)

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from helpers import config, limits, log
from helpers.config import Settings
from helpers.errors import RagDocError, SemanticError, UsageError, shown
from helpers.language.terms import Query, query_terms
from helpers.retrieve import aliases, answer, filename, fuse, fuzzy, keyword, meaning
from helpers.retrieve import passages as rows
from helpers.retrieve.fuse import Fused
from helpers.retrieve.hit import Filters, Leg
from helpers.retrieve.locate import located
from helpers.retrieve.meaning import Meaning
from helpers.retrieve.passages import Passage, Passages
from helpers.retrieve.request import (
    MODES,
    UNLIMITED_TOKENS,
    SearchRequest,
    check_range,
    checked_filters,
)
from helpers.source import names
from helpers.source.root import Root
from helpers.store import database

__all__ = ("MODES", "Meaning", "SearchRequest", "Searcher", "chunk", "main", "search")

EXAMPLES = """examples:
  rag_search.py "outdoor payphone" --knowledge-dir DIR --data-dir STATE
  rag_search.py 예산 --type xlsx --limit 20
  rag_search.py "น้ำท่วม" --path "2024/*.pdf" --json
  rag_search.py --eval golden.json --mode lexical --json
  rag_search.py --export --path "reports/" > chunks.jsonl"""
WORDS = ("filename", "keyword", "fuzzy")  # legs that find by words
EVAL_LINGER_S = 60.0  # seconds the embedding process waits for the next question of --eval
EVAL_LIMIT = 8  # results per question of --eval
CLI_TEXT_CHARS = 600  # code points of a result's text on a terminal


# --- the story -----------------------------------------------------------------------------


def search(
    request: SearchRequest, settings: Settings, mind: Meaning | None = None
) -> dict[str, Any]:
    """The Answer to `request`. Raises UsageError, NoIndex or another StoreError, RootGone.

    `mind` is whose embedding process answers; without one, one that ends with this search.
    """
    with Searcher(settings, mind) as searcher:
        return searcher.search(request)


def chunk(
    chunk_id: str, before: int = 0, after: int = 0, settings: Settings | None = None
) -> dict[str, Any]:
    """A chunk and its neighbours in reading order. Raises UsageError for an unknown id."""
    assert settings is not None
    check_range("before", before, 0, limits.NEIGHBOURS)
    check_range("after", after, 0, limits.NEIGHBOURS)
    with Searcher(settings) as searcher:
        return searcher.chunk(chunk_id, before, after)


class Searcher:
    """An index and a folder held open for one search or many."""

    def __init__(self, settings: Settings, mind: Meaning | None = None) -> None:
        self.settings = settings
        self._own = Meaning() if mind is None else None
        self.mind = mind or self._own or Meaning()
        self.root = Root(settings.knowledge_dir)
        try:
            self.db = database.open_read(settings.db)
        except BaseException:
            self.root.close()
            raise
        try:
            with database.translated(settings.db):
                database.belongs(self.db, settings.kb_id)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.close()
        self.db.close()
        self.root.close()

    def search(self, request: SearchRequest) -> dict[str, Any]:
        """The Answer to one request, all of it from one state of the index."""
        self._check_base(request.kb_id)
        query = query_terms(request.query)
        further = aliases.expansions(query, self.settings.data_dir)
        with self._one_state():
            source = meaning.source(self.settings, self.db, self._count("posting_docsize"))
            passages = Passages(self.db)
            legs = self._legs(query, further, passages, request, source)
            known = passages.load(hit.chunk for leg in legs for hit in leg.hits)
            ordered = fuse.fuse(legs, known, self.settings.fusion)
            found = [item for item in ordered if self._is_there(item.passage)]
            index = self._index_facts(source)
        if len(query.text) <= keyword.SHORT_CHARS and not further:
            found = [item for item in found if query.text in passages.folded(item.passage)]
        return self._answer(request, query, legs, found, index)

    def chunk(self, chunk_id: str, before: int, after: int) -> dict[str, Any]:
        """See the function `chunk`."""
        with self._one_state():
            passage = rows.by_key(self.db, chunk_id)
            if passage is None or not self._is_there(passage):
                raise UsageError(
                    f"There is no chunk {shown(chunk_id)}",
                    "Search again: chunk ids change when a document does.",
                )
            around = rows.neighbours(self.db, passage, before, after)
        return {
            "kb_id": self.settings.kb_id,
            **_chunk_facts(passage),
            "path": passage.path,
            "absolute_path": names.absolute(self.root.path, passage.raw),
            "title": passage.title,
            "modified": answer.iso(passage.mtime_ns),
            "chunks": [_chunk_facts(other) for other in around],
        }

    def export(self, filters: Filters) -> Iterator[dict[str, Any]]:
        """Every chunk of the index: {"path", "chunk_id", "location", "text"}."""
        with database.translated(self.settings.db):
            for passage in rows.every(self.db, filters):
                yield {"path": passage.path, **_chunk_facts(passage)}

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Everything read inside belongs to one commit, whatever a sync does meanwhile."""
        with database.translated(self.settings.db):
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")

    def _check_base(self, kb_id: str | None) -> None:
        if kb_id not in (None, self.settings.kb_id):
            raise UsageError(
                f"There is no knowledge base {shown(kb_id)}",
                f"Known: {self.settings.kb_id}. Leave kb_id out to use it.",
            )

    def _legs(
        self,
        query: Query,
        further: list[list[str]],
        passages: Passages,
        request: SearchRequest,
        source: meaning.Source,
    ) -> list[Leg]:
        """The legs that the mode asks for; meaning is at work while words are looked up."""

        def by_words() -> list[Leg]:
            return self._by_words(query, further, passages, request)

        if request.mode == "lexical":
            return [*by_words(), meaning.absent("mode is lexical")]
        if request.mode == "semantic":
            meaning.required(source)
        elif source.reason:
            return [*by_words(), meaning.absent(source.reason)]
        legs: list[Leg] = []
        text, filters, deep = request.query, request.filters, _is_deep(request)
        try:
            with self.mind.asked(text, source, self.settings, filters, deep) as question:
                if request.mode == "semantic":
                    skipped = [Leg(name, ran=False, reason="mode is semantic") for name in WORDS]
                    return [*skipped, question.leg()]
                legs = by_words()
                return [*legs, question.leg([hit.chunk for leg in legs for hit in leg.near])]
        except SemanticError as error:
            if request.mode == "semantic":
                raise
            return [*(legs or by_words()), meaning.absent(error.what)]

    def _by_words(
        self,
        query: Query,
        further: list[list[str]],
        passages: Passages,
        request: SearchRequest,
    ) -> list[Leg]:
        filters, deep = request.filters, _is_deep(request)
        words = _leg(
            "keyword", lambda: keyword.search(query, passages, filters, further, deep=deep)
        )
        known = passages.load(hit.chunk for hit in words.near)
        documents = [(passage.document, passage.id) for passage in known.values()]
        named = _leg("filename", lambda: filename.search(query, self.db, filters, documents))
        if fuzzy.available(passages):
            read = _leg("fuzzy", lambda: fuzzy.search(query, passages, filters))
        else:
            read = Leg("fuzzy", ran=False, reason=fuzzy.NO_OCR)
        return [named, words, read]

    def _is_there(self, passage: Passage) -> bool:
        return self.root.check(passage.raw) is not None

    def _index_facts(self, source: meaning.Source) -> dict[str, Any]:
        return {
            "synced_at": database.get_meta(self.db, "synced_at"),
            "documents": self._count("file_name_docsize"),
            "chunks": source.chunks,
            "embedded_fraction": round(source.fraction, 4),
            "unread_files": self._count(
                "document WHERE state <> 'ready' AND state IN ('failed', 'needs_action')"
            ),
        }

    def _count(self, rows: str) -> int:
        return int(self.db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])

    def _answer(
        self,
        request: SearchRequest,
        query: Query,
        legs: list[Leg],
        found: list[Fused],
        index: dict[str, Any],
    ) -> dict[str, Any]:
        page = found[request.offset : request.offset + request.limit]
        texts, shortened = answer.cut([item.passage.text for item in page], request.max_tokens)
        marker = answer.Highlighter(query)
        results = [
            answer.result(
                rank,
                item,
                self.settings.kb_id,
                names.absolute(self.root.path, item.passage.raw),
                text,
                marker,
            )
            for rank, (item, text) in enumerate(zip(page, texts, strict=False), request.offset + 1)
        ]
        reached = request.offset + len(results)
        more = max(0, len(found) - reached)
        said: dict[str, Any] = {
            "query": request.query,
            "kb_ids": [self.settings.kb_id],
            "mode": _mode_of(legs),
            "results": results,
            "legs": {leg.name: leg.report() for leg in legs},
            "index": index,
            "truncated": shortened or len(texts) < len(page),
            "more": more,
        }
        if more and reached <= limits.RESULT_OFFSET:
            said["next"] = {"offset": reached}
        return said


def _leg(name: str, run: Callable[[], list[Any]]) -> Leg:
    started = time.perf_counter()
    hits = tuple(run())
    return Leg(name, hits, (time.perf_counter() - started) * 1000)


def _is_deep(request: SearchRequest) -> bool:
    """Whether a page is asked for that lies beyond a leg's first candidates."""
    return request.offset + request.limit >= keyword.POOL


def _mode_of(legs: Sequence[Leg]) -> str:
    """What ran, in one word."""
    ran = {leg.name for leg in legs if leg.ran}
    if meaning.NAME not in ran:
        return "lexical"
    return "hybrid" if len(ran) > 1 else "semantic"


def _chunk_facts(passage: Passage) -> dict[str, Any]:
    return {
        "chunk_id": passage.chunk_id,
        "location": located(passage.location, passage.text, ()),
        "text": passage.text,
        "untrusted": True,
    }


# --- the command line ----------------------------------------------------------------------


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code of CONTRACT's table."""
    log.speak_utf8()
    arguments = _parser().parse_args(words)
    try:
        environment.listen()
        settings = config.resolve(arguments)
        log.set_up(settings.quiet)
        _run(settings, arguments)
        return 0
    except RagDocError as error:
        print(f"rag_search.py: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _run(settings: Settings, arguments: argparse.Namespace) -> None:
    if arguments.export:
        with Searcher(settings) as searcher:
            for entry in searcher.export(checked_filters(arguments.path, arguments.type)):
                print(json.dumps(entry, ensure_ascii=False))
    elif arguments.eval:
        _evaluate(settings, arguments)
    elif not arguments.query:
        raise UsageError("There is nothing to search for", "Give a query, --eval or --export.")
    else:
        found = search(_request(arguments), settings)
        print(json.dumps(found, ensure_ascii=False) if arguments.json else _readable(found))


def _evaluate(settings: Settings, arguments: argparse.Namespace) -> None:
    from helpers import evaluate

    questions = evaluate.read_golden(arguments.eval)
    mind = Meaning(EVAL_LINGER_S)
    with closing(mind), Searcher(settings, mind) as searcher:

        def ask(question: str) -> list[dict[str, Any]]:
            request = SearchRequest(
                question, limit=EVAL_LIMIT, mode=arguments.mode, max_tokens=UNLIMITED_TOKENS
            )
            results: list[dict[str, Any]] = searcher.search(request)["results"]
            return results

        report = evaluate.run(questions, ask, details=arguments.details)
    print(json.dumps(report, ensure_ascii=False) if arguments.json else evaluate.readable(report))


def _request(arguments: argparse.Namespace) -> SearchRequest:
    return SearchRequest(
        " ".join(arguments.query),
        limit=arguments.limit,
        mode=arguments.mode,
        path=arguments.path,
        type=arguments.type,
        modified_after=arguments.modified_after,
        max_tokens=arguments.max_tokens,
        offset=arguments.offset,
    )


def _readable(found: dict[str, Any]) -> str:
    """The answer for a terminal: document text quoted, controls made harmless."""
    from helpers.render import line, quote

    lines: list[str] = []
    for result in found["results"]:
        lines.append(
            f"{result['rank']}. {line(result['path'])}, {line(result['location']['label'])}"
        )
        lines += [quote(result["text"][:CLI_TEXT_CHARS].strip()), ""]
    count = len(found["results"])
    lines.append(f"{count} results" + (f", {found['more']} more" if found["more"] else "") + ".")
    if not count:
        facts = found["index"]
        at = facts["synced_at"]
        since = f"synced {at}" if at else "the first sync has not come to its end yet"
        lines[-1] = f"Nothing found in {facts['documents']:,} documents ({since})."
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = config.Parser(
        prog="rag_search.py",
        description="Find passages in the indexed documents.",
        examples=EXAMPLES,
    )
    parser.add_argument("query", metavar="QUERY", nargs="*", help="words, a name, or a question")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--eval", metavar="GOLDEN", help="ask every question of a golden file")
    what.add_argument("--export", action="store_true", help="every chunk, one JSON line each")
    parser.add_argument("--limit", type=int, default=limits.RESULT_DEFAULT, metavar="N")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="results to pass over")
    parser.add_argument("--mode", default="auto", metavar="M", help=", ".join(MODES))
    parser.add_argument("--path", metavar="GLOB", help='documents, e.g. "2024/*.pdf" or 2024/')
    parser.add_argument("--type", metavar="EXT", help="format or extension, e.g. pdf")
    parser.add_argument("--modified-after", metavar="DATE", help="ISO 8601, e.g. 2024-05-31")
    parser.add_argument("--max-tokens", type=int, default=limits.ANSWER_TOKENS, metavar="N")
    parser.add_argument("--details", action="store_true", help="with --eval: every answer too")
    parser.add_argument("--json", action="store_true", help="one JSON value on standard output")
    config.add_shared_flags(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
