"""Checks JSON values against schemas: by a compiled test, and by listing mismatches when it fails.

`twinframe.dtdl.validation` checks twins and their contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import assert_never

from twinframe.dtdl.findings import render_nearest, render_value
from twinframe.dtdl.scalars import PRIMITIVE_TESTS, Test
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

MAX_VALUE_DEPTH = 100
"""How deep arrays and objects may be nested where the schema sets no bound."""

# SPEC: GeoJSON geometries as DTDL predefines them: the fewest items of each level of arrays around
# a number, from the outermost. RFC 7946, 3.1: a position has two numbers or more, a line two
# positions or more, a ring of a polygon four or more.
_GEOMETRY_LEVELS = {
    "point": (2,),
    "multiPoint": (0, 2),
    "lineString": (2, 2),
    "multiLineString": (0, 2, 2),
    "polygon": (0, 4, 2),
    "multiPolygon": (0, 0, 4, 2),
}


@cache
def build_geometry(schema: GeospatialSchema) -> ObjectSchema:
    """Return the object schema of a predefined geometry."""
    title = f"{schema.name[0].upper()}{schema.name[1:]}"
    coordinates: Schema = PrimitiveSchema("double")
    for least in reversed(_GEOMETRY_LEVELS[schema.name]):
        coordinates = ArraySchema("", coordinates, least)
    kind = EnumSchema("", "string", MappingProxyType({title: title}))
    return ObjectSchema("", MappingProxyType({"type": kind, "coordinates": coordinates}))


def compile_test(schema: Schema, *, required: bool = False) -> Test:
    """Return the test of a schema as a closure; `required` enforces required fields.

    Values of a schema that contains itself conform up to `MAX_VALUE_DEPTH`. PERF: nested closures
    over prepared dicts; a scalar costs one call, 60 to 200 ns.
    """
    test = _compile(schema, {}, required=required)
    if not is_recursive(schema):
        return test
    return lambda value: measure_depth(value) <= MAX_VALUE_DEPTH and test(value)


def is_recursive(schema: Schema) -> bool:
    """Return whether a schema contains itself somewhere, so that its values have no bound."""
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, SchemaReference):
            return True
        if id(item) not in seen:
            seen.add(id(item))
            waiting += _list_parts(item)
    return False


def _list_parts(schema: Schema) -> Iterable[Schema]:
    match schema:
        case ObjectSchema():
            return schema.fields.values()
        case MapSchema():
            return (schema.value,)
        case ArraySchema():
            return (schema.element,)
        case _:
            return ()


def measure_depth(value: object) -> int:
    """Return the nesting depth of arrays and objects, counted to `MAX_VALUE_DEPTH` + 1."""
    level = [value]
    depth = 0
    while level and depth <= MAX_VALUE_DEPTH:
        following: list[object] = []
        for item in level:
            if isinstance(item, dict):
                following += item.values()
            elif isinstance(item, list):
                following += item
        level = following
        depth += 1
    return depth


_Tests = dict[int, Test]


def _compile(schema: Schema, known: _Tests, *, required: bool) -> Test:
    # NOTE: fields may share schemas level by level; without `known` the work would be their
    # product.
    test = known.get(id(schema))
    if test is None:
        test = known[id(schema)] = _compile_kind(schema, known, required=required)
    return test


def _compile_kind(schema: Schema, known: _Tests, *, required: bool) -> Test:
    match schema:
        case PrimitiveSchema():
            return PRIMITIVE_TESTS[schema.name].test
        case GeospatialSchema():
            return _compile(build_geometry(schema), {}, required=required)
        case EnumSchema():
            return _compile_enum(schema)
        case ObjectSchema():
            return _compile_object(schema, known, required=required)
        case MapSchema():
            return _compile_map(schema, known, required=required)
        case ArraySchema():
            return _compile_array(schema, known, required=required)
        case OpenSchema():
            return lambda value: value is not None
        case SchemaReference():
            return _compile_reference(schema, required=required)
        case _:
            assert_never(schema)


def _compile_enum(schema: EnumSchema) -> Test:
    # PERF: a separate set for each derived interface would take 4 KB an interface of an ontology.
    allowed = schema.values
    kind = str if schema.value_type == "string" else int

    def test(value: object) -> bool:
        # NOTE: the type is compared first, because True == 1 and 1.0 == 1 in Python.
        return type(value) is kind and value in allowed

    return test


def _compile_object(schema: ObjectSchema, known: _Tests, *, required: bool) -> Test:
    fields = {
        name: _compile(field, known, required=required) for name, field in schema.fields.items()
    }
    wanted = schema.required if required else frozenset()

    def test(value: object) -> bool:
        if type(value) is not dict:
            return False
        for name, item in value.items():
            field = fields.get(name)
            if field is None or not field(item):
                return False
        return not wanted or wanted <= value.keys()

    return test


def _compile_map(schema: MapSchema, known: _Tests, *, required: bool) -> Test:
    item = _compile(schema.value, known, required=required)

    def test(value: object) -> bool:
        return type(value) is dict and all(map(item, value.values()))

    return test


def _compile_array(schema: ArraySchema, known: _Tests, *, required: bool) -> Test:
    item = _compile(schema.element, known, required=required)
    least = schema.least

    def test(value: object) -> bool:
        return type(value) is list and len(value) >= least and all(map(item, value))

    return test


def _compile_reference(schema: SchemaReference, *, required: bool) -> Test:
    tests = schema.cell.tests

    def test(value: object) -> bool:
        target = tests.get(required)
        if target is None:
            target = tests[required] = _compile(schema.target, {}, required=required)
        return target(value)

    return test


# --- explanations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A mismatch of a value: the path inside it, the value there, and what is valid."""

    path: str
    value: object
    right: str


def render_type(schema: Schema) -> str:
    """Return the DTDL term of a schema, as error texts use it."""
    match schema:
        case PrimitiveSchema() | GeospatialSchema() | OpenSchema():
            return schema.name or "any"
        case EnumSchema():
            return "enum"
        case ObjectSchema():
            return "object"
        case MapSchema():
            return "map"
        case ArraySchema():
            return "array"
        case SchemaReference():
            return render_type(schema.target)
        case _:
            assert_never(schema)


def list_mismatches(
    schema: Schema, value: object, path: str = "", *, required: bool = False
) -> Iterator[Mismatch]:
    """Yield every mismatch between `value` and `schema`; nothing if it conforms.

    `path` is a JSON pointer below the property; `required` enforces required fields.
    """
    if is_recursive(schema) and measure_depth(value) > MAX_VALUE_DEPTH:
        yield Mismatch(path, value, f"nested at most {MAX_VALUE_DEPTH} deep")
        return
    yield from _list(schema, value, path, required)


def _list(schema: Schema, value: object, path: str, required: bool) -> Iterator[Mismatch]:
    match schema:
        case PrimitiveSchema():
            primitive = PRIMITIVE_TESTS[schema.name]
            if not primitive.test(value):
                yield Mismatch(path, value, primitive.right)
        case GeospatialSchema():
            yield from _list(build_geometry(schema), value, path, required)
        case EnumSchema():
            if not _compile_enum(schema)(value):
                yield Mismatch(path, value, _render_enum(schema, value))
        case ObjectSchema():
            yield from _list_object(schema, value, path, required)
        case MapSchema():
            yield from _list_map(schema, value, path, required)
        case ArraySchema():
            yield from _list_array(schema, value, path, required)
        case OpenSchema():
            if value is None:
                yield Mismatch(path, value, "any value but null")
        case SchemaReference():
            yield from _list(schema.target, value, path, required)
        case _:
            assert_never(schema)


def _list_map(schema: MapSchema, value: object, path: str, required: bool) -> Iterator[Mismatch]:
    if not isinstance(value, dict):
        yield Mismatch(path, value, "an object from keys to values")
        return
    for key, item in value.items():
        yield from _list(schema.value, item, _below(path, key), required)


def _list_array(
    schema: ArraySchema, value: object, path: str, required: bool
) -> Iterator[Mismatch]:
    if not isinstance(value, list):
        yield Mismatch(path, value, "an array")
        return
    if len(value) < schema.least:
        yield Mismatch(path, value, f"an array of at least {schema.least} items")
    for position, item in enumerate(value):
        yield from _list(schema.element, item, _below(path, position), required)


def _list_object(
    schema: ObjectSchema, value: object, path: str, required: bool
) -> Iterator[Mismatch]:
    if not isinstance(value, dict):
        yield Mismatch(path, value, f"an object with {_render_names(schema.fields)}")
        return
    for name, item in value.items():
        field = schema.fields.get(name)
        if field is None:
            near = render_nearest(name, schema.fields)
            yield Mismatch(
                _below(path, name), item, f"one of {_render_names(schema.fields)}.{near}".strip()
            )
        else:
            yield from _list(field, item, _below(path, name), required)
    if required:
        for name in sorted(schema.required - value.keys()):
            yield Mismatch(path, value, f"an object with the required field '{name}'")


def _render_enum(schema: EnumSchema, value: object) -> str:
    shown = ", ".join(render_value(item) for item in list(schema.values)[:20])
    if len(schema.values) > 20:
        shown += ", ..."
    texts = (str(item) for item in schema.values)
    return f"one of {shown}.{render_nearest(value, texts)}".removesuffix(".")


def _render_names(names: Mapping[str, object]) -> str:
    shown = ", ".join(f"'{name}'" for name in list(names)[:20])
    return f"{shown}, ..." if len(names) > 20 else shown or "no members"


def _below(path: str, step: object) -> str:
    return f"{path}/{str(step).replace('~', '~0').replace('/', '~1')}"
