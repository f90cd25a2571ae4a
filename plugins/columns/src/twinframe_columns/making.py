"""Makes the file of a projection in a process of its own, which gets all entities by a pipe."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, TypeVar

from twinframe.runtime.locks import hold_lock
from twinframe.storage.base import GraphSession, GraphStore, RelationshipRecord, TwinRecord
from twinframe.storage.epochs import read_epoch
from twinframe_columns.build import build_projection, order_labels
from twinframe_columns.layout import find_draft, write_projection

_AT_ONCE: Final = 500
_NICENESS: Final = 10
T = TypeVar("T")

Mark: TypeAlias = tuple[int, int]
"""The number of a file, and when it was changed last."""


def build_mark(state: os.stat_result) -> Mark:
    """Return what tells a file from the one that replaces it."""
    return state.st_ino, state.st_mtime_ns


def make_file(store: GraphStore, target: Path, known: Mark | None) -> None:
    """Make the file of the store's present state, unless another process does so or has done so.

    `known` is the mark of the file that is to be replaced. Raises `OSError`, `TwinframeError`;
    `RuntimeError` when the process that makes it fails.
    """
    with closing(store.session()) as session:
        # NOTE: not with its parents: the graph of a store without a place was removed.
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with hold_lock(target.with_name(f"{target.name}.lock"), 0.0) as handle:
            if handle is None or _find_mark(target) not in (None, known):
                return
            for left in target.parent.glob(f"{target.name}.*.part"):  # of makers that were killed
                left.unlink(missing_ok=True)
            with session.snapshot():
                _send_all(session, target)


def _find_mark(target: Path) -> Mark | None:
    with suppress(OSError), target.open("rb") as file:
        return build_mark(os.fstat(file.fileno()))
    return None


def _send_all(session: GraphSession, target: Path) -> None:
    command = [sys.executable, "-m", "twinframe_columns.making", str(target)]
    # NOTE: in a group of its own, since a terminal sends its signals to the service's whole group.
    with subprocess.Popen(  # noqa: S603  # our own module
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
    ) as process:
        assert process.stdin is not None  # noqa: S101  # a pipe, as asked for
        assert process.stderr is not None  # noqa: S101
        try:
            with suppress(BrokenPipeError):  # it says below why it ended
                _send(session, process.stdin)
                process.stdin.flush()
            # NOTE: it ends when the pipe does, so the pipe is open until it has ended.
            said = process.stderr.read().decode(errors="replace").strip()
        except BaseException:
            process.kill()
            raise
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
        if process.wait():
            raise RuntimeError(said or f"The process that makes them ended: {process.returncode}.")


def _send(session: GraphSession, pipe: IO[bytes]) -> None:
    labels = {dtmi: sorted(own) for dtmi, own in order_labels(session).items()}
    marshal.dump((session.read_event_bounds()[1], read_key(session), labels), pipe)
    for batch in _batch(session.iterate_twins()):
        marshal.dump([(one.twin_id, one.model_id, one.body) for one in batch], pipe)
    marshal.dump([], pipe)
    for edges in _batch(session.iterate_relationships()):
        rows = [(e.source_id, e.relationship_id, e.name, e.target_id, e.body) for e in edges]
        marshal.dump(rows, pipe)
    marshal.dump([], pipe)


def read_key(session: GraphSession) -> str:
    """Return a text that is another one for another graph, and for one that was restored."""
    return f"{session.read_instance().id}/{read_epoch(session).id}"


def _batch(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _receive(pipe: IO[bytes]) -> Iterator[Any]:
    while some := marshal.load(pipe):  # noqa: S302  # from the parent
        yield from some


def main(target: Path, pipe: IO[bytes]) -> None:
    """Read all entities from the pipe, and write the file."""
    position, instance, labels = marshal.load(pipe)  # noqa: S302  # from the parent
    twins = (TwinRecord(one, model, "", body) for one, model, body in _receive(pipe))
    edges = (
        RelationshipRecord(source, one, name, target_id, "", body)
        for source, one, name, target_id, body in _receive_last(target, pipe)
    )
    known = {dtmi: frozenset(own) for dtmi, own in labels.items()}
    projection = build_projection(position, twins, edges, known)
    write_projection(projection, instance, target)


def _receive_last(target: Path, pipe: IO[bytes]) -> Iterator[Any]:
    yield from _receive(pipe)
    threading.Thread(target=_end_with, args=(target, pipe), daemon=True).start()


def _end_with(target: Path, pipe: IO[bytes]) -> None:
    """Wait for the end of the pipe, which is that of the service, and end."""
    # NOTE: not by the object, which a thread must not hold when the interpreter ends.
    while os.read(pipe.fileno(), 1):
        pass
    find_draft(target).unlink(missing_ok=True)
    os._exit(1)


if __name__ == "__main__":
    os.nice(_NICENESS)
    try:
        main(Path(sys.argv[1]), sys.stdin.buffer)
    except EOFError:  # the service ended
        sys.exit(1)
    except OSError as error:
        sys.exit(str(error))
