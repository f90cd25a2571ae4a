"""The classes and properties of DTDL v2 and v3, as data.

It is the table and no behaviour; `twinframe.dtdl.elements` reads elements by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from twinframe.dtdl import dtmi
from twinframe.dtdl.metamodel import (
    ChainRule,
    ClassRule,
    Kind,
    LanguageRules,
    PropertyRule,
    Vocabulary,
)

COMPLEX_SCHEMAS = frozenset({"Array", "Enum", "Map", "Object"})
CONTENTS = frozenset({"Command", "Component", "Property", "Relationship", "Telemetry"})
_PRIMITIVES = "boolean date dateTime double duration float integer long string time"
PRIMITIVES = tuple(_PRIMITIVES.split())
_GEOSPATIAL = "lineString multiLineString multiPoint multiPolygon point polygon"
GEOSPATIAL = tuple(_GEOSPATIAL.split())
_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
ABSTRACT_CLASSES = (
    *("Content", "Entity", "NamedEntity", "Schema", "ComplexSchema", "PrimitiveSchema"),
    *("NumericSchema", "TemporalSchema", "CommandType"),
    *(f"{name[0].upper()}{name[1:]}" for name in PRIMITIVES),
)
"""Classes of the language that no element can have."""
COMMAND_TYPES = ("synchronous", "asynchronous")
MAX_INTERFACE_ID = 128
ABSTRACT_ADJUNCTS = ("SemanticType", "QuantitativeType", "SemanticUnit")
_NAME_TEXT = "a letter, then letters, digits and underscores, not ending in an underscore"


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers in which the versions differ; None is no bound. Lengths are in characters.

    `parts_min` is how many values an Enum and fields an Object need at least; `request` and
    `response` are the classes of what a Command takes and returns.
    """

    version: int
    name_length: int
    display_name_length: int
    text_length: int
    contents: int | None
    extends: int | None
    enum_values: int | None
    parts_min: int
    fields: int | None
    relationship_properties: int | None
    max_multiplicity: int | None
    request: str
    response: str


# SPEC: DTDL v2 and v3, the property tables of "Interface", "Relationship", "Enum", "Object".
V2 = Figures(2, 64, 64, 512, 300, 2, 100, 1, 30, 300, 500, "CommandPayload", "CommandPayload")
V3 = Figures(
    3, 512, 512, 512, None, None, None, 0, None, None, None, "CommandRequest", "CommandResponse"
)


def build_schema_terms(version: int) -> dict[str, str]:
    """Return every spelling (term and DTMI) of the predefined schemas, mapped to the term."""
    terms = {name: name for name in (*PRIMITIVES, *GEOSPATIAL)}
    terms |= {f"dtmi:dtdl:instance:Schema:{name};{version}": name for name in PRIMITIVES}
    terms |= {f"dtmi:standard:schema:geospatial:{name};{version}": name for name in GEOSPATIAL}
    return terms


def _schema(version: int, only: tuple[str, ...] = ()) -> PropertyRule:
    terms = build_schema_terms(version)
    if only:
        terms = {spelling: name for spelling, name in terms.items() if name in only}
    classes = frozenset() if only else COMPLEX_SCHEMAS
    return PropertyRule("schema", Kind.ELEMENT, required=True, classes=classes, terms=terms)


def _elements(name: str, *classes: str, **rest: object) -> PropertyRule:
    rule = PropertyRule(name, Kind.ELEMENT, classes=frozenset(classes), plural=True)
    return replace(rule, **rest)  # type: ignore[arg-type]  # rest are fields of PropertyRule


def _one(name: str, cls: str, *, required: bool = False, infer: bool = False) -> PropertyRule:
    return PropertyRule(
        name,
        Kind.ELEMENT,
        required=required,
        classes=frozenset({cls}),
        infer=cls if infer else None,
    )


def _entity(figures: Figures) -> tuple[PropertyRule, ...]:
    return (
        PropertyRule("comment", Kind.STRING, max_length=figures.text_length),
        PropertyRule("description", Kind.LANG_STRING, max_length=figures.text_length),
        PropertyRule("displayName", Kind.LANG_STRING, max_length=figures.display_name_length),
    )


def _named(figures: Figures) -> tuple[PropertyRule, ...]:
    name = PropertyRule(
        "name",
        Kind.STRING,
        required=True,
        max_length=figures.name_length,
        pattern=_NAME,
        pattern_text=_NAME_TEXT,
    )
    return (*_entity(figures), name)


_BY_NAME = {"unique": ("name",), "by_name": True}
_WRITABLE = PropertyRule("writable", Kind.BOOLEAN)


def _content_table(figures: Figures) -> dict[str, tuple[PropertyRule, ...]]:
    v = figures.version
    named = _named(figures)
    command_types = {name: name for name in COMMAND_TYPES}
    command_types |= {f"dtmi:dtdl:instance:CommandType:{n};{v}": n for n in COMMAND_TYPES}
    most = figures.max_multiplicity
    bound = figures.relationship_properties
    return {
        "Interface": (
            *_entity(figures),
            _elements("contents", *CONTENTS, max_count=figures.contents, **_BY_NAME),
            _elements("extends", "Interface", max_count=figures.extends, id_required=True),
            _elements("schemas", *COMPLEX_SCHEMAS, id_required=True, same_version=True),
        ),
        "Telemetry": (*named, _schema(v)),
        "Property": (*named, _schema(v), _WRITABLE),
        "Command": (
            *named,
            PropertyRule("commandType", Kind.ELEMENT, terms=command_types),
            _one("request", figures.request, infer=True),
            _one("response", figures.response, infer=True),
        ),
        "Component": (
            *named,
            replace(_one("schema", "Interface", required=True), id_required=True),
        ),
        "Relationship": (
            *named,
            PropertyRule("maxMultiplicity", Kind.INTEGER, minimum=1, maximum=most),
            PropertyRule("minMultiplicity", Kind.INTEGER, exact=0),
            _elements("properties", "Property", max_count=bound, **_BY_NAME),
            PropertyRule("target", Kind.IDENTIFIER),
            _WRITABLE,
        ),
        figures.request: (*named, _schema(v)),
        figures.response: (*named, _schema(v)),
    }


def _schema_table(figures: Figures) -> dict[str, tuple[PropertyRule, ...]]:
    v = figures.version
    entity, named = _entity(figures), _named(figures)
    parts = {
        "required": figures.parts_min > 0,
        "min_count": figures.parts_min,
        "same_version": True,
        "by_name": True,
    }
    unique = ("name", "enumValue")
    return {
        "Array": (*entity, replace(_schema(v), name="elementSchema")),
        "Enum": (
            *entity,
            _elements(
                "enumValues",
                "EnumValue",
                infer="EnumValue",
                max_count=figures.enum_values,
                unique=unique,
                **parts,
            ),
            replace(_schema(v, only=("integer", "string")), name="valueSchema"),
        ),
        "EnumValue": (*named, PropertyRule("enumValue", Kind.LITERAL, required=True)),
        "Map": (
            *entity,
            replace(_one("mapKey", "MapKey", required=True, infer=True), same_version=True),
            replace(_one("mapValue", "MapValue", required=True, infer=True), same_version=True),
        ),
        "MapKey": (*named, _schema(v, only=("string",))),
        "MapValue": (*named, _schema(v)),
        "Object": (
            *entity,
            _elements(
                "fields",
                "Field",
                infer="Field",
                max_count=figures.fields,
                unique=("name",),
                **parts,
            ),
        ),
        "Field": (*named, _schema(v)),
    }


def build_classes(figures: Figures) -> dict[str, ClassRule]:
    """Return the classes of one version by name."""
    table = _content_table(figures) | _schema_table(figures)
    return {
        name: ClassRule(
            name,
            {rule.name: rule for rule in rules},
            MAX_INTERFACE_ID if name == "Interface" else dtmi.MAX_LENGTH,
        )
        for name, rules in table.items()
    }


def build_vocabulary(figures: Figures, classes: Mapping[str, ClassRule]) -> Vocabulary:
    """Return every term of one version's own context."""
    v = figures.version
    terms = {name: f"dtmi:dtdl:class:{name};{v}" for name in classes}
    terms |= {name: f"dtmi:dtdl:class:{name};{v}" for name in ABSTRACT_CLASSES}
    terms |= {name: f"dtmi:dtdl:class:{name};{v}" for name in ABSTRACT_ADJUNCTS}
    for rule in classes.values():
        terms |= {name: f"dtmi:dtdl:property:{name};{v}" for name in rule.properties}
        for prop in rule.properties.values():
            terms |= {name: dtmi_ for dtmi_, name in prop.terms.items() if dtmi_ != name}
    names = {identifier: term for term, identifier in terms.items()}
    return Vocabulary(f"dtmi:dtdl:context;{v}", {}, terms, names)


def build_language(
    figures: Figures,
    *,
    vocabulary: Vocabulary | None = None,
    strict: bool,
    schema_cycles: bool = False,
) -> LanguageRules:
    """Return the rules of one version; `strict` is v3's way with what the context leaves open."""
    classes = build_classes(figures)
    schema_steps = frozenset({"elementSchema", "mapValue", "fields", "schema"})
    return LanguageRules(
        version=figures.version,
        core=vocabulary or build_vocabulary(figures, classes),
        classes=classes,
        id_pattern=dtmi.DOTTED_VERSION if strict else dtmi.SCALAR_VERSION,
        id_text=(
            "'dtmi:', segments separated by ':', and optionally ';' with a version"
            if strict
            else "'dtmi:', segments separated by ':', then ';' and a whole number from 1"
        ),
        strict_keywords=strict,
        undefined_types_tolerated=not strict,
        local_contexts=False,
        affiliates_first=not strict,
        extends_chain=ChainRule(
            frozenset({"extends"}), frozenset({"Interface"}), 11, "extends", "Narrow"
        ),
        schema_chain=ChainRule(
            schema_steps, COMPLEX_SCHEMAS - {"Enum"}, 5, "complex schemas", "Wide"
        ),
        array_free_properties=figures.version == 2,
        geospatial_arrays=figures.version == 2,
        hierarchy_extends_max=1024 if strict else None,
        hierarchy_contents_max=100_000 if strict else None,
        schema_cycles=schema_cycles,
    )
