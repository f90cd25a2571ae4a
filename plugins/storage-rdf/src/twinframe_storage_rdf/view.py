"""One thread's view of an engine, with snapshots, deadlines and cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import ClassVar, Final
from weakref import WeakSet

from twinframe.errors import QueryTimeout, StorageDamaged
from twinframe.query.engine import CannotRun
from twinframe.storage.cpu_scheduler import share_scheduler
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import Differences, State, parse_differences
from twinframe_storage_rdf.engine import Engine, build_timeout
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.terms import Row, Term

_NOTHING: Final = Differences()
_ATTEMPTS: Final = 50
_SECONDS_UNTIL_LONG: Final = 0.02
_TURN_ROWS: Final = 64
_TURN_BYTES: Final = 64 * 1024
_LOOK_BYTES: Final = 4 * 1024 * 1024
_UNDO_BATCH: Final = 500
_STEP_NANOSECONDS: Final = 20
_ROW_STEPS: Final = 1_000
_USUAL_NANOSECONDS: Final = 20_000_000


def _look_away() -> None:
    """Do nothing: the default when memory is not watched."""


class View:
    """Reads the newest state, or inside `snapshot` that of its first read.

    An engine shows its newest state only. Writes made since the snapshot began are reverted by
    their `UNDO` records, which the state graph keeps for a while.
    """

    holds_own: ClassVar[bool] = False
    """Whether the differences are new changes of its version, not the undo of later ones."""

    def __init__(self, engine: Engine, queries: Queries) -> None:
        self._engine = engine
        self._queries = queries
        self._depth = 0
        self._pinned: State | None = None
        self._seen = 0
        self._undo = _NOTHING
        self._deadline: float | None = None
        self._stopped = False
        self._spent = self._rows = 0
        self._has_shown = False
        self._look: Callable[[], None] = _look_away
        self._unseen = 0
        self._scheduler = share_scheduler(0)
        self._may_yield, self._begun = False, 0.0
        self._open: WeakSet[Generator[Row]] = WeakSet()

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Call `look` after every 4 MiB read in a snapshot."""
        self._look = look

    def small_reads(self, most_bytes: int) -> AbstractContextManager[None]:
        """Raise `CannotRun` for larger reads inside, if the engine can tell their size."""
        return self._engine.small_answers(most_bytes)

    @contextmanager
    def snapshot(self, deadline: float | None, *, ends_reads: bool = True) -> Iterator[None]:
        """Show one state to all reads inside; a nested snapshot shows that of the outer one.

        With `ends_reads` the outermost one ends unfinished reads at its end.
        """
        before = self._deadline
        if self._depth == 0:
            self._pinned, self._undo, self._stopped = None, _NOTHING, False
            self._spent = self._rows = 0
            self._has_shown = False
            self._may_yield, self._begun = deadline is not None, time.monotonic()
        self._depth += 1
        self._deadline = deadline
        try:
            yield
        finally:
            self._depth -= 1
            self._deadline = before
            if not self._depth:
                self._scheduler.leave(self)
                self._forget_open(ends_reads=ends_reads)

    def _forget_open(self, *, ends_reads: bool) -> None:
        """Close unfinished reads, such as those of an error that still holds its frames."""
        while self._open:
            rows = self._open.pop()
            if ends_reads:
                rows.close()

    @property
    def deadline(self) -> float | None:
        """The deadline of the present snapshot."""
        return self._deadline

    @property
    def steps(self) -> int:
        """The engine's work since the snapshot began, in steps of 20 ns.

        NOTE: rows always count the same; CPU time, which varies, counts when it exceeds what rows
        and texts explain. The CPU time of a remote server is unknown.
        """
        excess = self._spent - _USUAL_NANOSECONDS - self._rows * self._engine.row_nanoseconds
        return self._rows * _ROW_STEPS + max(0, excess) // _STEP_NANOSECONDS

    def stop(self) -> None:
        """Stop the reads of the present snapshot, from any thread."""
        self._stopped = True

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` when the snapshot was stopped or has passed its deadline.

        Long work with a deadline waits here for its turn among others.
        """
        if not self._depth:
            return
        if self._is_over():
            raise build_timeout()
        is_long = self._may_yield and time.monotonic() - self._begun > _SECONDS_UNTIL_LONG
        if is_long and self._scheduler.yield_control(self, self._is_over):
            raise build_timeout()

    def _is_over(self) -> bool:
        return self._stopped or (self._deadline is not None and time.monotonic() >= self._deadline)

    # --- reading ----------------------------------------------------------------------------------

    def read_state(self) -> State:
        """The newest state, or that of the snapshot."""
        if not self._depth:
            return self._read_newest()
        if self._pinned is None:
            self._pinned = self._read_newest()
            self._seen = self._pinned.version
        return self._pinned

    def is_newest_hierarchy(self, version: int) -> bool:
        """Whether the hierarchy in the engine is of this version."""
        return self._read_newest().hierarchy_version == version

    def differences(self) -> Differences:
        """Return the undo of the writes known so far."""
        return self._undo if self._depth else _NOTHING

    def read(self, text: str) -> tuple[Iterator[Row], Differences]:
        """Return rows and the undo to lay over them."""
        if not self._depth:
            return self._engine.select(text), _NOTHING
        self.read_state()
        self._has_shown = True
        self.check_deadline()
        rows = self._ask(text, self._engine.select)
        newest = self._read_newest().version
        if newest != self._seen:
            # NOTE: the rows may be of any version up to the newest. For everything that changed up
            # to there, the undo has the value at the begin of the snapshot.
            undo = self._read_undo(self._seen, newest)
            undo.lay_under(self._undo)
            self._undo, self._seen = undo, newest
        return self._follow(rows), self._undo

    def select(self, text: str) -> Iterator[Row]:
        """Yield the rows of a SELECT whose state must be exactly that of the snapshot.

        Raises `CannotRun` in a snapshot when the graph was written since it began.
        """
        if not self._depth:
            return self._engine.query(text)
        for _ in range(_ATTEMPTS):
            pinned = self.read_state()
            self.check_deadline()
            rows = self._ask(text, self._engine.query)
            newest = self._read_newest()
            if newest.version == pinned.version:
                self._has_shown = True
                return self._follow(rows)
            if self._has_shown or not _has_same_models(newest, pinned):
                raise CannotRun("The graph was written since the snapshot began.")
            # NOTE: nothing of the older state was returned yet, so the snapshot may begin now.
            self._pinned, self._seen = newest, newest.version
        raise CannotRun("The graph is written so often that no SELECT found it at rest.")

    def read_facts(self) -> dict[str, Term]:
        """Return the newest values of the state graph by predicate."""
        rows = self._engine.select(self._queries.state(), self._deadline)
        return {str(predicate): value for predicate, value in rows}

    def _read_newest(self) -> State:
        facts = self.read_facts()
        numbers = {name: facts.get(predicate) for name, predicate in v.STATE.items()}
        return State(**{x: number for x, number in numbers.items() if isinstance(number, int)})

    def _read_undo(self, after: int, newest: int) -> Differences:
        """Return the undo of the writes after a version, up to the newest."""
        versions = range(after + 1, newest + 1)
        found: dict[int, list[Term]] = {}
        for at in range(0, len(versions), _UNDO_BATCH):
            query = self._queries.undo(versions[at : at + _UNDO_BATCH])
            for write, undone in self._engine.select(query, self._deadline):
                found.setdefault(v.parse_write_iri(str(write)), []).append(undone)
        if len(found) != len(versions):
            raise QueryTimeout("The snapshot is so old that what it shows is not kept any more.")
        undo = Differences()
        for number in sorted(found, reverse=True):
            for text in found[number]:
                if not isinstance(text, bytes):
                    raise StorageDamaged(f"The write {number} of the graph has no readable undo.")
                undo.lay_under(parse_differences(text))
        return undo

    def _ask(self, text: str, ask: Callable[[str, float | None], Iterator[Row]]) -> Iterator[Row]:
        if self._may_yield:
            self._scheduler.leave(self)  # others run while this one waits for the engine
        begin = self._read_clock()
        rows = ask(text, self._deadline)
        self._spent += self._read_clock() - begin
        return rows

    def _follow(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Return the rows, until the snapshot ends."""
        found = self._in_time(rows)
        self._open.add(found)
        return found

    def _in_time(self, rows: Iterator[Row]) -> Generator[Row]:
        while True:
            self.check_deadline()
            begin = self._read_clock()
            some = self._take_some(rows)
            self._spent += self._read_clock() - begin
            if not some:
                return
            self._rows += len(some)
            yield from some

    def _take_some(self, rows: Iterator[Row]) -> list[Row]:
        """Return the next rows, fewer if they are large; check the memory at intervals."""
        some, size = list[Row](), 0
        for row in islice(rows, _TURN_ROWS):
            some.append(row)
            size += sum([len(cell) for cell in row if isinstance(cell, (str, bytes))])
            if size > _TURN_BYTES:
                break
        self._unseen += size
        if self._unseen > _LOOK_BYTES:
            self._unseen = 0
            self._look()
        return some

    def _read_clock(self) -> int:
        return time.thread_time_ns() + self._engine.read_time()


def _has_same_models(one: State, other: State) -> bool:
    """Whether both have the same models, against which queries are checked and compiled."""
    return (one.schema_version, one.hierarchy_version) == (
        other.schema_version,
        other.hierarchy_version,
    )
