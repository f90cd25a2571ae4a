"""The contexts beside the language's own: standard extensions and partner contexts, as data.

A new extension is a table here; what its rows mean is `twinframe.dtdl.adjuncts`.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import GEOSPATIAL
from twinframe.dtdl.rules.quantities import (
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
    {"initialValue": PropertyRule("initialValue", Kind.LITERAL, required=True)},
)
_REQUIRED = AdjunctRule("Required", frozenset({"Property", "Field"}))


_CENTRAL_SCHEMAS = {
    "Event": frozenset(
        {
            "boolean",
            "integer",
            "string",
            "date",
            "dateTime",
            "double",
            "duration",
            "float",
            "long",
            "time",
        }
    ),
    "State": frozenset({"Enum"}),
    "Location": frozenset({"geopoint"}),
    "AccelerationVector": frozenset({"vector"}),
    "VelocityVector": frozenset({"vector"}),
}


_CENTRAL_TYPES = ("geopoint", "vector")


def _central() -> Vocabulary:
    adjuncts = {
        name: AdjunctRule(
            name, _DATA, schemas=schemas, group="semantic type", versions=frozenset({2})
        )
        for name, schemas in _CENTRAL_SCHEMAS.items()
    }
    terms = {name: f"dtmi:iotcentral:class:{name};2" for name in adjuncts}
    terms |= {name: f"dtmi:iotcentral:schema:{name};2" for name in _CENTRAL_TYPES}
    names = {identifier: term for term, identifier in terms.items()}
    schemas = {spelling: name for name in _CENTRAL_TYPES for spelling in (name, terms[name])}
    return Vocabulary(
        "dtmi:iotcentral:context;2",
        adjuncts,
        terms,
        names,
        schemas,
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
        _central(),
    )
}
"""Known contexts by identifier."""

GEOSPATIAL_TERMS = frozenset(GEOSPATIAL)
