"""What a write of the graph is: a parsed command that is applied in a transaction. It runs none.

A command is made before its turn comes, from input alone, and raises what is wrong with that. It
is applied in a transaction of anybody's making, alone or beside others.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from twinframe.graph.context import GraphContext
from twinframe.storage.base import GraphTransaction, StoredDocument

T_co = TypeVar("T_co", covariant=True)


class Command(Protocol[T_co]):
    """One write, parsed; a frozen value, so it may be applied more than once.

    Law: what a command refuses it refuses before its first effect. Whoever applies several in one
    transaction may go on behind a refusal, though not behind a `StorageError`.
    """

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> T_co:
        """Judge the command by what the transaction sees, and write."""


async def run_command(context: GraphContext, command: Command[T_co]) -> T_co:
    """Apply one command in a work of its own; its result once that is committed."""
    traced = context.join_trace()
    result = await context.write(lambda transaction: command.apply(traced, transaction))
    context.signal.set()
    return result


async def run_patch(context: GraphContext, command: Command[StoredDocument]) -> str:
    """Apply a command of whose result the etag is wanted alone.

    NOTE: its body may be a thousand times as large as what asked for it, and a batch of writes
    keeps what all of them give until it is committed.
    """
    traced = context.join_trace()
    etag = await context.write(lambda found: command.apply(traced, found).etag)
    context.signal.set()
    return etag
