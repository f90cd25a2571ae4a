"""The use case of transactions: several writes of twins and relationships, all of them or none.

An operation is an object: `op` names it, its further members are path, headers and body of its
single call. None uploads models, whose parsing would keep all other writers waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    OperationRefused,
    StorageError,
    TwinframeError,
)
from twinframe.errors.nearest import find_nearest
from twinframe.graph.context.context import GraphContext
from twinframe.graph.twins.commands import Command
from twinframe.graph.twins.relationships import (
    parse_delete_relationship,
    parse_patch_relationship,
    parse_put_relationship,
)
from twinframe.graph.twins.twins import (
    parse_delete_twin,
    parse_patch_component,
    parse_patch_twin,
    parse_put_twin,
)
from twinframe.model.etags import Condition, parse_condition, parse_put_condition
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings
from twinframe.storage.base import GraphTransaction, StoredDocument

_JsonObject: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Operation:
    """One parsed operation: its name, such as `patchTwin`, and its command."""

    name: str
    command: Command[StoredDocument | None]


class _Members:
    """The members of one operation, by their names in its form."""

    def __init__(self, members: _JsonObject, max_operations: int) -> None:
        self._members = members
        self.max_operations = max_operations

    def id(self, name: str) -> str:
        value = self._members.get(name)
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} is needed, and must be a string.")
        return value

    def tag(self, name: str) -> str | None:
        value = self._members.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidArgument(f"{name} must be a string, or left out.")
        return value

    def condition(self) -> Condition:
        return parse_condition(self.tag("ifMatch"))

    def put_condition(self) -> Condition:
        if_none_match = self.tag("ifNoneMatch")
        return parse_put_condition(self.tag("ifMatch"), if_none_match)

    def body(self, name: str) -> JsonValue:
        if name not in self._members:
            raise InvalidArgument(f"{name} is needed.")
        return self._members[name]


@dataclass(frozen=True, slots=True)
class _Form:
    """An operation's members except `op`, and the function that builds its command."""

    members: tuple[str, ...]
    parse: Callable[[_Members], Command[StoredDocument | None]]


def _parse_put_twin(read: _Members) -> Command[StoredDocument | None]:
    return parse_put_twin(read.id("twinId"), read.body("document"), read.put_condition())


def _parse_patch_twin(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_twin(
        read.id("twinId"),
        read.body("patch"),
        read.condition(),
        max_operations=read.max_operations,
    )


def _parse_delete_twin(read: _Members) -> Command[StoredDocument | None]:
    return parse_delete_twin(read.id("twinId"), read.condition())


def _parse_patch_component(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_component(
        read.id("twinId"),
        read.id("component"),
        read.body("patch"),
        read.condition(),
        max_operations=read.max_operations,
    )


def _parse_put_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_put_relationship(
        read.id("sourceId"),
        read.id("relationshipId"),
        read.body("document"),
        read.put_condition(),
    )


def _parse_patch_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_relationship(
        read.id("sourceId"),
        read.id("relationshipId"),
        read.body("patch"),
        read.condition(),
        max_operations=read.max_operations,
    )


def _parse_delete_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_delete_relationship(
        read.id("sourceId"), read.id("relationshipId"), read.condition()
    )


_EDGE: Final = ("sourceId", "relationshipId")
_FORMS: Final[Mapping[str, _Form]] = MappingProxyType(
    {
        "putTwin": _Form(("twinId", "document", "ifNoneMatch", "ifMatch"), _parse_put_twin),
        "patchTwin": _Form(("twinId", "patch", "ifMatch"), _parse_patch_twin),
        "deleteTwin": _Form(("twinId", "ifMatch"), _parse_delete_twin),
        "patchComponent": _Form(
            ("twinId", "component", "patch", "ifMatch"), _parse_patch_component
        ),
        "putRelationship": _Form(
            (*_EDGE, "document", "ifNoneMatch", "ifMatch"), _parse_put_relationship
        ),
        "patchRelationship": _Form((*_EDGE, "patch", "ifMatch"), _parse_patch_relationship),
        "deleteRelationship": _Form((*_EDGE, "ifMatch"), _parse_delete_relationship),
    }
)

OPERATION_NAMES: Final = tuple(_FORMS)
"""The forms of operations, by their `op`."""


def _parse_operation(index: int, element: JsonValue, *, max_operations: int) -> _Operation:
    """Parse the operation at `index`; a patch of it may have `max_operations`.

    `OperationRefused`.
    """
    name = "?"
    try:
        if not isinstance(element, dict):
            raise InvalidArgument('An operation is a JSON object, such as {"op": "deleteTwin"}.')
        name = _parse_name(element)
        form = _FORMS[name]
        _check_members(element, form)
        return _Operation(name, form.parse(_Members(element, max_operations)))
    except TwinframeError as error:
        raise OperationRefused(index, name, error) from error


def _parse_name(element: _JsonObject) -> str:
    name = element.get("op")
    if isinstance(name, str) and name in _FORMS:
        return name
    raise InvalidArgument(
        f"op must be one of {', '.join(_FORMS)}{_build_end(name, OPERATION_NAMES)}"
    )


def _check_members(element: _JsonObject, form: _Form) -> None:
    for name in element:
        if name != "op" and name not in form.members:
            known = ", ".join(form.members)
            raise InvalidArgument(
                f"It has no member {name[:100]!a}, only {known}{_build_end(name, form.members)}"
            )


def _build_end(name: JsonValue, known: tuple[str, ...]) -> str:
    """Return the end of a sentence: the nearest of the known names, or its full stop."""
    if not isinstance(name, str):
        return "."
    nearest = find_nearest(name, known)
    return f"; did you mean {nearest}?" if nearest else "."


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

    async def parse(self, body: JsonValue) -> Sequence[_Operation]:
        """Parse the operations of `{"operations": [...]}`, without reading the graph.

        Errors: `InvalidArgument`, `LimitExceeded`, `OperationRefused`.
        """
        elements = self._check(body)
        if sum(map(_count_changes, elements)) > _MANY:
            return await asyncio.to_thread(self._parse, elements)
        return self._parse(elements)

    async def run(self, operations: Sequence[_Operation]) -> list[str | None]:
        """Apply the operations in order, each on the result of those before; return the new etags.

        An etag is None for a deleted document. Nothing is changed on any error: `OperationRefused`
        with an operation's error, as in its single call; `StorageError`.
        """
        most = self.limits.max_transaction_bytes
        traced = self._context.join_request()

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

    def _parse(self, elements: Sequence[JsonValue]) -> Sequence[_Operation]:
        most = self._context.settings.graph.max_patch_operations
        return [
            _parse_operation(index, element, max_operations=most)
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
