"""The use case of transactions: several writes of twins and relationships, all of them or none.

They include no uploads of models, whose parsing would keep all other writers waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    OperationRefused,
    StorageError,
    TwinframeError,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.twins.transaction_operations import Operation, parse_operation
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings
from twinframe.storage.base import GraphTransaction

# PERF: an operation, and each change of a patch, takes 3 to 6 us to parse; more than this many are
# parsed in a thread.
_MANY: Final = 200


class Transactions:
    """Applies several operations as one."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    @property
    def limits(self) -> BulkSettings:
        """Return the limits of one transaction."""
        return self._context.settings.bulk

    async def parse(self, body: JsonValue) -> Sequence[Operation]:
        """Parse the operations of `{"operations": [...]}`, each valid by itself, without reading
        the graph.

        Errors: `InvalidArgument`, `LimitExceeded`, `OperationRefused`.
        """
        elements = self._check(body)
        if sum(map(_count_changes, elements)) > _MANY:
            return await asyncio.to_thread(self._parse, elements)
        return self._parse(elements)

    async def run(self, operations: Sequence[Operation]) -> list[str | None]:
        """Apply the operations in order, each on the result of those before; return the new etags.

        An etag is None for a deleted document. Nothing is changed on any error: `OperationRefused`
        with an operation's error, as in its single call; `StorageError`.
        """
        most = self.limits.max_transaction_bytes
        traced = self._context.join_trace()

        def apply(transaction: GraphTransaction) -> list[str | None]:
            context = traced.pin_models(transaction)
            etags: list[str | None] = []
            size = 0
            for index, operation in enumerate(operations):
                try:
                    made = operation.command.apply(context, transaction)
                    if made is not None:
                        size += len(made.body)
                        _check_size(size, most)
                except StorageError:
                    raise
                except TwinframeError as error:
                    raise OperationRefused(index, operation.name, error) from error
                etags.append(None if made is None else made.etag)
            return etags

        etags = await self._context.write(apply)
        self._context.signal.set()
        return etags

    def _check(self, body: JsonValue) -> Sequence[JsonValue]:
        elements = body.get("operations") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(elements, list) or len(body) != 1:
            raise InvalidArgument(
                'A transaction is a JSON object with one member, {"operations": [...]}.'
            )
        most = self.limits.max_operations
        if len(elements) > most:
            raise LimitExceeded(
                f"The transaction has {len(elements)} operations; at most {most} are taken "
                "(Bulk__MaxOperations)."
            )
        return elements

    def _parse(self, elements: Sequence[JsonValue]) -> Sequence[Operation]:
        most = self._context.settings.graph.max_patch_operations
        return [
            parse_operation(index, element, max_operations=most)
            for index, element in enumerate(elements)
        ]


def _count_changes(element: JsonValue) -> int:
    patch = element.get("patch") if isinstance(element, dict) else None
    return 1 + (len(patch) if isinstance(patch, list) else 0)


def _check_size(size: int, most: int) -> None:
    # SEC: many small patches of one large twin would hold the writer lock for long.
    if size > most:
        raise LimitExceeded(
            f"The transaction stores more than {most} bytes of documents "
            "(Bulk__MaxTransactionBytes); divide it."
        )
