"""What an engine is.

Promises: an interface, nothing else. An engine may hold another one and better what that reads.
Does not: find or start engines (`installed` does).
"""

from __future__ import annotations

from typing import Protocol

from helpers.errors import Unread
from helpers.recognition import Recognised
from helpers.recognize.task import Task


class Engine(Protocol):
    """Reads pictures or sound. Used by several threads at the same time."""

    @property
    def name(self) -> str:
        """As health shows it, such as "tesseract 5.3"."""

    @property
    def fingerprint(self) -> str:
        """All that decides what it reads: version, languages, model. Another one makes the
        documents that it read be read anew; no spaces in it.
        """

    @property
    def refusal(self) -> Unread | None:
        """Why it can read nothing here (not installed, no language, broken); None: it can."""

    def close(self) -> None:
        """The sync has ended: stop what was started for it."""

    def recognise(self, task: Task) -> Recognised:
        """Read what `task` wants. Raises Unread, command.Stopped, command.CommandFailed."""
