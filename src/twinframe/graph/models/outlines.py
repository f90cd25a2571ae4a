"""Outlines of the stored models for display: interfaces, contents, inheritance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from twinframe.dtdl.outline import ContentOutline, Element, ModelOutline, read_elements, read_list
from twinframe.graph.context.model_cache import read_documents
from twinframe.graph.documents.derivations import read_derivations
from twinframe.model.ids import build_model_name
from twinframe.storage.base import GraphSession

_MOST_MEMBERS: Final = 8


@dataclass(frozen=True, slots=True)
class PropertyOutline:
    """A property: `schema` as short text (`double`, `enum(a|b)`, `{x: double}`), unit or empty."""

    name: str
    schema: str
    unit: str = ""

    def __str__(self) -> str:
        """Render it for display: `temperature double degreeCelsius`."""
        return f"{self.name} {self.schema}{self.unit and ' ' + self.unit}"


@dataclass(frozen=True, slots=True)
class RelationshipOutline:
    """A relationship that twins may have: `target` is a model id, None for any twin."""

    name: str
    target: str | None
    properties: tuple[PropertyOutline, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentOutline:
    """A component and its interface."""

    name: str
    interface: str


@dataclass(frozen=True, slots=True)
class InterfaceOutline:
    """An interface with its own contents; a `decommissioned` one takes no new twins.

    `derived` are the properties that the service computes for its twins by a derivation of it.
    """

    model_id: str
    display_name: str = ""
    description: str = ""
    extends: tuple[str, ...] = ()
    properties: tuple[PropertyOutline, ...] = ()
    relationships: tuple[RelationshipOutline, ...] = ()
    components: tuple[ComponentOutline, ...] = ()
    telemetry: tuple[str, ...] = ()
    decommissioned: bool = False
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlines:
    """All interfaces under one schema version, by id in the order of upload."""

    version: int
    interfaces: Mapping[str, InterfaceOutline]
    _names: Mapping[str, int] = field(default_factory=dict)

    def list_ancestors(self, model_id: str) -> tuple[str, ...]:
        """List the interface itself and all that it extends, nearest first, each once."""
        found = dict.fromkeys([model_id])
        waiting = [model_id]
        while waiting:
            outline = self.interfaces.get(waiting.pop(0))
            for base in outline.extends if outline else ():
                if base not in found:
                    found[base] = None
                    waiting.append(base)
        return tuple(found)

    def render_label(self, model_id: str) -> str:
        """Return the shortest label that means this interface alone: name, or quoted id."""
        name = build_model_name(model_id)
        return name if self._names.get(name, 0) <= 1 else f"`{model_id}`"

    def list_contents(self, model_id: str) -> Iterator[tuple[InterfaceOutline, bool]]:
        """Yield the outlines of the interface and its ancestors; the bool says «its own»."""
        for each in self.list_ancestors(model_id):
            if (outline := self.interfaces.get(each)) is not None:
                yield outline, each == model_id


def read_outlines(session: GraphSession) -> Outlines:
    """The outlines of all models stored now."""
    version, found = session.read_schema_version(), dict[str, InterfaceOutline]()
    derived = defaultdict[str, list[str]](list)
    for derivation in read_derivations(session):
        derived[derivation.model].append(derivation.property_name)
    for record, outline in read_documents(session):
        built = _build_outline(outline, decommissioned=record.decommissioned)
        found[record.model_id] = replace(built, derived=tuple(derived[record.model_id]))
    return Outlines(version, found, Counter(map(build_model_name, found)))


def _build_outline(model: ModelOutline, *, decommissioned: bool) -> InterfaceOutline:
    """NOTE: no interface is nested within another: an upload with one is refused."""
    schemas, document = model.schemas, model.document
    kinds = defaultdict[str, list[ContentOutline]](list)
    for content in model.contents:
        kinds[content.kind].append(content)
    return InterfaceOutline(
        str(document["@id"]),
        _read_text(document.get("displayName")),
        _read_text(document.get("description")),
        tuple(model.bases),
        tuple(_build_property(each, schemas) for each in kinds["Property"]),
        tuple(_build_relationship(each, schemas) for each in kinds["Relationship"]),
        tuple(ComponentOutline(each.name, str(each.schema)) for each in kinds["Component"]),
        tuple(each.name for each in kinds["Telemetry"]),
        decommissioned,
    )


def _build_property(content: ContentOutline, schemas: Mapping[str, Element]) -> PropertyOutline:
    unit = content.element.get("unit")
    return PropertyOutline(
        content.name,
        render_schema(content.schema, schemas),
        build_model_name(unit) if isinstance(unit, str) and ":" in unit else str(unit or ""),
    )


def _build_relationship(
    content: ContentOutline, schemas: Mapping[str, Element]
) -> RelationshipOutline:
    target = content.element.get("target")
    return RelationshipOutline(
        content.name,
        target if isinstance(target, str) else None,
        tuple(_build_property(each, schemas) for each in content.properties),
    )


def render_schema(
    schema: object, schemas: Mapping[str, Element] | None = None, depth: int = 2
) -> str:
    """Render a DTDL schema as short text; `schemas` has named ones, others show their name."""
    if isinstance(schema, str):
        named = (schemas or {}).get(schema)
        return build_model_name(schema) if named is None else render_schema(named, schemas, depth)
    if not isinstance(schema, dict):
        return "any"
    kinds = read_list(schema.get("@type"))
    if "Enum" in kinds:
        values = [str(each.get("enumValue")) for each in read_elements(schema.get("enumValues"))]
        return f"enum({_join(values, '|')})"
    if "Array" in kinds:
        return f"[{render_schema(schema.get('elementSchema'), schemas, depth)}]"
    if "Map" in kinds:
        value = schema.get("mapValue")
        inner = value.get("schema") if isinstance(value, dict) else None
        return f"map({render_schema(inner, schemas, depth)})"
    if "Object" in kinds:
        return "object" if depth == 0 else _render_object(schema, schemas, depth - 1)
    return "any"


def _render_object(schema: Element, schemas: Mapping[str, Element] | None, depth: int) -> str:
    fields = read_elements(schema.get("fields"))
    shown = [f"{f.get('name')}: {render_schema(f.get('schema'), schemas, depth)}" for f in fields]
    return f"{{{_join(shown, ', ')}}}"


def _join(parts: list[str], mark: str) -> str:
    more = [] if len(parts) <= _MOST_MEMBERS else ["…"]
    return mark.join([*parts[:_MOST_MEMBERS], *more])


def _read_text(value: object) -> str:
    """Return a text; of a map of languages the English one, else the first."""
    if isinstance(value, dict):
        value = value.get("en", next(iter(value.values()), ""))
    return value if isinstance(value, str) else ""
