"""What may be asked: a SearchRequest, checked as it is made.

Promises: a value out of range raises UsageError that says what was given, what fits and what to do;
any string of 1 to QUERY_CHARS characters that is valid Unicode without NUL is a query.
Does not: interpret a query (see language.terms), or touch the index.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers import limits
from helpers.errors import UsageError, shown
from helpers.retrieve.answer import NS_PER_S
from helpers.retrieve.hit import Filters

MODES = ("auto", "hybrid", "lexical", "semantic")
UNLIMITED_TOKENS = 10**9
MOST_NS = 2**63 - 1  # ns since 1970 that the index can hold


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is asked. Raises UsageError, naming what fits, for anything out of range."""

    query: str
    kb_id: str | None = None
    limit: int = limits.RESULT_DEFAULT
    mode: str = "auto"
    path: str | None = None
    type: str | None = None
    modified_after: str | None = None
    max_tokens: int = limits.ANSWER_TOKENS
    offset: int = 0

    def __post_init__(self) -> None:
        _check_query(self.query)
        check_range("limit", self.limit, 1, limits.RESULT_LIMIT)
        check_range("max_tokens", self.max_tokens, 1, UNLIMITED_TOKENS)
        check_range("offset", self.offset, 0, limits.RESULT_OFFSET)
        if self.mode not in MODES:
            raise UsageError(f"mode is {shown(self.mode)}", f"Give one of {', '.join(MODES)}.")
        checked_filters(self.path, self.type, self.modified_after)

    @property
    def filters(self) -> Filters:
        """The documents the answer may come from."""
        return checked_filters(self.path, self.type, self.modified_after)


def checked_filters(path: str | None, kind: str | None, after: str | None = None) -> Filters:
    """The filters of a search or an export. Raises UsageError."""
    for name, value in (("path", path), ("type", kind)):
        if value is None:
            continue
        if not value.strip() or _is_broken(value):
            raise UsageError(f"{name} is {shown(value)}", "Give some text, or leave it out.")
        if len(value) > limits.FILTER_CHARS:
            raise UsageError(
                f"{name} has {len(value):,} > {limits.FILTER_CHARS:,} characters", "Shorten it."
            )
    return Filters(path, kind, _after_ns(after))


def _check_query(query: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise UsageError("The query is empty", f"Ask with 1 to {limits.QUERY_CHARS:,} characters.")
    if len(query) > limits.QUERY_CHARS:
        raise UsageError(
            f"The query has {len(query):,} > {limits.QUERY_CHARS:,} characters",
            "Ask with fewer words.",
        )
    if "\0" in query:
        raise UsageError("The query holds a NUL character", "Leave it out.")
    if _is_broken(query):
        raise UsageError(
            "The query holds half of a surrogate pair, which is no character",
            "Send it as valid UTF-8.",
        )


def check_range(name: str, value: object, low: int, high: int) -> None:
    """Raise UsageError unless `value` is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(
            f"{name} is {shown(value)}", f"Give a whole number from {low} to {high:,}."
        )


def _is_broken(text: str) -> bool:
    return any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)


def _after_ns(text: str | None) -> int | None:
    """An ISO 8601 date or time (UTC unless it says otherwise) in ns."""
    if text is None:
        return None
    from datetime import datetime, timezone

    plain = text.strip().replace("Z", "+00:00").replace("z", "+00:00")
    try:
        moment = datetime.fromisoformat(plain)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return max(-MOST_NS, min(MOST_NS, int(moment.timestamp()) * NS_PER_S))
    except (ValueError, OverflowError):
        raise UsageError(
            f"modified_after is {shown(text)}", "Give a date like 2024-05-31 or a UTC time."
        ) from None
