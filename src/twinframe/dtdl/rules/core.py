"""The tables of classes and properties of DTDL v2, v3 and v4, used by `twinframe.dtdl.elements`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from twinframe.dtdl import dtmi
from twinframe.dtdl.metamodel import (
    AdjunctRule,
    ChainRule,
    ClassRule,
    Kind,
    LanguageRules,
    PropertyRule,
    Vocabulary,
)

COMPLEX_SCHEMAS = frozenset({"Array", "Enum", "Map", "Object"})
CONTENTS = frozenset({"Command", "Component", "Property", "Relationship", "Telemetry"})
COUNTED = (
    *("fields", "enumValues", "request", "response"),
    *("properties", "schema", "elementSchema", "mapValue"),
)
"""Properties whose values count towards the total of an Interface, besides its contents."""
PAYLOADS = frozenset({"CommandPayload", "CommandRequest", "CommandResponse"})
CLASSES = (
    CONTENTS
    | COMPLEX_SCHEMAS
    | PAYLOADS
    | {"EnumValue", "Field", "Interface", "MapKey", "MapValue"}
)
"""The classes of elements, of all versions."""
_PRIMITIVES = "boolean date dateTime double duration float integer long string time"
PRIMITIVES = tuple(_PRIMITIVES.split())
# SPEC: DTDL v4 "Primitive schema": its additions to v3.
_MORE = "byte bytes decimal short unsignedByte unsignedInteger unsignedLong unsignedShort uuid"
MORE_PRIMITIVES = tuple(_MORE.split())
_GEOSPATIAL = "lineString multiLineString multiPoint multiPolygon point polygon"
GEOSPATIAL = tuple(_GEOSPATIAL.split())
SCALED_DECIMAL = "scaledDecimal"
NUMERIC = frozenset({"double", "float", "integer", "long"})
MORE_NUMERIC = NUMERIC | {name for name in MORE_PRIMITIVES if name not in ("bytes", "uuid")}
_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
_ABSTRACT = (
    *("Content", "Entity", "NamedEntity", "Schema", "ComplexSchema", "PrimitiveSchema"),
    *("NumericSchema", "TemporalSchema", "CommandType"),
)
_ABSTRACT_V2 = ("Unit", "UnitAttribute")
_ABSTRACT_V3 = ("CommandPayload", "LatentType", "NamedLatentType", "Unit", "UnitAttribute")
COMMAND_TYPES = ("synchronous", "asynchronous")
ABSTRACT_ADJUNCTS = ("AdjunctType", "QuantitativeType", "SemanticType", "SemanticUnit")
_NAME_TEXT = "a letter, then letters, digits and underscores, not ending in an underscore"


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers in which the versions and their limits differ; None is no bound.

    Lengths are in characters. `parts_min` is how many values an Enum and fields an Object need at
    least; `request` and `response` are the classes of a Command's request and response;
    `extends_chain` counts the Interface itself; `hierarchy_extends` and `hierarchy_elements` bound
    all bases of an Interface and everything that its contents and its bases' lead to.
    """

    version: int
    name_length: int
    display_name_length: int
    description_length: int
    comment_length: int
    contents: int | None
    extends: int | None
    enum_values: int | None
    parts_min: int
    fields: int | None
    relationship_properties: int | None
    max_multiplicity: int | None
    request: str
    response: str
    extends_chain: int
    schema_depth: int
    hierarchy_extends: int | None
    hierarchy_elements: int | None
    primitives: tuple[str, ...] = PRIMITIVES
    objects: Mapping[str, str] = field(default_factory=dict)
    nullable: bool = False
    interface_id_length: int = 128
    id_length: int = dtmi.MAX_LENGTH


def _objects(version: int, *more: str) -> dict[str, str]:
    """Return the predefined object schemas of a version, term to DTMI."""
    objects = {name: f"dtmi:standard:schema:geospatial:{name};{version}" for name in GEOSPATIAL}
    return objects | {name: f"dtmi:standard:schema:{name};{version}" for name in more}


# SPEC: DTDL v2, the property tables of "Interface", "Relationship", "Enum", "Object".
V2 = Figures(
    version=2,
    name_length=64,
    display_name_length=64,
    description_length=512,
    comment_length=512,
    contents=300,
    extends=2,
    enum_values=100,
    parts_min=1,
    fields=30,
    relationship_properties=300,
    max_multiplicity=500,
    request="CommandPayload",
    response="CommandPayload",
    extends_chain=11,
    schema_depth=5,
    hierarchy_extends=None,
    hierarchy_elements=None,
    objects=_objects(2),
)
# SPEC: DTDL v3, the same tables: counts are bounded over a hierarchy instead.
V3 = Figures(
    version=3,
    name_length=512,
    display_name_length=512,
    description_length=512,
    comment_length=512,
    contents=None,
    extends=None,
    enum_values=None,
    parts_min=0,
    fields=None,
    relationship_properties=None,
    max_multiplicity=None,
    request="CommandRequest",
    response="CommandResponse",
    extends_chain=11,
    schema_depth=5,
    hierarchy_extends=1024,
    hierarchy_elements=100_000,
    objects=_objects(3),
)
# SPEC: DTDL v4 with its own limits (`dtmi:dtdl:context;4` means them too).
V4 = replace(
    V3,
    version=4,
    extends_chain=13,
    schema_depth=8,
    primitives=(*PRIMITIVES, *MORE_PRIMITIVES),
    objects=_objects(4, SCALED_DECIMAL),
    nullable=True,
)
# SPEC: the limit contexts for DTDL v4, which replace its own numbers.
LIMITS: dict[str, Figures] = {
    "dtmi:dtdl:limits:onvif;1": replace(
        V4, schema_depth=24, description_length=4096, interface_id_length=256, id_length=512
    ),
    "dtmi:dtdl:limits:aio;1": replace(V4, schema_depth=12, description_length=2048),
}


def build_schema_terms(figures: Figures) -> dict[str, str]:
    """Return every spelling (term and DTMI) of the predefined schemas, mapped to the term."""
    v = figures.version
    terms = {name: name for name in (*figures.primitives, *figures.objects)}
    terms |= {f"dtmi:dtdl:instance:Schema:{name};{v}": name for name in figures.primitives}
    terms |= {identifier: name for name, identifier in figures.objects.items()}
    return terms


def _schema(figures: Figures, only: tuple[str, ...] = ()) -> PropertyRule:
    terms = build_schema_terms(figures)
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
        PropertyRule("comment", Kind.STRING, max_length=figures.comment_length),
        PropertyRule("description", Kind.LANG_STRING, max_length=figures.description_length),
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
_NULLABLE = PropertyRule("nullable", Kind.BOOLEAN)


def _content_table(figures: Figures) -> dict[str, tuple[PropertyRule, ...]]:
    v = figures.version
    named = _named(figures)
    command_types = {name: name for name in COMMAND_TYPES}
    command_types |= {f"dtmi:dtdl:instance:CommandType:{n};{v}": n for n in COMMAND_TYPES}
    nullable = (_NULLABLE,) if figures.nullable else ()
    same_payload = figures.version >= 4
    most = figures.max_multiplicity
    bound = figures.relationship_properties
    return {
        "Interface": (
            *_entity(figures),
            _elements("contents", *CONTENTS, max_count=figures.contents, **_BY_NAME),
            _elements("extends", "Interface", max_count=figures.extends, id_required=True),
            _elements("schemas", *COMPLEX_SCHEMAS, id_required=True, same_version=True),
        ),
        "Telemetry": (*named, _schema(figures)),
        "Property": (*named, _schema(figures), _WRITABLE),
        "Command": (
            *named,
            PropertyRule("commandType", Kind.ELEMENT, terms=command_types),
            replace(_one("request", figures.request, infer=True), same_version=same_payload),
            replace(_one("response", figures.response, infer=True), same_version=same_payload),
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
        figures.request: (*named, _schema(figures), *nullable),
        figures.response: (*named, _schema(figures), *nullable),
    }


def _schema_table(figures: Figures) -> dict[str, tuple[PropertyRule, ...]]:
    entity, named = _entity(figures), _named(figures)
    parts = {
        "required": figures.parts_min > 0,
        "min_count": figures.parts_min,
        "same_version": True,
        "by_name": True,
    }
    unique = ("name", "enumValue")
    return {
        "Array": (*entity, replace(_schema(figures), name="elementSchema")),
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
            replace(_schema(figures, only=("integer", "string")), name="valueSchema"),
        ),
        "EnumValue": (*named, PropertyRule("enumValue", Kind.LITERAL, required=True)),
        "Map": (
            *entity,
            replace(_one("mapKey", "MapKey", required=True, infer=True), same_version=True),
            replace(_one("mapValue", "MapValue", required=True, infer=True), same_version=True),
        ),
        "MapKey": (*named, _schema(figures, only=("string",))),
        "MapValue": (*named, _schema(figures)),
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
        "Field": (*named, _schema(figures)),
    }


def build_abstract_classes(figures: Figures) -> tuple[str, ...]:
    """Return the classes of one version that no element can have."""
    more = _ABSTRACT_V2 if figures.version == 2 else _ABSTRACT_V3
    primitives = (f"{name[0].upper()}{name[1:]}" for name in figures.primitives)
    return (*_ABSTRACT, *more, *primitives)


def build_classes(figures: Figures) -> dict[str, ClassRule]:
    """Return the classes of one version by name."""
    table = _content_table(figures) | _schema_table(figures)
    return {
        name: ClassRule(
            name,
            {rule.name: rule for rule in rules},
            figures.interface_id_length if name == "Interface" else figures.id_length,
        )
        for name, rules in table.items()
    }


def _build_adjuncts(figures: Figures) -> dict[str, AdjunctRule]:
    """Return the types of one version's own context; DTDL v2 has its semantic types instead."""
    if figures.version == 2:
        return {}
    terms = build_schema_terms(figures)
    target = PropertyRule("aliasFor", Kind.ELEMENT, required=True, classes=CLASSES, terms=terms)
    on = CLASSES - {"CommandPayload"}
    versions = frozenset({figures.version})
    return {"Alias": AdjunctRule("Alias", on, {"aliasFor": target}, versions=versions)}


def build_vocabulary(figures: Figures, classes: Mapping[str, ClassRule]) -> Vocabulary:
    """Return every term of one version's own context."""
    v = figures.version
    adjuncts = _build_adjuncts(figures)
    terms = {name: f"dtmi:dtdl:class:{name};{v}" for name in classes}
    terms |= {name: f"dtmi:dtdl:class:{name};{v}" for name in build_abstract_classes(figures)}
    terms |= {name: f"dtmi:dtdl:class:{name};{v}" for name in ABSTRACT_ADJUNCTS}
    for rule in classes.values():
        terms |= {name: f"dtmi:dtdl:property:{name};{v}" for name in rule.properties}
        for prop in rule.properties.values():
            terms |= {name: dtmi_ for dtmi_, name in prop.terms.items() if dtmi_ != name}
    for adjunct in adjuncts.values():
        terms[adjunct.name] = f"dtmi:dtdl:class:{adjunct.name};{v}"
        terms |= {name: f"dtmi:dtdl:property:{name};{v}" for name in adjunct.properties}
    names = {identifier: term for term, identifier in terms.items()}
    return Vocabulary(f"dtmi:dtdl:context;{v}", adjuncts, terms, names)


def build_language(
    figures: Figures,
    *,
    strict: bool,
    schema_cycles: bool = False,
) -> LanguageRules:
    """Return the rules of a version; `strict` applies v3's where the context leaves it open."""
    classes = build_classes(figures)
    schema_steps = frozenset({"elementSchema", "mapValue", "fields", "schema"})
    return LanguageRules(
        version=figures.version,
        core=build_vocabulary(figures, classes),
        classes=classes,
        id_length=figures.id_length,
        id_pattern=dtmi.DOTTED_VERSION if strict else dtmi.SCALAR_VERSION,
        id_text=(
            "'dtmi:', segments separated by ':', and optionally ';' with a version"
            if strict
            else "'dtmi:', segments separated by ':', then ';' and a whole number from 1"
        ),
        strict_keywords=strict,
        undefined_types_tolerated=not strict,
        affiliates_first=not strict,
        extends_chain=ChainRule(
            frozenset({"extends"}),
            frozenset({"Interface"}),
            figures.extends_chain,
            "extends",
            "Narrow",
        ),
        schema_chain=ChainRule(
            schema_steps,
            COMPLEX_SCHEMAS - {"Enum"},
            figures.schema_depth,
            "complex schemas",
            "Wide",
        ),
        array_free_properties=figures.version == 2,
        hierarchy_extends_max=figures.hierarchy_extends,
        hierarchy_elements_max=figures.hierarchy_elements,
        schema_cycles=schema_cycles,
        abstract_classes={name: name for name in build_abstract_classes(figures)},
        limit_contexts=figures.version >= 4,
        solecisms=not strict,
    )
