"""Compares the object model with the parsed elements that a reference case expects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from twinframe.dtdl import Content, Interface, ModelSet, Relationship

# What a case calls it, and our attribute; compared where both have it.
_PLAIN = {
    "name": "name",
    "writable": "writable",
    "minMultiplicity": "min_multiplicity",
    "maxMultiplicity": "max_multiplicity",
    "target": "target",
}
_TEXTS = {"displayName": "display_name", "description": "description"}
_LAST_NAME = re.compile(r"(\w+)(?:;\d+)?$")

Known = Mapping[str, Interface | Content]


def index_elements(models: ModelSet) -> Known:
    """Return interfaces, their contents and the properties of relationships by DTMI."""
    known: dict[str, Interface | Content] = {}
    for interface in models.interfaces.values():
        known[interface.id] = interface
        for content in interface.contents.values():
            known[content.id] = content
            if isinstance(content, Relationship):
                known |= {prop.id: prop for prop in content.properties.values()}
    return known


def list_wrong_elements(case: Mapping[str, Any], models: ModelSet) -> Iterator[str]:
    """Yield where the object model differs from an interface or content the case expects."""
    known = index_elements(models)
    kinds = {"Interface", "Property", "Telemetry", "Command", "Component", "Relationship"}
    for wanted in (case.get("expect") or {}).get("elements") or ():
        if wanted.get("type") not in kinds:
            continue
        found = known.get(wanted["id"])
        if found is None or type(found).__name__ != wanted["type"]:
            yield f"{wanted['id']} is no {wanted['type']}"
        else:
            yield from _compare(wanted, found)


def _compare(wanted: Mapping[str, Any], found: Interface | Content) -> Iterator[str]:
    properties = wanted.get("properties") or {}
    pairs: dict[str, tuple[object, object]] = {}
    for name, attribute in _PLAIN.items():
        if name in properties and hasattr(found, attribute):
            pairs[name] = (getattr(found, attribute), properties[name])
    for name, attribute in _TEXTS.items():
        if isinstance(properties.get(name), dict):
            pairs[name] = (dict(getattr(found, attribute)), properties[name])
    if isinstance(found, Interface):
        if isinstance(properties.get("contents"), dict):
            contents = {name: content.id for name, content in found.contents.items()}
            pairs["contents"] = (contents, properties["contents"])
        if isinstance(properties.get("extends"), list):
            pairs["extends"] = (list(found.extends), properties["extends"])
    elif (types := wanted.get("supplementalTypes")) is not None:
        names = [match[1] for text in types if (match := _LAST_NAME.search(text))]
        pairs["types"] = (list(found.types), names)
    for name, (ours, theirs) in pairs.items():
        if ours != theirs:
            yield f"{wanted['id']}: {name} is {ours!r}, not {theirs!r}"
