"""The protocol of write commands: parsed values that are applied in a transaction.

A command is built from its input alone, before the transaction, and raises the errors in it. It is
applied in a transaction of any caller, alone or with others.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from twinframe.graph.context.context import GraphContext
from twinframe.storage.base import GraphTransaction, StoredDocument

T_co = TypeVar("T_co", covariant=True)


class Command(Protocol[T_co]):
    """One write, parsed; a frozen value, so it may be applied more than once.

    Law: a command refuses before its first effect. A caller that applies several in one transaction
    may continue after a refusal, though not after a `StorageError`.
    """

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> T_co:
        """Check the command against the state of the transaction, and write."""


async def run_command(context: GraphContext, command: Command[T_co]) -> T_co:
    """Apply one command in a transaction of its own; return its result once that is committed."""
    traced = context.join_request()
    result = await context.write(lambda transaction: command.apply(traced, transaction))
    context.signal.set()
    return result


async def run_patch(context: GraphContext, command: Command[StoredDocument]) -> str:
    """Apply a command of whose result only the etag is wanted.

    NOTE: its body may be a thousand times as large as the request, and a batch of writes keeps the
    results of all until it is committed.
    """
    traced = context.join_request()
    etag = await context.write(lambda found: command.apply(traced, found).etag)
    context.signal.set()
    return etag
