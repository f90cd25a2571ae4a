"""The use case of earlier states: finds the position of a moment, and shows the state there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from twinframe.errors import HistoryNotKept, InvalidArgument, Unsupported
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.paging import Listing
from twinframe.graph.history.gone import GoneCache
from twinframe.graph.history.past import PastSession
from twinframe.model.clock import render_update_time
from twinframe.model.comparison import name_type
from twinframe.model.moments import parse_moment
from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

T = TypeVar("T")

_POSITION: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_LOST_PLUS: Final = re.compile(r" (?=[0-9]{2}:?[0-9]{2}$)", re.ASCII)
_FRACTION: Final = re.compile(r"\.([0-9]{7,9})", re.ASCII)
_MICROSECOND: Final = 1000
_SECOND: Final = 1_000_000_000
_TICK: Final = 1_000_000
_READINGS: Final = 20
_YEAR_10000: Final = 253_402_300_800_000_000_000
_LONGEST: Final = 100
_SHORT_STEPS: Final = 20_000
_SHORT_SECONDS: Final = 0.01
KIND: Final = "history"
"""The entries of the history, and the one with the first position whose state can be shown."""
START: Final = "start"


Asked: TypeAlias = str | int | DateTime
"""A state as callers name it: a moment, or the position of an event."""


class StateName(NamedTuple):
    """A position, or None and a moment in nanoseconds since 1970."""

    position: int | None
    moment: int = 0


def check_asked(value: Any) -> Asked:
    """Return a value that may name a state; raise `InvalidArgument` for one of another type."""
    if isinstance(value, bool) or not isinstance(value, (str, int, DateTime)):
        raise _build_error("asOf", "null" if value is None else f"of the type {name_type(value)}")
    return value


def parse_as_of(asked: Asked, name: str = "asOf") -> StateName:
    """Return the position, or the moment, that callers name.

    A blank before the offset counts as `+`, which a URL must write as `%2B`. Raises
    `InvalidArgument`, which has the name of the parameter.
    """
    if isinstance(asked, DateTime):
        return StateName(None, asked.instant)
    text = str(asked)
    if _POSITION.fullmatch(text):
        return StateName(int(text))
    text = _LOST_PLUS.sub("+", text)
    try:
        moment = parse_moment(_FRACTION.sub(lambda found: f".{found[1][:6]}", text))
    except InvalidArgument as error:
        raise _build_error(name, ascii(text[:_LONGEST])) from error
    fraction = _FRACTION.search(text)
    finer = int(fraction[1][6:].ljust(3, "0")) if fraction else 0
    return StateName(None, moment * _MICROSECOND + finer)


def parse_instant(value: JsonValue, name: str) -> int:
    """Return a moment of a stored text, in nanoseconds since 1970; `InvalidArgument` names it."""
    text = value if isinstance(value, str) and not value.isdigit() else ""
    try:
        return parse_as_of(text, name).moment
    except InvalidArgument as error:
        raise InvalidArgument(
            f"{name} must be a date and time with an offset, such as 2026-03-01T14:05:00Z."
        ) from error


class Range(NamedTuple):
    """The changes after a position, up to another one, which is included."""

    after: int
    end: int


class History:
    """The earlier states of a graph."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._gone = GoneCache()

    async def read_start(self) -> tuple[int, int | None] | None:
        """Return the first position whose state can be shown, and the moment of the first change.

        The moment is None where there is no change yet; None says that no history is kept.
        """

        def read(session: GraphSession) -> tuple[int, int | None] | None:
            with session.snapshot():
                first = self.find_first(session)
                if first is None:
                    return None
                found = session.read_moment(max(first, 1))
                return first, None if found is None else found[1]

        return await self._context.runner.read(read)

    async def find_position(self, asked: Asked) -> int:
        """Return the position of the last event at a moment, or that which is named.

        Errors: `InvalidArgument` for another text and for the future, `HistoryNotKept`,
        `Unsupported`.
        """
        named = parse_as_of(asked)
        await self._settle(named.moment)

        def read(session: GraphSession) -> int:
            with session.snapshot():
                return self._locate(session, self.read_first(session), named, "asOf")

        return await self._context.runner.read(read)

    async def find_range(self, start: Asked | None, end: Asked | None) -> Range:
        """Return the positions that `build_range` finds, which stay the same."""
        find = self.build_range(start, end)
        for asked in (start, end):
            await self._settle(0 if asked is None else parse_as_of(asked).moment)

        def read(session: GraphSession) -> Range:
            with session.snapshot():
                return find(session)

        return await self._context.runner.read(read)

    async def _settle(self, moment: int) -> None:
        """Wait until no write will have a moment up to this one any more.

        NOTE: a write has its moment when it begins, under the writer's lock, and moments never go
        back. So none comes up to a moment before that of the newest change. None comes either up to
        the time at which this waits for the lock: all that began before are committed then.
        """
        clock, runner = self._context.write_clock, self._context.runner
        if moment <= clock.settled or moment < await runner.read(self._read_newest):
            return
        for _ in range(_READINGS):  # NOTE: a clock may tick as seldom as each millisecond
            now = self._context.clock()
            if moment < now:
                await runner.write(_do_nothing)
                clock.settle(now)
            if moment <= clock.settled or moment - now > _TICK:
                return
            await asyncio.sleep(_TICK / _SECOND)

    def _read_newest(self, session: GraphSession) -> int:
        """Return the moment of the newest change, 0 without one.

        Raises `Unsupported` where no history is kept.
        """
        self.read_first(session)
        found = session.read_moment(session.read_event_bounds()[1])
        return 0 if found is None else found[1]

    def build_range(
        self, start: Asked | None, end: Asked | None
    ) -> Callable[[GraphSession], Range]:
        """Return a function that finds the positions from after `start` up to `end`.

        Both are moments or positions; None is the beginning of the kept history, and now. Raises as
        `find_position` does, at once or when it is called, in a snapshot.
        """
        low = None if start is None else parse_as_of(start, "from")
        high = None if end is None else parse_as_of(end, "to")

        def find(session: GraphSession) -> Range:
            first = self.read_first(session)
            after = first if low is None else self._locate(session, first, low, "from")
            last = session.read_event_bounds()[1]
            until = last if high is None else self._locate(session, first, high, "to")
            if after > until or _is_later(low, high):
                raise InvalidArgument(f"from ({start}) must not be after to ({end or 'now'}).")
            return Range(after, until)

        return find

    def locate(self, session: GraphSession, asked: Asked, name: str) -> int:
        """Return the position that `asked` names, for a parameter of this name, in a snapshot.

        Raises as `find_position` does.
        """
        return self._locate(session, self.read_first(session), parse_as_of(asked, name), name)

    def check(self, session: GraphSession, position: int) -> None:
        """Raise `HistoryNotKept` if the state at a position is not kept."""
        _check(session, self.read_first(session), position)

    def find_before(self, session: GraphSession, moment: int) -> int:
        """Return the last position before a moment, in microseconds since 1970.

        Raises `HistoryNotKept`, `Unsupported`. Call it in a snapshot.
        """
        latest = min(moment * _MICROSECOND - 1, self._context.clock())
        return self._find(session, self.read_first(session), latest, "from")

    def show(
        self, position: int | None, read: Callable[[GraphSession], T]
    ) -> Callable[[GraphSession], T]:
        """Return a function that runs `read` on the state at a position; None: on the present one.

        It raises `HistoryNotKept` if that is no longer kept.
        """
        if position is None:
            return read

        def read_past(session: GraphSession) -> T:
            with session.snapshot():
                _check(session, self.read_first(session), position)
                return read(PastSession(session, position, self._gone))

        return read_past

    async def run_short(self, position: int | None, read: Callable[[GraphSession], T]) -> T:
        """Run a read of one entity; of an earlier state at once if that is short, else in a thread.

        SEC: the way back to a large document takes long: the event loop must not wait for it.
        """
        runner = self._context.runner
        if position is None:
            return await runner.read(read)
        shown = self.show(position, read)
        found = runner.read_short(shown, _SHORT_STEPS, _SHORT_SECONDS)
        if found is not None:
            return found
        return await runner.scan(shown, self._context.settings.query.timeout)

    async def run(self, position: int | None, read: Callable[[GraphSession], T]) -> T:
        """Run a read that may look at many entities; of an earlier state in a thread."""
        if position is None:
            return await self._context.runner.read(read)
        timeout = self._context.settings.query.timeout
        return await self._context.runner.scan(self.show(position, read), timeout)

    async def open_listing(
        self, position: int | None, operation: str, *arguments: JsonValue
    ) -> Listing:
        """Open a listing whose tokens are bound to the position, too."""
        if position is None:
            return await self._context.open_listing(operation, *arguments)
        return await self._context.open_listing(f"{operation} as of", position, *arguments)

    def find_first(self, session: GraphSession) -> int | None:
        """Return the first position whose state can be shown; None if no history is kept."""
        is_kept = session.keeps_history and self._context.settings.history.enabled
        return self.read_first(session) if is_kept else None

    def read_first(self, session: GraphSession) -> int:
        """Return the first position whose state can be shown. Raises `Unsupported`."""
        if not session.keeps_history:
            raise Unsupported(
                "The storage of this graph keeps no history: earlier states cannot be read here. "
                "The storage `sqlite` keeps it."
            )
        if not self._context.settings.history.enabled:
            raise Unsupported("This service keeps no history: History__Enabled is false.")
        first, _ = session.read_event_bounds()
        start = session.read_entry(KIND, START)
        return max(first - 1, 0 if start is None else int(start))

    def _locate(self, session: GraphSession, first: int, named: StateName, name: str) -> int:
        """Return the position that is named; `first` is the first that can be shown."""
        position, moment = named
        if position is None:
            return self._find(session, first, moment, name)
        _, last = session.read_event_bounds()
        if position > last:
            raise InvalidArgument(
                f"{name} {position} is beyond the last event of the graph, which has the position "
                f"{last}."
            )
        _check(session, first, position)
        return position

    def _find(self, session: GraphSession, first: int, moment: int, name: str) -> int:
        """Return the last position whose moment is not later, by a binary search."""
        _, last = session.read_event_bounds()
        newest = session.read_moment(last)
        if newest is None or newest[1] <= moment:
            now = self._context.clock()
            if moment > max(now, 0 if newest is None else newest[1]):
                text = f" {render_update_time(moment)}" if moment < _YEAR_10000 else ""
                raise InvalidArgument(
                    f"{name}{text} is in the future: it is {render_update_time(now)} here."
                )
            if newest is None and last:  # since when the state is as it is, is not known
                raise _build_gone(session, last)
            return last
        low, high = first, last  # NOTE: the moment at `low` is not later, that at `high` is
        if first > 0:
            oldest = session.read_moment(first)
            # Where the event at `first` is no longer kept, the next one says when it ended.
            if oldest is None or oldest[1] > moment:
                raise _build_gone(session, first)
            low = oldest[0]
        while high - low > 1:
            middle = (low + high) // 2
            found = session.read_moment(middle)
            if found is None or found[1] > moment:
                high = middle
            else:
                low = max(found[0], middle)
        return low


def _do_nothing(transaction: GraphTransaction) -> None:
    """Write nothing, in its turn."""


def _is_later(low: StateName | None, high: StateName | None) -> bool:
    """Return whether both are moments, and the first is later: nothing may be between them."""
    if low is None or high is None or low[0] is not None or high[0] is not None:
        return False
    return low[1] > high[1]


def _build_error(name: str, given: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name} {given} is neither a date and time with an offset, such as 2026-03-01T14:05:00Z, "
        "nor the position of an event, such as 1042."
    )


def _check(session: GraphSession, first: int, position: int) -> None:
    if position < first:
        raise _build_gone(session, first)


def _build_gone(session: GraphSession, first: int) -> HistoryNotKept:
    oldest = session.read_moment(first)
    moment = "" if oldest is None else f"{render_update_time(oldest[1])}, "
    return HistoryNotKept(
        "The history of the graph does not go back so far. The first state that can be had is of "
        f"{moment}position {first if oldest is None else max(oldest[0], first)}."
    )
