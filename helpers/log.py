"""Logging to standard error, with secrets blotted out before a line is formatted.

Standard output belongs to data and to JSON-RPC: nothing here ever writes to it. `speak_utf8`
gives a command line the encoding that its output is promised in.
Keys are recognised by shape and by the values of secret-looking environment
variables, which `config` hands over through `redact_value`.
"""

from __future__ import annotations

import logging
import re
import sys

SECRET_SHAPE = re.compile(
    r"(?i)((?:api[-_]?key|token|secret|password|authorization|bearer)[\"']?\s*[:=]?\s*)"
    r"(?:bearer\s+)?[\w\-./+]{12,200}={0,2}|\b(?:sk|pk|ghp|gho|xox[bp]|AIza)[-_A-Za-z0-9]{16,200}"
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
    return SECRET_SHAPE.sub(lambda m: f"{m.group(1) or ''}***", text)


def get_logger(name: str = "ragdoc") -> logging.Logger:
    """The logger `name`, below `ragdoc`."""
    return logging.getLogger(name if name.startswith("ragdoc") else f"ragdoc.{name}")


def set_up(quiet: bool = False) -> None:
    """Send `ragdoc` lines of level INFO (WARNING when quiet) to standard error, once."""
    logger = logging.getLogger("ragdoc")
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
