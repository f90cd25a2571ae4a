"""The contexts beside the language's own: standard extensions and partner contexts, as data.

A new extension is a table here; what its rows mean is `twinframe.dtdl.adjuncts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import GEOSPATIAL, PRIMITIVES
from twinframe.dtdl.rules.quantities import (
    ALIASES,
    MORE_SEMANTIC_TYPES,
    MORE_UNITS,
    SEMANTIC_TYPES,
    UNITS,
    build_units,
)

NUMERIC = frozenset({"double", "float", "integer", "long"})
_DATA = frozenset({"Property", "Telemetry"})
_NAMED = frozenset({"CommandRequest", "CommandResponse", "Field", "MapValue"}) | _DATA
_V3 = frozenset({3})


def build_quantities(
    context: str,
    version: int,
    types: dict[str, str],
    units: dict[str, tuple[str, ...]],
    forms: tuple[str, str, str],
    on: frozenset[str],
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Vocabulary:
    """Return semantic types with their units; `forms` spell the DTMIs of type, property, unit."""
    type_form, property_form, unit_form = forms
    terms = {name: type_form.format(name) for name in (*types, *units)}
    terms |= {unit: unit_form.format(unit) for values in units.values() for unit in values}
    terms["unit"] = property_form.format("unit")
    adjuncts = {}
    for name, unit_type in types.items():
        values = {unit: unit for unit in units[unit_type]}
        values |= {terms[unit]: unit for unit in units[unit_type]}
        unit_rule = PropertyRule(
            "unit", Kind.ELEMENT, required=True, terms=values, value_type=unit_type
        )
        adjuncts[name] = AdjunctRule(
            name,
            on,
            {"unit": unit_rule},
            schemas=NUMERIC,
            group="semantic type",
            versions=frozenset({version}),
        )
    names = {identifier: term for term, identifier in terms.items()}
    schemas = {name: name for name in units} | {terms[name]: name for name in units}
    schemas |= aliases
    terms |= {alias: type_form.format(alias) for alias in aliases}
    return Vocabulary(context, adjuncts, terms, names, schemas, units)


STANDARD_V2 = build_quantities(
    "dtmi:dtdl:context;2",
    2,
    SEMANTIC_TYPES,
    build_units(UNITS),
    ("dtmi:standard:class:{};2", "dtmi:dtdl:property:{};2", "dtmi:standard:unit:{};2"),
    _DATA,
)
"""The semantic types that DTDL v2 has built in."""

_QUANTITATIVE = "dtmi:dtdl:extension:quantitativeTypes"
QUANTITATIVE_V1 = build_quantities(
    f"{_QUANTITATIVE};1",
    3,
    SEMANTIC_TYPES | MORE_SEMANTIC_TYPES,
    build_units(UNITS, MORE_UNITS),
    (
        f"{_QUANTITATIVE}:v1:class:{{}}",
        f"{_QUANTITATIVE}:v1:property:{{}}",
        f"{_QUANTITATIVE}:v1:unit:{{}}",
    ),
    _NAMED,
    ALIASES,
)


def _extension(name: str, version: int, *rules: AdjunctRule) -> Vocabulary:
    root = f"dtmi:dtdl:extension:{name}:v{version}"
    terms = {rule.name: f"{root}:class:{rule.name}" for rule in rules}
    for rule in rules:
        terms |= {name: f"{root}:property:{name}" for name in rule.properties}
    names = {identifier: term for term, identifier in terms.items()}
    return Vocabulary(
        f"dtmi:dtdl:extension:{name};{version}",
        {rule.name: replace(rule, versions=_V3) for rule in rules},
        terms,
        names,
    )


_ANNOTATES = PropertyRule("annotates", Kind.STRING, required=True)
_HISTORIZED = AdjunctRule("Historized", _DATA)
_ANNOTATION = AdjunctRule(
    "ValueAnnotation",
    _DATA,
    {"annotates": _ANNOTATES},
    sibling="annotates",
    sibling_classes=_DATA,
)
_OVERRIDE = AdjunctRule(
    "Override",
    frozenset({"Property"}),
    {"overrides": PropertyRule("overrides", Kind.STRING, required=True)},
    needs=frozenset({"ValueAnnotation"}),
    overrides="overrides",
)
_INITIALIZED = AdjunctRule(
    "Initialized",
    frozenset({"Property"}),
    {"initialValue": PropertyRule("initialValue", Kind.ANY, required=True)},
)
_REQUIRED = AdjunctRule("Required", frozenset({"Field"}))


# SPEC: the IoT Central extension of DTDL v2: semantic types, what schema they need, their units.
_CENTRAL: dict[str, tuple[frozenset[str], str | None]] = {
    "Event": (frozenset(PRIMITIVES) - {"boolean"}, None),
    "State": (frozenset({"Enum"}), None),
    "Location": (frozenset({"geopoint", *GEOSPATIAL}), None),
    "AccelerationVector": (frozenset({"vector"}), "AccelerationUnit"),
    "VelocityVector": (frozenset({"vector"}), "VelocityUnit"),
}
_CENTRAL_TYPES = ("geopoint", "vector")


def _build_central() -> Vocabulary:
    terms = {name: f"dtmi:iotcentral:class:{name};2" for name in _CENTRAL}
    terms |= {name: f"dtmi:iotcentral:schema:{name};2" for name in _CENTRAL_TYPES}
    terms["unit"] = STANDARD_V2.terms["unit"]
    adjuncts = {}
    for name, (schemas, unit_type) in _CENTRAL.items():
        spellings: dict[str, str] = {}
        for unit in STANDARD_V2.enums.get(unit_type or "", ()):
            spellings |= {unit: unit, STANDARD_V2.terms[unit]: unit}
        unit_rule = PropertyRule("unit", Kind.ELEMENT, terms=spellings, value_type=unit_type or "")
        adjuncts[name] = AdjunctRule(
            name,
            _DATA,
            {"unit": unit_rule} if unit_type else {},
            schemas=schemas,
            group="semantic type",
            versions=frozenset({2}),
        )
    return Vocabulary(
        "dtmi:iotcentral:context;2",
        adjuncts,
        terms,
        {identifier: term for term, identifier in terms.items()},
        {spelling: name for name in _CENTRAL_TYPES for spelling in (name, terms[name])},
        reserved_prefix="dtmi:iotcentral:",
    )


EXTENSIONS: dict[str, Vocabulary] = {
    vocabulary.context: vocabulary
    for vocabulary in (
        QUANTITATIVE_V1,
        _extension("historization", 1, _HISTORIZED),
        _extension("historization", 2, _HISTORIZED),
        _extension("annotation", 1, _ANNOTATION),
        _extension("annotation", 2, _ANNOTATION),
        _extension("overriding", 1, _OVERRIDE),
        _extension("overriding", 2, _OVERRIDE),
        _extension("initialization", 1, _INITIALIZED),
        _extension("requirement", 1, _REQUIRED),
        _extension("requirement", 2, _REQUIRED),
        _build_central(),
    )
}
"""Known contexts by identifier."""
