"""What the console answers: each address, the arguments it takes, the facts it gives.

Promises: an argument is checked before it is used; what fails is a sentence with a remedy and
never a traceback; addresses that change something are reached by POST alone.
Does not: know sockets or HTTP heads, judge who asks (see gate.py), or draw anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from helpers import catalogue, config, service
from helpers.config import Settings
from helpers.errors import RagDocError, UsageError, shown

Values = Mapping[str, str]


class Searching(Protocol):
    """The search that the door brings: keyword arguments of a SearchRequest → Answer."""

    def __call__(self, **asked: Any) -> Mapping[str, Any]: ...


class Reading(Protocol):
    """A chunk and its neighbours, as get_document_chunk gives them."""

    def __call__(self, chunk_id: str, before: int, after: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Console:
    """What the console stands on."""

    settings: Settings
    search: Searching
    chunk: Reading
    health: Callable[[], Mapping[str, Any]]

    def reads(self) -> Mapping[str, Callable[[Values], Any]]:
        """Addresses under /api/ that change nothing."""
        return {
            "status": self._status,
            "search": self._search,
            "chunk": self._chunk,
            "files": self._files,
            "overview": lambda _: catalogue.overview(self.settings),
            "health": lambda _: self.health(),
            "job": lambda given: service.sync_status(self.settings, given.get("id") or None),
            "jobs": lambda _: {"jobs": catalogue.history(self.settings)},
            "changes": lambda _: service.check_changes(self.settings),
        }

    def changes(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Addresses under /api/ that change something; the argument is the body."""
        return {"sync": self._sync, "cancel": self._cancel}

    def original(self, given: Values) -> catalogue.Original:
        """The original of `document` (a number) or of `chunk` (a chunk id)."""
        if given.get("chunk"):
            return catalogue.original(self.settings, chunk_id=given["chunk"])
        return catalogue.original(self.settings, _number(given, "document", -1))

    def _status(self, _: Values) -> dict[str, Any]:
        base = service.knowledge_bases(self.settings)[0]
        job: Mapping[str, Any] | None = None
        try:
            job = service.sync_status(self.settings)
        except UsageError:
            pass  # no sync has run yet
        return {
            **base,
            "version": config.VERSION,
            "source": str(self.settings.knowledge_dir),
            "job": {name: job[name] for name in _JOB_LINE} if job else None,
        }

    def _search(self, given: Values) -> Mapping[str, Any]:
        asked: dict[str, Any] = {"query": given.get("q", ""), "max_tokens": MAX_TOKENS}
        for name, argument in (("mode", "mode"), ("path", "path"), ("type", "type")):
            if given.get(name):
                asked[argument] = given[name]
        if given.get("after"):
            asked["modified_after"] = given["after"]
        asked["limit"] = _number(given, "limit", PAGE_RESULTS)
        asked["offset"] = _number(given, "offset", 0)
        answer = self.search(**asked)
        return {**answer, "results": self._marked(answer["results"])}

    def _marked(self, chunks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The chunks with `recognised`: whether the text was recognised in an image."""
        if not chunks:
            return []
        found = catalogue.recognised(self.settings, [chunk["chunk_id"] for chunk in chunks])
        return [{**chunk, "recognised": chunk["chunk_id"] in found} for chunk in chunks]

    def _chunk(self, given: Values) -> Mapping[str, Any]:
        before, after = _number(given, "before", 0), _number(given, "after", 0)
        read = self.chunk(given.get("id", ""), before, after)
        return {**read, "chunks": self._marked(read["chunks"])}

    def _files(self, given: Values) -> dict[str, Any]:
        return catalogue.documents(
            self.settings,
            text=given.get("text", ""),
            type_name=given.get("type", ""),
            sort=given.get("sort") or "path",
            descending=given.get("order") == "desc",
            unread_first=given.get("unread") == "first",
            offset=_number(given, "offset", 0),
        )

    def _sync(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return service.start_sync(self.settings, force=body.get("force") is True)

    def _cancel(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job_id = body.get("job_id")
        if not isinstance(job_id, str):
            raise UsageError(f"job_id is {shown(job_id)}", "Give the id of a job.")
        return service.cancel_sync(self.settings, job_id)


PAGE_RESULTS = 10  # results on one page of a search
MAX_TOKENS = 100_000  # of one page: a person reads on, nothing is cut
MAX_NUMBER = 10**15  # what an address may say: beyond any id, within what SQLite takes
_JOB_LINE = ("job_id", "status", "phase", "progress_percent", "poll_after_s")


def problem(error: RagDocError) -> dict[str, Any]:
    """An error as the page shows it."""
    return {"error": {"code": error.code, "what": error.what, "remedy": error.remedy}}


def _number(given: Values, name: str, default: int) -> int:
    text = given.get(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or abs(number) > MAX_NUMBER:
        raise UsageError(f"{name} is {shown(text)}", "Give a whole number that is not so large.")
    return number
