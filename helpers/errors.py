"""Every failure a person can meet, on one page.

An error says what happened and to which thing, the limit where there is one, and
what to do next (`remedy`). Doors turn `exit_code` into the process's exit status.
Nothing here logs, prints or knows where it will be shown.
"""

from __future__ import annotations

SHOWN_CHARS = 60  # characters of a rejected value that an error repeats

UNREAD_CODES = frozenset(
    {
        "encrypted",
        "corrupt",
        "empty",
        "no_text",
        "limit_reached",
        "timeout",
        "unsupported",
        "missing_reader",
        "sensitive",
        "symlink",
        "hidden",
        "not_regular",
        "unreadable",
        "changed_while_reading",
    }
)

# A person must act before these files can be read; the other codes are plain failures.
NEEDS_ACTION_CODES = frozenset({"encrypted", "missing_reader", "no_text", "unreadable"})


class RagDocError(Exception):
    """A failure with its remedy. `exit_code` is the process status of CONTRACT's table."""

    exit_code = 1
    code = "error"

    def __init__(self, what: str, remedy: str = "", *, code: str | None = None) -> None:
        self.what = what
        self.remedy = remedy
        if code is not None:
            self.code = code
        super().__init__(f"{what.rstrip('.')}. {remedy}" if remedy else what)


class UsageError(RagDocError):
    """The caller's arguments do not fit; calling again, corrected, will work."""

    exit_code = 2
    code = "usage"


class ConfigError(RagDocError):
    """The launch configuration cannot work as it stands."""

    exit_code = 3
    code = "configuration"


class StoreError(RagDocError):
    """The index or another state file cannot be used."""

    exit_code = 4
    code = "store"


class NoIndex(StoreError):
    """Nothing has been indexed yet."""

    code = "no_index"


class NewerSchema(StoreError):
    """The index was written by a later version."""

    code = "newer_schema"


class CorruptIndex(StoreError):
    """The index file is damaged; the source documents are not."""

    code = "corrupt_index"


class DiskFull(StoreError):
    """The disk or quota under the data directory is exhausted."""

    code = "disk_full"


class BusyError(RagDocError):
    """Another worker holds the data directory."""

    exit_code = 5
    code = "busy"


class RemoteError(RagDocError):
    """A configured remote provider failed."""

    exit_code = 6
    code = "remote"


class SemanticError(RagDocError):
    """The model or its process failed; keywords keep answering."""

    code = "semantic"


class RootGone(ConfigError):
    """The knowledge directory is missing or unreadable; nothing was pruned."""

    code = "root_gone"


class Cancelled(RagDocError):
    """The job's cancel file was found at a checkpoint."""

    exit_code = 130
    code = "cancelled"


class Unread(RagDocError):
    """One file without usable text: `code` is one of UNREAD_CODES, `reason` a sentence."""

    def __init__(self, code: str, reason: str, remedy: str = "") -> None:
        assert code in UNREAD_CODES, code
        super().__init__(reason, remedy, code=code)

    @property
    def reason(self) -> str:
        return self.what


def limit_reached(what: str, reached: float, limit: float, unit: str, remedy: str) -> Unread:
    """The error of a cap: names both numbers and the next action."""
    return Unread("limit_reached", f"{what} reached {reached:,} > {limit:,} {unit}", remedy)


def shown(value: object) -> str:
    """A rejected value as an error repeats it: short, on one line, in its own script."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
