"""Runs a write and reports what it changes, keeping it or rolling it back as a rehearsal.

The use case runs in the store's own transaction either way; a rehearsal ends by raising, so that
the store keeps nothing of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from twinframe.graph.context.context import GraphContext, GraphRunner
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.models.models import Models
from twinframe.graph.twins.relationships import Relationships
from twinframe.graph.twins.removal import Removal
from twinframe.graph.twins.twins import Twins
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class WriteCases:
    """The use cases that write."""

    twins: Twins
    relationships: Relationships
    models: Models
    removal: Removal


@dataclass(frozen=True, slots=True)
class Observed(Generic[T, S]):
    """The result of a use case, and what was read in its transaction before and after."""

    result: T
    before: S
    after: S


class Observation:
    """Runs a use case that writes and compares the state before and after."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def run(
        self,
        look: Callable[[GraphSession], S],
        act: Callable[[WriteCases], Awaitable[T]],
        *,
        keep: bool,
    ) -> Observed[T, S]:
        """Run `act`, which writes once; without `keep` all of it is rolled back.

        Errors are those of the use case, also in a rehearsal.
        """
        runner = _ObservingRunner(self._context.runner, look, keep=keep)
        # A rehearsal does not advance the write times.
        write_clock = self._context.write_clock if keep else WriteClock(self._context.clock)
        context = replace(
            self._context, runner=cast("GraphRunner", runner), write_clock=write_clock
        )
        cases = WriteCases(
            Twins(context), Relationships(context), Models(context), Removal(context)
        )
        result = await act(cases)
        before, after = runner.seen
        return Observed(result, before, after)


class _TakenBack(Exception):
    """Carries a rehearsal's result out of its transaction."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result


class _ObservingRunner(Generic[S]):
    """The graph's runner, except that it observes writes."""

    def __init__(
        self, runner: GraphRunner, look: Callable[[GraphSession], S], *, keep: bool
    ) -> None:
        self._runner = runner
        self._look = look
        self._keep = keep
        self.seen: tuple[S, S]
        self.read = runner.read
        self.scan = runner.scan
        self.scan_early = runner.scan_early

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run the write function between two reads."""

        def observed(transaction: GraphTransaction) -> T:
            before = self._look(transaction)
            result = function(transaction)
            # NOTE: a write function may run more than once; the last run counts.
            self.seen = before, self._look(transaction)
            if not self._keep:
                raise _TakenBack(result)
            return result

        try:
            return await self._runner.write(observed, alone=alone)
        except _TakenBack as end:
            return cast("T", end.result)
