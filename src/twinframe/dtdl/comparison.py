"""Compares two versions of a set of models: lists the changes, and which break existing twins.

It considers twins, relationships and components that conform to the old models; it does not read
stored data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from twinframe.dtdl.dtmi import parse_version, parse_versionless
from twinframe.dtdl.findings import render_value
from twinframe.dtdl.interfaces import (
    Command,
    Component,
    Content,
    Interface,
    ModelSet,
    Property,
    Relationship,
    Telemetry,
)
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


class Effect(Enum):
    """The effect of a change: on twins stored under the old models, on programs, or on neither."""

    BREAKING = "breaking"
    CAUTION = "caution"
    COMPATIBLE = "compatible"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: the interface's old DTMI (the new one where it is new), the position in it,
    the change.

    `content` is a content's name, with a path below it where the change is inside; or empty.
    """

    effect: Effect
    interface: str
    content: str
    message: str


def compare_models(old: ModelSet, new: ModelSet) -> list[Change]:
    """Return every change from `old` to `new`, the worst first, else in the order of models.

    An interface is compared with the one of the same DTMI or, where there is none, with the highest
    version of the same path. A change in a base or in the interface of a component is reported for
    that interface only, not again where it is inherited or used.
    """
    matches = _match(old.interfaces, new.interfaces)
    comparison = _Comparison(old.interfaces, new.interfaces, matches)
    changes: list[Change] = []
    for identifier, follower in matches.items():
        changes += comparison.compare(identifier, follower)
    followers = set(matches.values())
    for identifier in new.interfaces:
        if identifier not in followers:
            text = "the interface is new"
            changes.append(Change(Effect.COMPATIBLE, identifier, "", text))
    worst_first = list(Effect)
    return sorted(changes, key=lambda change: worst_first.index(change.effect))


def _match(old: Mapping[str, Interface], new: Mapping[str, Interface]) -> dict[str, str | None]:
    """Return for every old DTMI the new one to compare it with, or None."""
    latest: dict[str, str] = {}
    for identifier in sorted(new, key=_sort_key):
        latest[parse_versionless(identifier)] = identifier
    return {
        identifier: identifier if identifier in new else latest.get(parse_versionless(identifier))
        for identifier in old
    }


def _sort_key(identifier: str) -> tuple[int, ...]:
    return tuple(int(part) for part in parse_version(identifier).split(".") if part)


@dataclass(slots=True)
class _Comparison:
    """Compares interface by interface; components are compared once a pair."""

    old: Mapping[str, Interface]
    new: Mapping[str, Interface]
    matches: Mapping[str, str | None]
    open_pairs: set[tuple[str, str]] = field(default_factory=set)

    def compare(self, identifier: str, follower: str | None) -> Iterator[Change]:
        """Yield the changes of one interface."""
        if follower is None:
            yield Change(Effect.BREAKING, identifier, "", "the interface is gone")
            return
        before, after = self.old[identifier], self.new[follower]
        yield from self._compare_bases(before, after)
        kept = {self.matches[base] for base in before.ancestors if base in self.matches}
        kept &= set(after.ancestors)
        shared = {base for base in before.ancestors if self.matches.get(base) in kept}
        old = {n: c for n, c in before.contents.items() if c.declared_by not in shared}
        new = {n: c for n, c in after.contents.items() if c.declared_by not in kept}
        for name in old.keys() ^ new.keys():
            # NOTE: a content that moved to or from a base is the same content.
            if name in before.contents and name in after.contents:
                old[name], new[name] = before.contents[name], after.contents[name]
        for content, effect, text in self._compare_contents(old, new):
            yield Change(effect, identifier, content, text)

    def _compare_bases(self, before: Interface, after: Interface) -> Iterator[Change]:
        paths = {parse_versionless(base): base for base in before.ancestors}
        kept = {parse_versionless(base) for base in after.ancestors}
        for path, base in paths.items():
            if path not in kept:
                text = f"does not extend {base} any more: its twins are no longer of that model, "
                text += "and relationships that target it refuse them"
                yield Change(Effect.BREAKING, before.id, "", text)
        for base in after.ancestors:
            if parse_versionless(base) not in paths:
                yield Change(Effect.COMPATIBLE, before.id, "", f"extends {base} now")

    def _compare_contents(
        self, before: Mapping[str, Content], after: Mapping[str, Content]
    ) -> Iterator[tuple[str, Effect, str]]:
        for name, content in before.items():
            follower = after.get(name)
            if follower is None:
                text = f"the {type(content).__name__} is gone"
                yield name, _judge_loss(content), text
            else:
                for path, effect, text in self._compare_content(content, follower):
                    yield f"{name}{path}", effect, text
        for name, content in after.items():
            if name not in before:
                text = f"the {type(content).__name__} is new"
                if isinstance(content, Component):
                    text += "; every twin must have it, at least as an empty object"
                    yield name, Effect.BREAKING, text
                else:
                    yield name, Effect.COMPATIBLE, text

    def _compare_content(self, old: Content, new: Content) -> Iterator[tuple[str, Effect, str]]:
        match old, new:
            case Property(), Property():
                yield from _compare_property(old, new)
            case Telemetry(), Telemetry():
                for narrowing in _list_narrowings(old.schema, new.schema):
                    yield narrowing.path, Effect.CAUTION, f"{narrowing.text}, for publishers"
                yield from _compare_meaning(old, new)
            case Relationship(), Relationship():
                yield from self._compare_relationship(old, new)
            case Component(), Component():
                yield from self._compare_component(old, new)
            case Command(), Command():
                if (old.request, old.response) != (new.request, new.response):
                    yield "", Effect.CAUTION, "request or response changed, for callers"
            case _:
                kinds = f"was a {type(old).__name__} and is a {type(new).__name__}"
                yield "", Effect.BREAKING, kinds

    def _compare_relationship(
        self, old: Relationship, new: Relationship
    ) -> Iterator[tuple[str, Effect, str]]:
        if new.target is not None and old.target != new.target and not self._covers(old, new):
            text = f"its target was {old.target or 'any twin'} and is {new.target}"
            yield "", Effect.BREAKING, text
        most = new.max_multiplicity
        if most is not None and (old.max_multiplicity is None or old.max_multiplicity > most):
            was = "unbounded" if old.max_multiplicity is None else old.max_multiplicity
            yield "", Effect.BREAKING, f"its maxMultiplicity was {was} and is {most}"
        for name, effect, text in self._compare_contents(old.properties, new.properties):
            yield f"/{name}", effect, text

    def _covers(self, old: Relationship, new: Relationship) -> bool:
        """Whether the new target accepts every twin that the old target accepts."""
        if old.target is None or new.target is None:
            return new.target is None
        if parse_versionless(old.target) == parse_versionless(new.target):
            return True
        interface = self.new.get(old.target) or self.old.get(old.target)
        return interface is not None and new.target in interface.ancestors

    def _compare_component(
        self, old: Component, new: Component
    ) -> Iterator[tuple[str, Effect, str]]:
        before, after = self.old.get(old.schema), self.new.get(new.schema)
        pair = (old.schema, new.schema)
        if self.matches.get(old.schema) == new.schema:
            return
        if before is None or after is None or pair in self.open_pairs:
            return
        self.open_pairs.add(pair)
        for name, effect, text in self._compare_contents(before.contents, after.contents):
            yield f"/{name}", effect, text
        self.open_pairs.discard(pair)


def _judge_loss(content: Content) -> Effect:
    """Return the effect of removing a content on stored twins."""
    stored = isinstance(content, Property | Relationship | Component)
    return Effect.BREAKING if stored else Effect.CAUTION


def _compare_property(old: Property, new: Property) -> Iterator[tuple[str, Effect, str]]:
    narrowings = list(_list_narrowings(old.schema, new.schema))
    for narrowing in narrowings:
        yield narrowing.path, Effect.BREAKING, narrowing.text
    if not narrowings and list(_list_narrowings(new.schema, old.schema)):
        yield "", Effect.COMPATIBLE, "its schema takes more values"
    if "Required" in new.types and "Required" not in old.types:
        yield "", Effect.BREAKING, "it is required now"
    if old.writable and not new.writable:
        yield "", Effect.CAUTION, "is not writable any more"
    yield from _compare_meaning(old, new)


def _compare_meaning(
    old: Property | Telemetry, new: Property | Telemetry
) -> Iterator[tuple[str, Effect, str]]:
    if old.unit != new.unit:
        text = f"its unit was {old.unit or 'none'} and is {new.unit or 'none'}: the same number "
        yield "", Effect.CAUTION, f"{text}means something else"


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
class _Narrowing:
    """A path inside a value, and the values that are no longer accepted there."""

    path: str
    text: str


def _list_narrowings(old: Schema, new: Schema, path: str = "") -> Iterator[_Narrowing]:
    """Yield where `new` refuses a value that `old` accepts; nothing if it accepts them all."""
    yield from _list(old, new, path, set())


def _list(old: Schema, new: Schema, path: str, seen: set[tuple[int, int]]) -> Iterator[_Narrowing]:
    old, new = _resolve(old), _resolve(new)
    if (id(old), id(new)) in seen or isinstance(new, OpenSchema):
        return
    seen.add((id(old), id(new)))
    match old, new:
        case GeospatialSchema(), GeospatialSchema():
            if old.name != new.name:
                yield _Narrowing(path, f"{old.name} became {new.name}")
        case GeospatialSchema(), _:
            yield from _list(build_geometry(old), new, path, seen)
        case _, GeospatialSchema():
            yield from _list(old, build_geometry(new), path, seen)
        case PrimitiveSchema(), PrimitiveSchema():
            if new.name != old.name and new.name not in _WIDER.get(old.name, ()):
                yield _Narrowing(path, f"{old.name} became {new.name}")
        case EnumSchema(), _:
            yield from _list_enum(old, new, path)
        case _:
            yield from _list_parts(old, new, path, seen)


def _list_parts(
    old: Schema, new: Schema, path: str, seen: set[tuple[int, int]]
) -> Iterator[_Narrowing]:
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
                yield _Narrowing(path, f"arrays have at least {new.least} items now")
            yield from _list(old.element, new.element, f"{path}/*", seen)
        case _:
            yield _Narrowing(path, f"{render_type(old)} became {render_type(new)}")


def _resolve(schema: Schema) -> Schema:
    return schema.target if isinstance(schema, SchemaReference) else schema


def _list_enum(old: EnumSchema, new: Schema, path: str) -> Iterator[_Narrowing]:
    if isinstance(new, EnumSchema):
        for value in old.values:
            if new.value_type != old.value_type or value not in new.values:
                yield _Narrowing(path, f"the enum value {render_value(value)} is gone")
        return
    test = compile_test(new)
    refused = next((value for value in old.values if not test(value)), None)
    if refused is not None:
        text = f"{render_type(new)} does not take the enum value {render_value(refused)}"
        yield _Narrowing(path, text)


def _list_object(
    old: ObjectSchema, new: ObjectSchema, path: str, seen: set[tuple[int, int]]
) -> Iterator[_Narrowing]:
    for name, schema in old.fields.items():
        if name not in new.fields:
            yield _Narrowing(f"{path}/{name}", "the field is gone")
        else:
            yield from _list(schema, new.fields[name], f"{path}/{name}", seen)
    for name in sorted(new.required - old.required):
        yield _Narrowing(f"{path}/{name}", "the field is required now")
