"""Makes the file of a projection in a process of its own, which gets all entities by a pipe."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import orjson

from twinframe.runtime.locks import hold_lock
from twinframe.storage.base import GraphSession, GraphStore, RelationshipRecord, TwinRecord
from twinframe.storage.epochs import read_epoch
from twinframe_columns.build import TooLarge, batch, build_projection, order_labels
from twinframe_columns.layout import find_draft, write_projection

_AT_ONCE: Final = 500
_NICENESS: Final = 10
Mark: TypeAlias = tuple[int, int]
"""The number of a file, and when it was changed last."""


def build_mark(state: os.stat_result) -> Mark:
    """Return what tells a file from the one that replaces it."""
    return state.st_ino, state.st_mtime_ns


class FileMaker:
    """Makes the file of a store's present state. `end` ends it, from any thread, for good."""

    def __init__(self, store: GraphStore, target: Path) -> None:
        self._store = store
        self._target = target
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, known: Mark | None) -> None:
        """Make it, unless another process does so or has done so.

        `known` is the mark of the file that is to be replaced. Raises `OSError`, `TwinframeError`;
        `RuntimeError` when the process that makes it fails or is ended.
        """
        target = self._target
        with closing(self._store.session()) as session:
            # NOTE: not with its parents: the graph of a store without a place was removed.
            target.parent.mkdir(mode=0o700, exist_ok=True)
            with hold_lock(target.with_name(f"{target.name}.lock"), 0.0) as handle:
                if handle is None or find_mark(target) not in (None, known):
                    return
                for left in target.parent.glob(f"{target.name}.*.part"):  # of makers that died
                    left.unlink(missing_ok=True)
                with session.snapshot():
                    self._send_all(session)

    def end(self) -> None:
        """End the process that makes the file, if there is one; there will be no other."""
        self._ended.set()
        process = self._process
        if process is not None:
            process.kill()

    def _send_all(self, session: GraphSession) -> None:
        command = [sys.executable, "-m", "twinframe_columns.making", str(self._target)]
        # NOTE: in a group of its own: a terminal sends its signals to the service's whole group.
        try:
            with subprocess.Popen(  # noqa: S603  # our own module
                command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
            ) as process:
                self._process = process
                try:
                    said = self._send(session, process)
                except BaseException:
                    process.kill()
                    raise
        finally:
            if self._process is not None:  # it may have been killed
                find_draft(self._target, self._process.pid).unlink(missing_ok=True)
        if process.returncode:
            reason = f"The process that makes them ended: {process.returncode}."
            raise RuntimeError(said or reason)

    def _send(self, session: GraphSession, process: subprocess.Popen[bytes]) -> str:
        """Send all entities; return what the process says at its end."""
        assert process.stdin is not None  # noqa: S101  # a pipe, as asked for
        assert process.stderr is not None  # noqa: S101
        try:
            with suppress(BrokenPipeError):  # it says below why it ended
                for part in _describe(session):
                    self._check()
                    marshal.dump(part, process.stdin)
                process.stdin.flush()
            self._check()
            # NOTE: it ends when the pipe does, so the pipe is open until it has ended.
            return process.stderr.read().decode(errors="replace").strip()
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()

    def _check(self) -> None:
        """Raise when it is to end. NOTE: after the process was stored, so that none is missed."""
        if self._ended.is_set():
            raise RuntimeError("The graph is closed.")


def find_mark(target: Path) -> Mark | None:
    """Return the mark of the file that is there, if one is."""
    with suppress(OSError), target.open("rb") as file:
        return build_mark(os.fstat(file.fileno()))
    return None


def _describe(session: GraphSession) -> Iterator[Any]:
    """Yield what the process reads from the pipe, part by part."""
    labels = {dtmi: sorted(own) for dtmi, own in order_labels(session).items()}
    position = session.read_event_bounds()[1]
    yield position, read_key(session), read_proof(session, position), labels
    for twins in batch(session.iterate_twins(), _AT_ONCE):
        yield [(one.twin_id, one.model_id, one.body) for one in twins]
    yield []
    for edges in batch(session.iterate_relationships(), _AT_ONCE):
        yield [(e.source_id, e.relationship_id, e.name, e.target_id, e.body) for e in edges]
    yield []


def read_key(session: GraphSession) -> str:
    """Return a text that is another one for another graph, and for one that was restored."""
    return f"{session.read_instance().id}/{read_epoch(session).id}"


def read_proof(session: GraphSession, position: int) -> str:
    """Return a digest of the event at a position; empty if none is kept there.

    It is another one where a copy of the graph went another way since.
    """
    rows = session.read_events(after=position - 1, limit=1) if position else ()
    if not rows or rows[0][0] != position:
        return ""
    event = rows[0][1]
    head = orjson.dumps((event.subject, event.relationship_id, event.kind))
    return blake2b(head + event.body, digest_size=16).hexdigest()


def _receive(pipe: IO[bytes]) -> Iterator[Any]:
    while some := marshal.load(pipe):  # noqa: S302  # from the parent
        yield from some


def main(target: Path, pipe: IO[bytes]) -> None:
    """Read all entities from the pipe, and write the file."""
    started = time.monotonic()
    position, key, proof, labels = marshal.load(pipe)  # noqa: S302  # from the parent
    twins = (TwinRecord(one, model, "", body) for one, model, body in _receive(pipe))
    edges = (
        RelationshipRecord(source, one, name, target_id, "", body)
        for source, one, name, target_id, body in _receive_last(target, pipe)
    )
    known = {dtmi: frozenset(own) for dtmi, own in labels.items()}
    projection = build_projection(position, twins, edges, known)
    projection.proof = proof
    projection.seconds = time.monotonic() - started
    write_projection(projection, key, target)


def _receive_last(target: Path, pipe: IO[bytes]) -> Iterator[Any]:
    yield from _receive(pipe)
    threading.Thread(target=_end_with, args=(target, pipe), daemon=True).start()


def _end_with(target: Path, pipe: IO[bytes]) -> None:
    """Wait for the end of the pipe, which is that of the service, and end."""
    # NOTE: not by the object, which a thread must not hold when the interpreter ends.
    while os.read(pipe.fileno(), 1):
        pass
    find_draft(target, os.getpid()).unlink(missing_ok=True)
    os._exit(1)


if __name__ == "__main__":
    os.nice(_NICENESS)
    try:
        main(Path(sys.argv[1]), sys.stdin.buffer)
    except EOFError:  # the service ended
        sys.exit(1)
    except (OSError, TooLarge) as error:
        sys.exit(str(error))
