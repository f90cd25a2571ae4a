"""Compares two schemas: whether one accepts every value that the other accepts, and where it does
not.

`twinframe.dtdl.comparison` derives the effect on twins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twinframe.dtdl.findings import render_value
from twinframe.dtdl.schemas import (
    ArraySchema,
    EnumSchema,
    GeospatialSchema,
    MapSchema,
    ObjectSchema,
    OpenSchema,
    PrimitiveSchema,
    Schema,
    SchemaReference,
)
from twinframe.dtdl.values import build_geometry, compile_test, render_type

_SIGNED = ("byte", "short", "integer", "long")
_UNSIGNED = ("unsignedByte", "unsignedShort", "unsignedInteger", "unsignedLong")
_TEXTS = ("bytes", "date", "dateTime", "decimal", "duration", "time", "uuid")


def _build_wider() -> dict[str, frozenset[str]]:
    """Return for every scalar those that accept all its values, itself included.

    Whole numbers are JSON numbers without fraction, so `double` and `float` accept them.
    """
    wider = {name: {name, "string"} for name in _TEXTS}
    wider["float"] = {"float", "double"}
    for position, name in enumerate(_SIGNED):
        wider[name] = {*_SIGNED[position:], "float", "double"}
    for position, name in enumerate(_UNSIGNED):
        wider[name] = {*_UNSIGNED[position:], *_SIGNED[position + 1 :], "float", "double"}
    return {name: frozenset(others) for name, others in wider.items()}


_WIDER = _build_wider()


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A path inside a value, and the values that are no longer accepted there."""

    path: str
    text: str


def list_narrowings(old: Schema, new: Schema, path: str = "") -> Iterator[Narrowing]:
    """Yield where `new` refuses a value that `old` accepts; nothing if it accepts them all."""
    yield from _list(old, new, path, set())


def _list(old: Schema, new: Schema, path: str, seen: set[tuple[int, int]]) -> Iterator[Narrowing]:
    old, new = _resolve(old), _resolve(new)
    if (id(old), id(new)) in seen or isinstance(new, OpenSchema):
        return
    seen.add((id(old), id(new)))
    match old, new:
        case GeospatialSchema(), GeospatialSchema():
            if old.name != new.name:
                yield Narrowing(path, f"{old.name} became {new.name}")
        case GeospatialSchema(), _:
            yield from _list(build_geometry(old), new, path, seen)
        case _, GeospatialSchema():
            yield from _list(old, build_geometry(new), path, seen)
        case PrimitiveSchema(), PrimitiveSchema():
            if new.name != old.name and new.name not in _WIDER.get(old.name, ()):
                yield Narrowing(path, f"{old.name} became {new.name}")
        case EnumSchema(), _:
            yield from _list_enum(old, new, path)
        case _:
            yield from _list_parts(old, new, path, seen)


def _list_parts(
    old: Schema, new: Schema, path: str, seen: set[tuple[int, int]]
) -> Iterator[Narrowing]:
    match old, new:
        case ObjectSchema(), ObjectSchema():
            yield from _list_object(old, new, path, seen)
        case ObjectSchema(), MapSchema():
            for name, field in old.fields.items():
                yield from _list(field, new.value, f"{path}/{name}", seen)
        case MapSchema(), MapSchema():
            yield from _list(old.value, new.value, f"{path}/*", seen)
        case ArraySchema(), ArraySchema():
            if new.least > old.least:
                yield Narrowing(path, f"arrays have at least {new.least} items now")
            yield from _list(old.element, new.element, f"{path}/*", seen)
        case _:
            yield Narrowing(path, f"{render_type(old)} became {render_type(new)}")


def _resolve(schema: Schema) -> Schema:
    return schema.target if isinstance(schema, SchemaReference) else schema


def _list_enum(old: EnumSchema, new: Schema, path: str) -> Iterator[Narrowing]:
    if isinstance(new, EnumSchema):
        for value in old.values:
            if new.value_type != old.value_type or value not in new.values:
                yield Narrowing(path, f"the enum value {render_value(value)} is gone")
        return
    test = compile_test(new)
    refused = next((value for value in old.values if not test(value)), None)
    if refused is not None:
        text = f"{render_type(new)} does not take the enum value {render_value(refused)}"
        yield Narrowing(path, text)


def _list_object(
    old: ObjectSchema, new: ObjectSchema, path: str, seen: set[tuple[int, int]]
) -> Iterator[Narrowing]:
    for name, field in old.fields.items():
        if name not in new.fields:
            yield Narrowing(f"{path}/{name}", "the field is gone")
        else:
            yield from _list(field, new.fields[name], f"{path}/{name}", seen)
    for name in sorted(new.required - old.required):
        yield Narrowing(f"{path}/{name}", "the field is required now")
