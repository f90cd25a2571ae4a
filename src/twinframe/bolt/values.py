"""The values of the query languages as PackStream, and parameters back.

SPEC: «Structure semantics» of Bolt 5, https://neo4j.com/docs/bolt/current/bolt/structure-semantics/.

The element id of a node is its `$dtId`, that of a relationship `source/relationship`, as
`elementId()` returns them. The numeric ids, which Neo4j has deprecated, are digests of these:
equal for equal elements, and of no other use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from twinframe.bolt.packstream import Packer, PackValue, Structure
from twinframe.errors import BadRequest, QueryInvalid
from twinframe.model.temporal.calendar import check_day
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    NANOSECONDS_OF_DAY,
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Time,
    split_instant,
    zone_instant,
)
from twinframe.model.temporal.zones import parse_zone_name
from twinframe.model.values import JsonValue, Node, Path, Relationship, Value

_NODE: Final = 0x4E
_RELATIONSHIP: Final = 0x52
_UNBOUND_RELATIONSHIP: Final = 0x72
_PATH: Final = 0x50
_DATE: Final = 0x44
_TIME: Final = 0x54
_LOCAL_TIME: Final = 0x74
_DATE_TIME: Final = 0x49
_DATE_TIME_IN_ZONE: Final = 0x69
_LOCAL_DATE_TIME: Final = 0x64
_DURATION: Final = 0x45

_NUMBER_BITS: Final = 52
_METADATA: Final = "$metadata"
_CARRIED: Final = ("$sourceId", "$targetId", "$relationshipName")
"""The members of a relationship that its structure has itself."""
_MOST_OFFSET: Final = 18 * 3600


# --- out ----------------------------------------------------------------------------------------


def _build_number(element_id: str) -> int:
    # NOTE: JavaScript has integers of 53 bits, and drivers read this one as such.
    digest = blake2b(element_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _NUMBER_BITS)


@lru_cache(maxsize=4096)
def _order_labels(labels: frozenset[str], model: str) -> list[str]:
    """The model's short name first, since viewers colour by the first; ids of models last."""
    own = model.partition(";")[0].rpartition(":")[2]
    return sorted(labels, key=lambda one: (one != own, ":" in one, one == "Twin", one))


def _read_model(document: Mapping[str, JsonValue]) -> str:
    metadata = document.get(_METADATA)
    model = metadata.get("$model") if isinstance(metadata, dict) else None
    return model if isinstance(model, str) else ""


def _pack_node(buffer: bytearray, node: Node) -> None:
    document = node.document
    _PACKER.pack_head(buffer, _NODE, 4)
    _PACKER.pack(buffer, _build_number(node.id))
    _PACKER.pack(buffer, _order_labels(node.labels, _read_model(document)))
    _PACKER.pack_map(buffer, {key: one for key, one in document.items() if key != _METADATA})
    _PACKER.pack(buffer, node.id)


def _pack_relationship(buffer: bytearray, one: Relationship) -> None:
    ids = one.element_id, one.source, one.target
    _PACKER.pack_head(buffer, _RELATIONSHIP, 8)
    for text in ids:
        _PACKER.pack(buffer, _build_number(text))
    _pack_content(buffer, one)
    for text in ids:
        _PACKER.pack(buffer, text)


def _pack_content(buffer: bytearray, one: Relationship) -> None:
    _PACKER.pack(buffer, one.type)
    properties = {key: value for key, value in one.document.items() if key not in _CARRIED}
    _PACKER.pack_map(buffer, properties)


@dataclass(frozen=True, slots=True)
class _Unbound:
    """A relationship of a path, whose ends are the path's nodes."""

    relationship: Relationship


def _pack_unbound(buffer: bytearray, one: _Unbound) -> None:
    element_id = one.relationship.element_id
    _PACKER.pack_head(buffer, _UNBOUND_RELATIONSHIP, 4)
    _PACKER.pack(buffer, _build_number(element_id))
    _pack_content(buffer, one.relationship)
    _PACKER.pack(buffer, element_id)


def _pack_path(buffer: bytearray, path: Path) -> None:
    """Append distinct nodes, distinct relationships, and how they alternate.

    SPEC: a relationship counts from 1, below 0 against its direction; a node from 0.
    """
    nodes = {node: at for at, node in enumerate(dict.fromkeys(path.nodes))}
    relationships = {one: at for at, one in enumerate(dict.fromkeys(path.relationships), 1)}
    indices: list[int] = []
    for before, one, node in zip(path.nodes, path.relationships, path.nodes[1:], strict=False):
        number = relationships[one]
        indices += [number if one.source == before.id else -number, nodes[node]]
    _PACKER.pack_head(buffer, _PATH, 3)
    _PACKER.pack(buffer, [*nodes])
    _PACKER.pack(buffer, [_Unbound(one) for one in relationships])
    _PACKER.pack(buffer, indices)


def _pack_structure(buffer: bytearray, tag: int, *fields: int | str) -> None:
    _PACKER.pack_head(buffer, tag, len(fields))
    for one in fields:
        _PACKER.pack(buffer, one)


def _pack_date_time(buffer: bytearray, value: DateTime) -> None:
    seconds, nanoseconds = divmod(value.instant, NANOSECONDS)
    if value.zone is None:
        _pack_structure(buffer, _DATE_TIME, seconds, nanoseconds, value.offset)
    else:
        _pack_structure(buffer, _DATE_TIME_IN_ZONE, seconds, nanoseconds, value.zone)


def _pack_local_date_time(buffer: bytearray, value: LocalDateTime) -> None:
    _pack_structure(buffer, _LOCAL_DATE_TIME, *divmod(value.nanoseconds, NANOSECONDS))


def _pack_duration(buffer: bytearray, value: Duration) -> None:
    fields = value.months, value.days, value.seconds, value.nanoseconds
    _pack_structure(buffer, _DURATION, *fields)


_PACKER: Final = Packer(
    {
        Node: _pack_node,
        Relationship: _pack_relationship,
        Path: _pack_path,
        _Unbound: _pack_unbound,
        Date: lambda buffer, value: _pack_structure(buffer, _DATE, value.days),
        LocalTime: lambda buffer, value: _pack_structure(buffer, _LOCAL_TIME, value.nanoseconds),
        Time: lambda buffer, value: _pack_structure(
            buffer, _TIME, value.local.nanoseconds, value.offset
        ),
        DateTime: _pack_date_time,
        LocalDateTime: _pack_local_date_time,
        Duration: _pack_duration,
    }
)


def pack_value(buffer: bytearray, value: object) -> None:
    """Append a value of a query, or a PackStream value with such values in it.

    Raises `Unsupported`.
    """
    _PACKER.pack(buffer, value)


# --- in -----------------------------------------------------------------------------------------


def build_parameters(given: Mapping[str, PackValue]) -> dict[str, Value]:
    """Return the parameters of a message as values. Raises `BadRequest` naming the parameter."""
    found: dict[str, Value] = {}
    for name, value in given.items():
        try:
            found[name] = _build_value(value)
        except (BadRequest, QueryInvalid) as error:
            raise BadRequest(f"The parameter ${name}: {error.message}") from error
    return found


def _build_value(value: PackValue) -> Value:
    match value:
        case list():
            return [_build_value(item) for item in value]
        case Structure():
            return _build_temporal(value)
        case dict():
            return {key: _build_value(item) for key, item in value.items()}
        case bytes():
            raise BadRequest("a byte array is no value of this graph; send text or a list.")
        case float() if not math.isfinite(value):
            raise BadRequest(f"{value} is no number of JSON; send null.")
        case _:
            return value


_FORMS: Final[dict[int, tuple[type, ...]]] = {
    _DATE: (int,),
    _TIME: (int, int),
    _LOCAL_TIME: (int,),
    _DATE_TIME: (int, int, int),
    _DATE_TIME_IN_ZONE: (int, int, str),
    _LOCAL_DATE_TIME: (int, int),
    _DURATION: (int, int, int, int),
}


def _build_temporal(value: Structure) -> Value:
    form = _FORMS.get(value.tag)
    if form is None:
        raise BadRequest(
            f"the structure {value.tag:#04x} is no parameter: dates, times and durations are. "
            "Send an element's id instead of the element; points are not supported."
        )
    if tuple(map(type, value.fields)) != form:
        raise BadRequest(f"the structure {value.tag:#04x} has other fields than it should.")
    fields = value.fields
    match value.tag:
        case 0x44:
            return Date(check_day(fields[0]))
        case 0x54:
            return Time(LocalTime(_check(fields[0], NANOSECONDS_OF_DAY)), _check_offset(fields[1]))
        case 0x74:
            return LocalTime(_check(fields[0], NANOSECONDS_OF_DAY))
        case 0x49:
            instant = fields[0] * NANOSECONDS + _check(fields[1], NANOSECONDS)
            return zone_instant(instant, _check_offset(fields[2]))
        case 0x69:
            instant = fields[0] * NANOSECONDS + _check(fields[1], NANOSECONDS)
            return zone_instant(instant, parse_zone_name(fields[2]))
        case 0x64:
            return split_instant(fields[0] * NANOSECONDS + _check(fields[1], NANOSECONDS))
        case _:
            months, days, seconds, nanoseconds = fields
            return Duration(months, days, seconds, _check(nanoseconds, NANOSECONDS))


def _check(number: int, limit: int) -> int:
    if not 0 <= number < limit:
        raise BadRequest(f"{number} is not between 0 and {limit - 1} nanoseconds.")
    return number


def _check_offset(seconds: int) -> int:
    if abs(seconds) > _MOST_OFFSET:
        raise BadRequest(f"the offset of {seconds} s is not within 18 hours of UTC.")
    return seconds
