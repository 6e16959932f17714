"""Which Python a door runs under: that of `.venv` beside the scripts, where there is one.

Imported before anything else by a door, so that what follows is imported once; it therefore
needs `os`, `signal` and `sys` alone.
Does not: make the environment (`setup` does) or know what is in it.
"""

from __future__ import annotations

import os
import signal
import sys

VENV = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".venv")
# Marks a process that was handed over, so that a broken .venv cannot start itself for ever.
HANDED_OVER = "ragdoc_venv"


def python_of(venv: str) -> str:
    """Where the interpreter of `venv` is, whether or not it exists."""
    return os.path.join(
        venv, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python"))
    )


def hush() -> None:
    """Until `listen`, Ctrl-C ends the process without a word: modules are being imported, and
    nothing that was begun needs an end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def listen() -> None:
    """From here on Ctrl-C is an exception, which the door ends with."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def prefer(script: str) -> None:
    """Go on with the `.venv`'s Python where there is one, so that every door reads the same
    formats whoever starts it. Not under `python -S` or `-I`, nor twice.
    """
    hush()
    python = python_of(VENV)
    if HANDED_OVER in sys._xoptions or sys.flags.no_site or sys.flags.isolated:
        return
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV) or not os.path.exists(python):
        return
    command = [python, "-X", HANDED_OVER, os.path.abspath(script), *sys.argv[1:]]
    if os.name != "nt":
        try:
            os.execv(python, command)
        except OSError:
            return  # it does not start: this Python does most of it
    import subprocess  # Windows cannot replace a process

    raise SystemExit(subprocess.run(command, check=False).returncode)
