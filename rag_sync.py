"""The story of a sync: survey the folder, read what changed, forget what is gone, settle.

    python rag_sync.py --knowledge-dir DIR --data-dir STATE
    python rag_sync.py … --status | --cancel JOB | --check | --try FILE | --force | --clear --yes

Promises: a document's rows are committed whole, so that a kill at any point loses nothing that
was committed and the next sync goes on from there; no document is parsed in this process; a
folder that cannot be listed, or a root that vanished, prunes nothing; the source is only read.
Does not: search, or serve anybody. The story comes first, its command line last.
"""

from __future__ import annotations

from helpers import environment

if __name__ == "__main__":
    environment.prefer(__file__)

import argparse
import contextlib
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from helpers import changes, config, limits, log, readers, service
from helpers.config import Settings
from helpers.embedding import Models, embed
from helpers.errors import CorruptIndex, RagDocError, Unread
from helpers.jobs import progress, queue
from helpers.jobs.handle import JobHandle
from helpers.language.terms import Analyser
from helpers.recognition import Wanted
from helpers.recognize import choose
from helpers.source import names
from helpers.source.root import Root, Vanished
from helpers.store import database, documents, generations, postings, snapshots, verify
from helpers.store.documents import Description, Stat, Writer
from helpers.survey import MOUNTS, ROOT_IDENTITY, Candidate, Survey, survey

if TYPE_CHECKING:
    from helpers.extract.frames import AnalysedChunk
    from helpers.extract.reading import Reading
    from helpers.intake import Intake, Source

# Formats read from the first byte to the last; the others' readers jump about in their files.
READ_THROUGH = frozenset({"txt", "log", "source", "md", "csv", "tsv", "jsonl", "mbox"})
REFUSALS_KEPT = 200  # refusals listed in health; all are counted

_logger = log.get_logger("sync")


# --- the story -----------------------------------------------------------------------------


def sync(settings: Settings, job: JobHandle, models: Models | None = None) -> None:
    """Bring the index up to the folder as it is now; `models` stands in for the installed one.

    Raises RootGone before anything is changed, StoreError, Cancelled at a checkpoint.
    """
    job.phase("prepare")
    with Root(settings.knowledge_dir) as root, _open_index(settings, job.force) as db:
        with database.translated(settings.db):
            _Sync(settings, job, root, db, models or Models()).run()


class _Sync:
    """One run; its chapters share the index, the root and the job."""

    def __init__(
        self,
        settings: Settings,
        job: JobHandle,
        root: Root,
        db: database.Connection,
        models: Models,
    ) -> None:
        self.settings, self.job, self.root, self.db = settings, job, root, db
        self.fingerprints = readers.Fingerprints(settings)
        # Fingerprints of readers whose chunks need not be made again: by force, of none.
        self.valid: frozenset[str] = frozenset() if job.force else self.fingerprints.valid()
        self.readers = snapshots.readers_digest(self.valid)
        self.analyser = Analyser()
        self.models, self.model = models, models.status(settings)
        awaited = self.model.ready
        self.writer = Writer(db, self.analyser, settings.kb_id, await_vectors=awaited)

    def run(self) -> None:
        if not database.belongs(self.db, self.settings.kb_id):
            with database.transaction(self.db):
                database.set_meta(self.db, database.KB_ID, self.settings.kb_id)
        generations.align(self.db, self.model.fingerprint if self.model.ready else None)
        if self.job.scope == "full":
            self._index()
        if self.model.ready:
            self._embed()

    def _index(self) -> None:
        """Everything up to the words: walk, read, write, forget, settle."""
        self._renew_postings()
        found = self._survey()
        try:
            if found.work:
                self.job.phase("files")
                self._read(found.work)
            if found.gone:
                self.job.phase("cleanup")
                self._prune(found.gone)
        except RagDocError:
            self.writer.commit()  # what was finished stays; an open document was rolled back
            raise
        self._settle(found)
        self._report(found)

    def _renew_postings(self) -> None:
        """Make the postings anew: another analyser made them, some are missing, or by force.

        What force asks for is written down first: a sync that is stopped leaves the rest of it to
        the next one.
        """
        if self.job.force:
            with database.transaction(self.db):
                documents.doubt(self.db)
        current = postings.made_by(self.db) == self.analyser.fingerprint
        if current and verify.counts_match(self.db):
            return
        with database.transaction(self.db):
            postings.rebuild(self.db, self.analyser, self.job.checkpoint)

    def _survey(self) -> Survey:
        """Walk the folder once and compare it with what is known."""
        found = survey(
            *(self.root, self.settings, self.db, self.valid, self.readers, self.job.checkpoint)
        )
        if found.work or found.gone:
            # Rows are about to change: a kill must not leave a snapshot that speaks for them.
            with database.transaction(self.db):
                snapshots.forget(self.db, found.unproven)
        self.job.total(len(found.work))
        self.job.count(unchanged=found.unchanged, skipped=len(found.refusals))
        return found

    def _read(self, work: list[Candidate]) -> None:
        """Read every candidate that really changed; write each as it comes in."""
        # Imported here: a sync that finds nothing to do starts 40 ms sooner without it.
        from helpers.intake import Intake

        left_out = () if self.settings.archives == "on" else ("zip",)
        intake = Intake(self.root, work, self.job, self.valid, left_out)

        def asked(ticket: int, wanted: Wanted) -> None:
            self.job.part(intake.path(ticket), wanted.page or 1, wanted.pages or 1)

        recogniser = choose.recogniser(self.settings)
        with contextlib.closing(intake), recogniser:
            with readers.pool(self.settings, recogniser, asked) as pool:
                for reading in pool.read(intake, self.job.cancelled):
                    self._write_settled(intake)
                    self._write(*intake.take(reading.ticket), reading)
                self._write_settled(intake)
        self.writer.commit()

    def _write_settled(self, intake: Intake) -> None:
        """Write what opening alone decided: same bytes, gone meanwhile, refused, unreadable."""
        for candidate, outcome in intake.settled():
            if isinstance(outcome, Vanished):
                if candidate.known is not None:
                    self.writer.remove(candidate.known.id)
                    self.job.count(deleted=1)
            elif isinstance(outcome, Unread):
                found = Description(
                    Stat(*candidate.entry[1:]), self.fingerprints.of(None), unread=outcome
                )
                self.writer.replace(candidate.file, (), _always(found))
            elif candidate.known is not None:
                self.writer.touch(candidate.known.id, outcome)
                self.job.count(unchanged=1)
            self.job.count(completed=1)

    def _write(self, candidate: Candidate, source: Source, reading: Reading) -> None:
        """Write one reading. What it says counts only if the file stayed as it was."""
        file = candidate.file
        self.job.file(file.path)
        try:
            if not reading.streaming:
                source.ensure_unchanged()
            if reading.error is not None:
                raise reading.error
            chunks = self._followed(candidate, source, reading)
            self.writer.replace(
                file, chunks, lambda: self._complete(source, reading), reading.streaming
            )
            known = candidate.known
            self.job.count(added=int(known is None), updated=int(known is not None))
        except Unread as unread:
            if unread.code == "changed_while_reading":
                self.job.failure(file.path, unread.code, unread.reason, unread.remedy)
            else:
                found = self._described(source, reading, unread)
                self.writer.replace(file, (), _always(found))
        finally:
            source.close()
        self.job.count(completed=1)
        database.truncate_wal(self.db, self.settings.db)

    def _followed(
        self, candidate: Candidate, source: Source, reading: Reading
    ) -> Iterator[AnalysedChunk]:
        """The chunks of a reading; of a long one the job learns meanwhile how far it has come."""
        for chunk in reading.chunks:
            yield chunk
            if reading.streaming and reading.format in READ_THROUGH:
                self.job.part(candidate.file.path, 1 + source.position, source.stat.size)

    def _complete(self, source: Source, reading: Reading) -> Description:
        """The description of a document whose chunks are through."""
        if reading.streaming:
            source.ensure_unchanged()
        return self._described(source, reading)

    def _described(
        self, source: Source, reading: Reading, unread: Unread | None = None
    ) -> Description:
        return Description(
            source.stat,
            self.fingerprints.of(reading.format, reading.wanted),
            source.sha256,
            reading.format or "",
            reading.title or "",
            reading.encoding,
            tuple(
                {"code": notice.code, "message": notice.message, "location": notice.location}
                for notice in reading.notices
            ),
            unread,
        )

    def _embed(self) -> None:
        """Give the chunks without vectors theirs; costs three look-ups where there are none."""
        if self.job.force or self.job.scope != "full":
            generations.reconsider(self.db, self.model.fingerprint)
        if not generations.settled(self.db, self.model.fingerprint):
            self.job.phase("semantic")
            worker = functools.partial(self.models.worker, self.settings, self.model)
            embed(self.db, self.settings.db, self.job, self.model, worker)

    def _prune(self, gone: list[tuple[int, str]]) -> None:
        for document_id, _ in gone:
            self.job.checkpoint()
            self.writer.remove(document_id)
            self.job.count(deleted=1)
        self.writer.commit()

    def _settle(self, found: Survey) -> None:
        """What the index owes the next search and the next sync."""
        with database.transaction(self.db):
            if self.writer.changed_chunks:
                postings.settle(self.db, self.writer.changed_chunks)
            snapshots.record(self.db, found.unproven, self.readers, self.valid)
            self._remember(found)
        database.truncate_wal(self.db, self.settings.db)

    def _remember(self, found: Survey) -> None:
        refused = [
            {"path": names.display(r.raw), "code": r.code, "reason": r.reason, "remedy": r.remedy}
            for r in (*found.unlisted, *found.refusals)[:REFUSALS_KEPT]
        ]
        unsupported = documents.count_of_code(self.db, "unsupported")
        report = {
            "files_supported": found.files - unsupported,
            "files_unsupported": unsupported,
            "files_refused": len(found.refusals),
            "folders_unlisted": len(found.unlisted),
            "excluded": found.excluded,
            "refused": refused,
        }
        facts = {
            "knowledge_dir": str(self.settings.knowledge_dir),
            ROOT_IDENTITY: list(self.root.identity),
            MOUNTS: [raw.hex() for raw in found.mounts],
            service.REPORT: report,
            service.SYNCED_AT: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        for key, value in facts.items():
            database.set_meta(self.db, key, value)

    def _report(self, survey: Survey) -> None:
        """Name every file without usable text, known before or new."""
        for refusal in survey.unlisted:
            path = names.display(refusal.raw)
            self.job.failure(path, refusal.code, refusal.reason, refusal.remedy)
        for row in documents.unread(self.db, limits.JOB_FAILURES):
            if row["code"] not in changes.SKIPPED_BY_RULE:
                self.job.failure(row["path"], row["code"], row["reason"], row["remedy"])


def _open_index(settings: Settings, force: bool) -> contextlib.closing[database.Connection]:
    """The index, ready to be written; `force` sets a damaged one aside and begins anew."""
    try:
        db = database.open_write(settings.db)
        if force:
            with database.translated(settings.db):
                if not verify.pages_sound(db, seconds=None):
                    db.close()
                    raise CorruptIndex("The index is damaged", database.REBUILD)
        return contextlib.closing(db)
    except CorruptIndex:
        if not force:
            raise
        aside = database.set_aside(settings.db)
        _logger.warning("the damaged index was set aside as %s", aside)
        return contextlib.closing(database.open_write(settings.db))


def _always(found: Description) -> Callable[[], Description]:
    return lambda: found


# --- the command line ----------------------------------------------------------------------

EXAMPLES = """examples:
  rag_sync.py --knowledge-dir ~/Documents --data-dir ~/.mcp-ragdoc
  rag_sync.py --check                 what a sync would change
  rag_sync.py --status                the latest job
  rag_sync.py --try report.pdf        what would be indexed of one file, and what hinders
  rag_sync.py --force                 read every file again; rebuilds a damaged index
  rag_sync.py --clear --yes           delete the index, never a document
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code of CONTRACT's table."""
    words = list(sys.argv[1:] if words is None else words)
    log.speak_utf8()
    arguments = _parser().parse_args(words)
    try:
        environment.listen()
        settings = config.resolve(arguments)
        log.set_up(settings.quiet)
        return _run(settings, arguments)
    except RagDocError as error:
        print(f"rag_sync.py: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    story = functools.partial(sync, settings)
    if arguments.worker:
        outcome = queue.run_worker(settings, arguments.job, story, lock_fd=arguments.lock_fd)
        return outcome.exit_code if outcome is not None else 0
    if arguments.status is not None:
        return _show(
            service.sync_status(settings, arguments.status or None), arguments, progress.summary
        )
    if arguments.cancel is not None:
        return _show(service.cancel_sync(settings, arguments.cancel), arguments, progress.fields)
    if arguments.check:
        return _show(service.check_changes(settings), arguments, changes.readable)
    if arguments.try_file is not None:
        return _try(settings, arguments)
    if arguments.clear:
        return _show(service.clear_index(settings, None, arguments.yes), arguments, progress.fields)
    with progress.shown(settings.quiet) as show:
        outcome = queue.run_here(settings, story, force=arguments.force, progress=show)
    _show(outcome.state.public(), arguments, progress.summary)
    return outcome.exit_code


def _try(settings: Settings, arguments: argparse.Namespace) -> int:
    """Exit code 0 only where the file gave text."""
    from helpers import trial

    with choose.recogniser(settings, keep=False) as recogniser:
        pool = functools.partial(readers.pool, settings, recogniser)
        found = trial.attempt(arguments.try_file, pool)
    _show(found.as_dict(), arguments, trial.readable)
    return 0 if found.has_text else 1


def _show(
    value: dict[str, Any],
    arguments: argparse.Namespace,
    readable: Callable[[dict[str, Any]], str],
) -> int:
    print(json.dumps(value, ensure_ascii=False) if arguments.json else readable(value))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = config.Parser(
        prog="rag_sync.py",
        description="Bring the index up to the knowledge folder as it is now.",
        examples=EXAMPLES,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--status", metavar="JOB", nargs="?", const="", help="show a job, or the latest"
    )
    what.add_argument("--cancel", metavar="JOB", help="ask a running job to stop")
    what.add_argument("--check", action="store_true", help="what a sync would change; a dry run")
    what.add_argument(
        "--try", dest="try_file", metavar="FILE", help="what would be indexed of one file"
    )
    what.add_argument("--clear", action="store_true", help="delete the index (needs --yes)")
    what.add_argument("--force", action="store_true", help="read every file again")
    what.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--yes", action="store_true", help="confirm --clear")
    parser.add_argument("--json", action="store_true", help="one JSON value on standard output")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--lock-fd", type=int, help=argparse.SUPPRESS)
    config.add_shared_flags(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
