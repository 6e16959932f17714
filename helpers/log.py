"""Logging to standard error, with secrets blotted out before a line is formatted.

Standard output belongs to data and to JSON-RPC: nothing here ever writes to it. `speak_utf8`
gives a command line the encoding that its output is promised in.
Keys are recognised by shape and by the values of secret-looking environment
variables, which `config` hands over through `redact_value`.
`logging` is imported at the first message: it takes 6 ms, which a search spends on nothing.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

_WORDS = r"(?:api[-_]?key|token|secret|password|authorization|bearer)"
# A value behind a sign, or behind "bearer"; behind a bare space only one that is no word; and keys
# by their own beginnings. A slash is no such sign: `secret/` may be a folder.
SECRET_SHAPE = re.compile(
    rf"(?i)({_WORDS}[\"']?\s{{0,4}}(?:[:=]\s{{0,4}}[\"']?|[\"'])|\bbearer\s{{1,4}})"
    r"(?:bearer\s{1,4})?[\w\-./+]{12,200}={0,2}"
    rf"|({_WORDS}\s{{1,4}})(?=[a-z_]{{0,60}}[0-9])\w{{16,200}}"
    r"|\b(?:sk|pk|ghp|gho|xox[bp]|AIza)[-_A-Za-z0-9]{16,200}"
)
_known_secrets: set[str] = set()


def speak_utf8() -> None:
    """Make both standard streams UTF-8 whatever the locale; what has no UTF-8 goes out escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def redact_value(secret: str) -> None:
    """Blot `secret` out of every later line; values shorter than 8 characters are ignored."""
    if len(secret) >= 8:
        _known_secrets.add(secret)


def redact(text: str) -> str:
    """`text` with known and key-shaped secrets replaced by ***."""
    for secret in _known_secrets:
        text = text.replace(secret, "***")
    return SECRET_SHAPE.sub(lambda m: f"{m.group(1) or m.group(2) or ''}***", text)


class Logger:
    """A name that turns into a logging.Logger, below `ragdoc`, when something is logged."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name if name.startswith("ragdoc") else f"ragdoc.{name}"

    def __getattr__(self, method: str) -> Any:
        return getattr(_real(self._name), method)


def get_logger(name: str = "ragdoc") -> Logger:
    """The logger `name`, below `ragdoc`."""
    return Logger(name)


def set_up(quiet: bool = False) -> None:
    """Send `ragdoc` lines of level INFO (WARNING when quiet) to standard error."""
    _wanted["level"] = "WARNING" if quiet else "INFO"


_wanted: dict[str, str] = {}


def _real(name: str) -> logging.Logger:
    import logging

    class Redacting(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return redact(super().format(record))

    top = logging.getLogger("ragdoc")
    if "level" in _wanted:
        top.setLevel(_wanted["level"])
        top.propagate = False
        if not top.handlers:
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(Redacting("%(asctime)s %(levelname)s %(message)s"))
            top.addHandler(handler)
    return logging.getLogger(name)
