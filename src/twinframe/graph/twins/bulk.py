"""The use cases of bulk writes: many twins or relationships in one call, each with its own result.

They are not transactions: a refused item does not affect the others. Items are written in their
order, a bounded group of them a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    MemoryExhausted,
    MemoryLimitExceeded,
    QuotaExceeded,
    StorageError,
    TwinframeError,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import ID as RELATIONSHIP_ID
from twinframe.graph.documents.relationships import SOURCE
from twinframe.graph.documents.twins import ID as TWIN_ID
from twinframe.graph.twins.commands import Command, run_command
from twinframe.graph.twins.relationships import parse_put_relationship
from twinframe.graph.twins.twins import parse_put_twin
from twinframe.model.etags import UNCONDITIONED, Condition
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings
from twinframe.storage.base import GraphTransaction, StoredDocument

T = TypeVar("T")

_OF_THE_GROUP: Final = (StorageError, MemoryExhausted, MemoryLimitExceeded)
"""Errors that an item may get halfway, after which none of its group is kept."""
_GROUP_BYTES: Final = 4 * 1024 * 1024
"""Bytes of documents after which a group is committed, since a store may keep all in memory."""

Put: TypeAlias = Command[StoredDocument]
Made: TypeAlias = StoredDocument | TwinframeError
"""The result of one item: the stored document, or why nothing was changed."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item. `key`: the ids that name it, None where the item has none.

    `etag` is that of the stored document, None with an `error`.
    """

    key: tuple[str | None, ...]
    etag: str | None
    error: TwinframeError | None


class Bulk:
    """Creates or replaces many twins or relationships."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    @property
    def limits(self) -> BulkSettings:
        """Return the limits of one call."""
        return self._context.settings.bulk

    async def put_twins(
        self, documents: JsonValue, condition: Condition = UNCONDITIONED
    ) -> list[ItemResult]:
        """Create or replace twins, each named by its `$dtId`; the condition counts for each.

        Errors of the call: `InvalidArgument`, `LimitExceeded`, and `StorageError` when nothing
        could be stored; errors of an item are those of `Twins.put_twin`.
        """

        def parse(document: dict[str, JsonValue]) -> Put:
            twin_id = _read_id(document, TWIN_ID)
            return parse_put_twin(twin_id, document, condition)

        return await self._put(self._check(documents, "twins"), (TWIN_ID,), parse)

    async def put_relationships(
        self, documents: JsonValue, condition: Condition = UNCONDITIONED
    ) -> list[ItemResult]:
        """Create or replace relationships, each named by `$sourceId` and `$relationshipId`.

        The condition counts for each.

        Errors of the call: `InvalidArgument`, `LimitExceeded`, and `StorageError` when nothing
        could be stored; errors of an item are those of `Relationships.put_relationship`.
        """

        def parse(document: dict[str, JsonValue]) -> Put:
            source_id = _read_id(document, SOURCE)
            relationship_id = _read_id(document, RELATIONSHIP_ID)
            return parse_put_relationship(source_id, relationship_id, document, condition)

        items = self._check(documents, "relationships")
        return await self._put(items, (SOURCE, RELATIONSHIP_ID), parse)

    def _check(self, documents: JsonValue, what: str) -> Sequence[JsonValue]:
        if not isinstance(documents, list):
            raise InvalidArgument(f"Payload is invalid: the body must be an array of {what}.")
        most = self.limits.max_items
        if len(documents) > most:
            raise LimitExceeded(
                f"The request has {len(documents)} {what}; at most {most} are taken at once "
                "(Bulk__MaxItems)."
            )
        return documents

    async def _put(
        self,
        documents: Sequence[JsonValue],
        names: tuple[str, ...],
        parse: Callable[[dict[str, JsonValue]], Put],
    ) -> list[ItemResult]:
        made: list[Made] = []
        for group in _split(documents, self.limits.group_items):
            try:
                commands = [_parse(document, parse) for document in group]
                while commands:
                    stored = await self._put_group(commands)
                    made += stored
                    del commands[: len(stored)]
            except (*_OF_THE_GROUP, QuotaExceeded) as error:
                if not made:
                    raise
                # What was stored before must be reported, and the rest would fail as well.
                made += [error] * (len(documents) - len(made))
                break
        return [
            _build_result(_read_key(document, names), one)
            for document, one in zip(documents, made, strict=True)
        ]

    async def _put_group(self, group: Sequence[Put | TwinframeError]) -> list[Made]:
        traced = self._context.join_request()

        def apply(transaction: GraphTransaction) -> list[Made]:
            context = traced.pin_models(transaction)
            made: list[Made] = []
            size = 0
            for command in group:
                made.append(one := _apply(context, transaction, command))
                size += len(one.body) if isinstance(one, StoredDocument) else 0
                if size >= _GROUP_BYTES:
                    break
            return made

        try:
            made = await self._context.write(apply)
        except QuotaExceeded as error:
            if error.retry_after is not None:  # a rate: asking again would only make it worse
                raise
            # The group as a whole is too much; some of it may not be.
            return [await self._put_alone(command) for command in group]
        self._context.signal.set()
        return made

    async def _put_alone(self, command: Put | TwinframeError) -> Made:
        if isinstance(command, TwinframeError):
            return command
        try:
            return await run_command(self._context, command)
        except StorageError:
            raise
        except TwinframeError as error:
            return error


def _split(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _parse(
    document: JsonValue, parse: Callable[[dict[str, JsonValue]], Put]
) -> Put | TwinframeError:
    if not isinstance(document, dict):
        return InvalidArgument("Payload is invalid. An item is a JSON object.")
    try:
        return parse(document)
    except TwinframeError as error:
        return error


def _apply(
    context: GraphContext, transaction: GraphTransaction, command: Put | TwinframeError
) -> Made:
    if isinstance(command, TwinframeError):
        return command
    try:
        return command.apply(context, transaction)
    except _OF_THE_GROUP:
        raise
    except TwinframeError as error:  # it has changed nothing, as commands promise
        return error


def _read_id(document: dict[str, JsonValue], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise InvalidArgument(f"The item needs its {name}, a string: it has no URL of its own.")
    return value


def _read_key(document: JsonValue, names: tuple[str, ...]) -> tuple[str | None, ...]:
    members = document if isinstance(document, dict) else {}
    values = (members.get(name) for name in names)
    return tuple(value if isinstance(value, str) else None for value in values)


def _build_result(key: tuple[str | None, ...], made: Made) -> ItemResult:
    if isinstance(made, TwinframeError):
        return ItemResult(key, None, made)
    return ItemResult(key, made.etag, None)
