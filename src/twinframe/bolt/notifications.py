"""Warnings about a query as clients read them, and which of them a client wants.

SPEC: https://neo4j.com/docs/bolt/current/bolt/message/, `notifications_minimum_severity` and
`notifications_disabled_classifications` (until 5.4 `..._categories`) of HELLO, RUN and BEGIN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from twinframe.bolt.packstream import PackValue
from twinframe.bolt.requests import read_member
from twinframe.errors import BadRequest
from twinframe.graph.queries.names import QueryWarning

_LABEL: Final = "Neo.ClientNotification.Statement.UnknownLabelWarning", "01N50"
_CODES: Final = {
    "UnknownLabel": _LABEL,
    "UnknownModel": _LABEL,
    "UnknownRelationship": (
        "Neo.ClientNotification.Statement.UnknownRelationshipTypeWarning",
        "01N51",
    ),
    "UnknownProperty": ("Neo.ClientNotification.Statement.UnknownPropertyKeyWarning", "01N52"),
}
_SEVERITY: Final = "WARNING"
_CATEGORY: Final = "UNRECOGNIZED"
"""The severity and the category of all warnings that there are."""
_NEVER: Final = "OFF"
_SEVERITIES: Final = (_NEVER, "WARNING", "INFORMATION")
_MINIMUM: Final = "notifications_minimum_severity"
_DISABLED: Final = ("notifications_disabled_classifications", "notifications_disabled_categories")
_NAMES: Final = frozenset((_MINIMUM, *_DISABLED))


class NotificationFilter(NamedTuple):
    """The warnings that a client wants: none below `severity`, and none of the `disabled` ones."""

    severity: str = _SEVERITY
    disabled: tuple[str, ...] = ()

    def select(self, warnings: Sequence[QueryWarning]) -> Sequence[QueryWarning]:
        """Return those that the client wants."""
        is_off = self.severity == _NEVER or _CATEGORY in self.disabled
        return () if is_off else warnings


ALL: Final = NotificationFilter()


def read_filter(
    extra: Mapping[str, PackValue], before: NotificationFilter = ALL
) -> NotificationFilter:
    """Return what a message asks for; what it leaves out is as `before`. Raises `BadRequest`."""
    if _NAMES.isdisjoint(extra):
        return before
    severity = read_member(extra, _MINIMUM, str, before.severity)
    if severity not in _SEVERITIES:
        raise BadRequest(f"{_MINIMUM!r} is one of {', '.join(_SEVERITIES)}.")
    disabled = before.disabled
    for name in _DISABLED:
        found = read_member(extra, name, list, [*disabled])
        if not all(isinstance(one, str) for one in found):
            raise BadRequest(f"{name!r} must be a list of strings.")
        disabled = tuple(found)
    return NotificationFilter(severity, disabled)


def build_position(text: str, line: int, column: int) -> dict[str, object] | None:
    """Return a position in a text, whose characters count from 0; None if there is none."""
    if not line:
        return None
    before = text.split("\n")[: line - 1]
    offset = sum(map(len, before)) + len(before) + column - 1
    return {"offset": offset, "line": line, "column": column}


def build_notification(warning: QueryWarning, text: str) -> dict[str, object]:
    """Return a warning as clients before 5.6 read it."""
    code, _ = _CODES[warning.code]
    shown: dict[str, object] = {
        "code": code,
        "title": warning.code,
        "description": warning.message,
        "severity": _SEVERITY,
        "category": _CATEGORY,
    }
    position = build_position(text, warning.line, warning.column)
    return shown if position is None else {**shown, "position": position}


def build_status(warning: QueryWarning, text: str) -> dict[str, object]:
    """Return a warning as a GQL status, for clients since 5.6."""
    code, status = _CODES[warning.code]
    record: dict[str, object] = {
        "OPERATION": "",
        "OPERATION_CODE": "0",
        "CURRENT_SCHEMA": "/",
        "_classification": _CATEGORY,
        "_severity": _SEVERITY,
        "_status_parameters": {},
    }
    position = build_position(text, warning.line, warning.column)
    return {
        "gql_status": status,
        "status_description": f"warn: {warning.message}",
        "description": warning.message,
        "neo4j_code": code,
        "title": warning.code,
        "diagnostic_record": record if position is None else {**record, "_position": position},
    }
