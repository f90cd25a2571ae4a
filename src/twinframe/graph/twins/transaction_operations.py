"""Parses the operations of a transaction from JSON to commands.

Each operation is an object: `op` names it, and its further members are path, headers and body of
the corresponding single call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from twinframe.errors import InvalidArgument, OperationRefused, TwinframeError
from twinframe.errors.nearest import find_nearest
from twinframe.graph.twins.commands import Command
from twinframe.graph.twins.relationship_commands import (
    parse_delete_relationship,
    parse_patch_relationship,
    parse_put_relationship,
)
from twinframe.graph.twins.twin_commands import (
    parse_delete_twin,
    parse_patch_component,
    parse_patch_twin,
    parse_put_twin,
)
from twinframe.model.values import JsonValue
from twinframe.storage.base import StoredDocument

JsonObject: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Operation:
    """One parsed operation: its name, such as `patchTwin`, and its command."""

    name: str
    command: Command[StoredDocument | None]


class _Members:
    """The members of one operation, by their names in its form."""

    def __init__(self, members: JsonObject, max_operations: int) -> None:
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
    return parse_put_twin(
        read.id("twinId"), read.body("document"), read.tag("ifNoneMatch"), read.tag("ifMatch")
    )


def _parse_patch_twin(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_twin(
        read.id("twinId"),
        read.body("patch"),
        read.tag("ifMatch"),
        max_operations=read.max_operations,
    )


def _parse_delete_twin(read: _Members) -> Command[StoredDocument | None]:
    return parse_delete_twin(read.id("twinId"), read.tag("ifMatch"))


def _parse_patch_component(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_component(
        read.id("twinId"),
        read.id("component"),
        read.body("patch"),
        read.tag("ifMatch"),
        max_operations=read.max_operations,
    )


def _parse_put_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_put_relationship(
        read.id("sourceId"),
        read.id("relationshipId"),
        read.body("document"),
        read.tag("ifNoneMatch"),
        read.tag("ifMatch"),
    )


def _parse_patch_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_patch_relationship(
        read.id("sourceId"),
        read.id("relationshipId"),
        read.body("patch"),
        read.tag("ifMatch"),
        max_operations=read.max_operations,
    )


def _parse_delete_relationship(read: _Members) -> Command[StoredDocument | None]:
    return parse_delete_relationship(
        read.id("sourceId"), read.id("relationshipId"), read.tag("ifMatch")
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


def parse_operation(index: int, element: JsonValue, *, max_operations: int) -> Operation:
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
        return Operation(name, form.parse(_Members(element, max_operations)))
    except TwinframeError as error:
        raise OperationRefused(index, name, error) from error


def _parse_name(element: JsonObject) -> str:
    name = element.get("op")
    if isinstance(name, str) and name in _FORMS:
        return name
    raise InvalidArgument(
        f"op must be one of {', '.join(_FORMS)}{_build_end(name, OPERATION_NAMES)}"
    )


def _check_members(element: JsonObject, form: _Form) -> None:
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
