r"""RTF as groups: the loop over a file's pieces, and what a group saves and brings back.

Promises: the file passes in a window; groups without text for a reader are passed over at the
speed of a search; a run of control words is understood once; nesting is bounded.
Does not: know what destinations and control words do; `rtf_body` says so.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from helpers.errors import limit_reached
from helpers.extract import rtf_tokens, rtf_words
from helpers.extract.markup import RESAVE
from helpers.extract.rtf_text import Letters
from helpers.extract.rtf_tokens import BACKSLASH, CLOSE, OPEN, Window
from helpers.limits import RTF_DEPTH

# Where text goes: to the running text, nowhere, to a name or title, to tables of such, to an
# equation, to an embedded object.
BODY, NONE, CAPTURE, FONTS, STYLES, STYLE, INFO, BOTH, MATH, OBJECT = range(10)

Action = Callable[[int | None], None]


class State(NamedTuple):
    """What a group saves and its end brings back."""

    closer: Callable[[], None] | None = None
    into: int = BODY
    font: int | None = None
    fallback: int = 1
    hidden: bool = False
    double: bool = False
    style: int = 0
    outline: int = -1
    depth: int = 0


class Groups(abc.ABC):
    """The machine without its meanings: subclasses give `begun`, `paragraph_end`, `write`, and
    the actions of control words.
    """

    def __init__(self, file: BinaryIO, heartbeat: Callable[[], None]) -> None:
        self._window = Window(file, heartbeat)
        self._letters = Letters(self.write)
        self._runs: dict[bytes, tuple[tuple[Action, int | None], ...]] = {}
        self._words = self.meanings()
        self._stack: list[State] = []
        self._passing = 0  # open levels of a group that is passed over
        self._skip = 0  # letters behind a \u that are passed over
        # What a group saves; see State.
        self._closer: Callable[[], None] | None = None
        self._into = BODY
        self._font: int | None = None
        self._fallback = 1
        self._hidden = self._double = False
        self._style, self._outline, self._depth = 0, -1, 0

    # --- what subclasses say ------------------------------------------------------------------

    @abc.abstractmethod
    def meanings(self) -> dict[bytes, Action]:
        """What control words do, by their names."""

    @abc.abstractmethod
    def begun(self, name: bytes | None) -> None:
        """A group begins, with this control word or none; its state is saved already."""

    @abc.abstractmethod
    def paragraph_end(self, number: int | None) -> None:
        """The paragraph ends here, in the running text."""

    @abc.abstractmethod
    def write(self, text: str) -> None:
        """Decoded text."""

    @abc.abstractmethod
    def passed(self, piece: bytes) -> None:
        """Bytes that are no text."""

    # --- the loop ---------------------------------------------------------------------------

    def _scan(self) -> None:
        """All pieces that start before the window's stop."""
        window = self._window
        data, at, stop = window.bytes, window.at, window.stop
        words, text, runs = rtf_tokens.WORDS.match, rtf_tokens.TEXT.match, self._runs
        while at < stop:
            if self._passing:
                at = self._pass(data, at, stop)
                continue
            first = data[at]
            if first == BACKSLASH:
                found = words(data, at)
                if found is None:
                    at = self._special(data, at)
                    continue
                at = found.end()
                run = found[0]
                actions = runs.get(run)
                for action, number in self._understood(run) if actions is None else actions:
                    action(number)
            elif first == OPEN:
                at = self._open(data, at + 1)
            elif first == CLOSE:
                at += 1
                self._close()
                if not self._stack and self._over(data, at):
                    window.end()
                    return
            else:
                found = text(data, at)
                at = found.end() if found else at + 1
                if found:
                    self._text(found[0])
        window.at = at

    def _pass(self, data: bytes, at: int, stop: int) -> int:
        """Over a group that holds nothing to read, to its end or that of the window."""
        for found in rtf_tokens.PASSED.finditer(data, at):
            if found.start() >= stop:
                break
            sign = data[found.start()]
            if sign == OPEN:
                self._passing += 1
            elif sign == CLOSE:
                self._passing -= 1
                if not self._passing:
                    return found.end()
            elif found[1] is not None:
                return found.end() + int(found[1])
        return stop

    def _special(self, data: bytes, at: int) -> int:
        r"""\u, \bin, \'hh or a sign behind a backslash."""
        if found := rtf_tokens.UNICODE.match(data, at):
            return self._unicode(data, at, found)
        if found := rtf_tokens.BINARY.match(data, at):
            return found.end() + int(found[1])
        if found := rtf_tokens.TEXT.match(data, at):
            self._text(found[0])
            return found.end()
        sign = data[at + 1] if at + 1 < len(data) else 0
        if sign in (0x0A, 0x0D):
            self.paragraph_end(None)
        elif sign in rtf_words.SIGNS:
            self._letter(rtf_words.SIGNS[sign])
        return at + 2

    def _understood(self, run: bytes) -> tuple[tuple[Action, int | None], ...]:
        """What a run of control words means here; most mean nothing."""
        actions = []
        for word, digits in rtf_tokens.WORD.findall(run):
            action = self._words.get(word)
            if action is not None:
                actions.append((action, int(digits) if digits else None))
        if len(self._runs) >= rtf_tokens.RUN_CACHE:
            self._runs.clear()
        self._runs[run] = found = tuple(actions)
        return found

    def _over(self, data: bytes, at: int) -> bool:
        """The outermost group is closed: what follows is rubbish, unless it is more RTF."""
        return b"\\par" not in data[at : at + rtf_tokens.MARGIN_BYTES]

    # --- groups -------------------------------------------------------------------------------

    def _open(self, data: bytes, at: int) -> int:
        self._skip = 0
        if len(self._stack) >= RTF_DEPTH:
            raise limit_reached("Groups within groups", RTF_DEPTH + 1, RTF_DEPTH, "groups", RESAVE)
        begin = rtf_tokens.BEGIN.match(data, at)
        star, name = (begin[1], begin[2]) if begin is not None else (None, None)
        if self._passed_over(star is not None, name):
            self._passing = 1
            return at
        self._stack.append(self._state())
        self._closer = None
        self.begun(name)
        return begin.start(2) - 1 if star is not None and begin is not None else at

    def _passed_over(self, star: bool, name: bytes | None) -> bool:
        if name is None:
            return star
        if self._into == BOTH:  # the same text twice; the second time it is in Unicode
            return name != b"ud"
        if self._into == INFO:
            return name not in rtf_words.INFO_KEPT
        return name in rtf_words.PASSED_OVER or (star and name not in rtf_words.STARRED)

    def _close(self) -> None:
        if not self._stack:
            return
        self._skip = 0
        if len(self._stack) == 1:
            self.paragraph_end(None)
        if self._closer is not None:
            self._letters.decode()
            self._closer()
        state = self._stack.pop()
        if state.into != self._into:
            self._letters.decode()
        self._restore(state)

    def _state(self) -> State:
        return State(
            self._closer,
            self._into,
            self._font,
            self._fallback,
            self._hidden,
            self._double,
            self._style,
            self._outline,
            self._depth,
        )

    def _restore(self, state: State) -> None:
        self._closer, self._into, self._font = state[:3]
        self._fallback, self._hidden, self._double = state[3:6]
        self._style, self._outline, self._depth = state[6:]

    # --- text -----------------------------------------------------------------------------------

    def _text(self, piece: bytes) -> None:
        if self._into in (NONE, OBJECT):
            self.passed(piece)
            return
        raw = rtf_tokens.plain_bytes(piece)
        if self._skip:
            count = min(self._skip, len(raw))
            self._skip -= count
            raw = raw[count:]
        if raw and not self._hidden:
            plain = self._into != BODY
            self._letters.add(raw, self._font, b"\\" not in piece, plain)

    def _letter(self, text: str) -> None:
        if self._skip:
            self._skip -= 1
        elif not self._hidden:
            self._letters.write(text)

    def _unicode(self, data: bytes, at: int, first: re.Match[bytes]) -> int:
        r"""One \u, or a run of them each with what stands behind it for older programs."""
        pattern = rtf_tokens.UNICODE_RUNS.get(self._fallback)
        run = pattern.match(data, at) if pattern is not None else None
        self._skip = 0 if run else self._fallback
        found = run or first
        if not self._hidden and self._into != NONE:
            numbers = [int(digits) for digits in rtf_tokens.NUMBERS.findall(found[0])]
            self._letters.codes(numbers, self._font)
        return found.end()
