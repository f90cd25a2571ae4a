"""The tables of the standard extensions, which `twinframe.dtdl.adjuncts` applies.

A new extension is a table here or in a module next to this one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import COMPLEX_SCHEMAS, GEOSPATIAL, MORE_NUMERIC, NUMERIC
from twinframe.dtdl.rules.quantities import ALIASES, QUANTITATIVE, QUANTITATIVE_V3, V2, Table
from twinframe.dtdl.rules.vocabulary import (
    FROM_V3,
    Forms,
    build_feature,
    build_partner,
    build_quantities,
    build_unit_parts,
)

# --- IoT Central --------------------------------------------------------------------------------

# SPEC: the IoT Central extension of DTDL v2: semantic types, their schemas, their units.
_CENTRAL: dict[str, tuple[frozenset[str], str | None]] = {
    "Event": (NUMERIC | {"string"}, None),
    "State": (frozenset({"Enum"}), None),
    "Location": (frozenset({"geopoint", *GEOSPATIAL}), None),
    "AccelerationVector": (frozenset({"vector"}), "AccelerationUnit"),
    "VelocityVector": (frozenset({"vector"}), "VelocityUnit"),
}
_CENTRAL_TYPES = ("geopoint", "vector")


def _build_central(standard: Vocabulary) -> Vocabulary:
    """Return the IoT Central context; the units are those of `standard`."""
    rules = []
    for name, (schemas, unit_type) in _CENTRAL.items():
        spellings: dict[str, str] = {}
        for unit in standard.enums.get(unit_type or "", ()):
            spellings |= {unit: unit, standard.terms[unit]: unit}
        unit_rule = PropertyRule("unit", Kind.ELEMENT, terms=spellings, value_type=unit_type or "")
        rules.append(
            AdjunctRule(
                name,
                frozenset({"Property", "Telemetry"}),
                {"unit": unit_rule} if unit_type else {},
                schemas=schemas,
            )
        )
    vocabulary = build_partner("iotcentral", 2, *rules, leads=True)
    terms = dict(vocabulary.terms)
    terms |= {name: f"dtmi:iotcentral:schema:{name};2" for name in _CENTRAL_TYPES}
    terms["unit"] = standard.terms["unit"]
    return replace(
        vocabulary,
        terms=terms,
        names={identifier: term for term, identifier in terms.items()},
        schemas={spelling: name for name in _CENTRAL_TYPES for spelling in (name, terms[name])},
    )


# --- IoT Operations -----------------------------------------------------------------------------

_VALUES = frozenset(
    {"CommandRequest", "CommandResponse", "Field", "MapValue", "Property", "Telemetry"}
)
_QUALIFIED = frozenset({"Command", "Component", "Field", "Property", "Relationship", "Telemetry"})
_TYPES = COMPLEX_SCHEMAS | {"Interface"}
_INTERFACE = frozenset({"Interface"})
_RELATIONSHIP = frozenset({"Relationship"})
_TEXT_LENGTH = 128
_MEMBERS = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
_MEMBERS_TEXT = "a letter, then letters, digits and underscores, not ending in an underscore"


def _text(name: str) -> dict[str, PropertyRule]:
    return {name: PropertyRule(name, Kind.STRING, required=True, max_length=_TEXT_LENGTH)}


def _number(name: str, *, required: bool = False) -> PropertyRule:
    return PropertyRule(name, Kind.NUMERIC, required=required, conforms=True)


_DECIMAL_PLACES = PropertyRule("decimalPlaces", Kind.INTEGER, required=True)
_GROUP_NAME = PropertyRule(
    "group",
    Kind.STRING,
    required=True,
    max_length=_TEXT_LENGTH,
    pattern=_MEMBERS,
    pattern_text=_MEMBERS_TEXT,
)

# SPEC: the IoT Operations extension of DTDL v4.
_OPERATIONS = (
    AdjunctRule("Composite", _INTERFACE, _text("ontology"), excludes=frozenset({"Event"})),
    AdjunctRule("Event", _INTERFACE),
    AdjunctRule("Congruence", _TYPES, _text("typeRef")),
    AdjunctRule("Qualified", _QUALIFIED, _text("namespace")),
    AdjunctRule("HasComponent", _RELATIONSHIP),
    AdjunctRule("HasCapability", _RELATIONSHIP, excludes=frozenset({"HasComponent"})),
    AdjunctRule("Detail", frozenset({"Object"})),
    AdjunctRule("Subject", frozenset({"Field"}), parents=frozenset({"Detail"}), once=True),
    AdjunctRule(
        "Limited",
        _VALUES,
        {"minimum": _number("minimum"), "maximum": _number("maximum")},
        schemas=MORE_NUMERIC,
    ),
    AdjunctRule("Precise", _VALUES, {"decimalPlaces": _DECIMAL_PLACES}, schemas=MORE_NUMERIC),
    AdjunctRule(
        "ScaledStatically",
        _VALUES,
        {"scaleFactor": _number("scaleFactor", required=True)},
        schemas=MORE_NUMERIC,
    ),
    AdjunctRule("GroupMember", frozenset({"Command"}), {"group": _GROUP_NAME}),
)


def _build_operations() -> Vocabulary:
    """Return the IoT Operations context."""
    return build_partner("iotoperations", 4, *_OPERATIONS)


_CHARACTERS = "!$-*,-.0-z|~"
_FIRST = f"[{_CHARACTERS.replace('$', '%')}][{_CHARACTERS}]*"
_REPLACED = r"\{(?:[A-Za-z]+:)?[A-Za-z]+\}"
_TOPIC = re.compile(rf"(?:{_FIRST}|{_REPLACED})(?:/(?:[{_CHARACTERS}]+|{_REPLACED}))*")
_TOPIC_TEXT = (
    "an MQTT topic: levels separated by '/', each a label or a token of letters such as "
    "'{modelId}' or '{ex:modelId}', the first without a leading '$'"
)
_GROUP = re.compile(f"[{_CHARACTERS}]+")
_GROUP_TEXT = "one level of an MQTT topic: printable, without '/', '+', '#', '{' and '}'"


def _topic(name: str) -> PropertyRule:
    return PropertyRule(name, Kind.STRING, pattern=_TOPIC, pattern_text=_TOPIC_TEXT)


def _group(name: str) -> PropertyRule:
    return PropertyRule(name, Kind.STRING, pattern=_GROUP, pattern_text=_GROUP_TEXT)


def _mqtt(*rules: PropertyRule) -> AdjunctRule:
    rules = (PropertyRule("payloadFormat", Kind.STRING, required=True), *rules)
    return AdjunctRule("Mqtt", frozenset({"Interface"}), {rule.name: rule for rule in rules})


_TOPICS = (_topic("telemetryTopic"), _topic("commandTopic"))
_GROUPS = (_group("telemServiceGroupId"), _group("cmdServiceGroupId"))
_COMMAND = frozenset({"Command"})
_FIELD = frozenset({"Field"})
_OBJECT = frozenset({"Object"})
_ERROR = frozenset({"Error"})
_REQUIRED = frozenset({"Required"})
_RESULT = frozenset({"Result"})
_RESULT_OR_ERROR = frozenset({"Result", "Error"})
_PROPERTY_RESULT = frozenset({"PropertyResult"})
_TTL = PropertyRule("ttl", Kind.DURATION, required=True)
_INDEX = PropertyRule("index", Kind.INTEGER, required=True, differs=True, minimum=1)
_INDEXED = AdjunctRule("Indexed", frozenset({"EnumValue", "Field", "Telemetry"}), {"index": _INDEX})

_CALLS = (
    AdjunctRule("Idempotent", _COMMAND),
    AdjunctRule("Cacheable", _COMMAND, {"ttl": _TTL}, needs=frozenset({"Idempotent"})),
)
_BASE = (
    *_CALLS,
    AdjunctRule("Transparent", frozenset({"CommandRequest", "CommandResponse"}), schemas=_OBJECT),
)
_ERRORS = (
    AdjunctRule("Error", _OBJECT),
    AdjunctRule("ErrorMessage", _FIELD, parents=_ERROR, once=True, schemas=frozenset({"string"})),
)
_NORMAL_RESULT = AdjunctRule("NormalResult", _FIELD, parents=_RESULT, once=True)
_ERROR_RESULT = AdjunctRule("ErrorResult", _FIELD, parents=_RESULT, once=True)
_PROPERTY_ERROR = AdjunctRule(
    "",
    _FIELD,
    parents=_PROPERTY_RESULT,
    once=True,
    excludes=_REQUIRED,
    schema_types=_ERROR,
)
_DETAILED = (
    replace(_NORMAL_RESULT, excludes=_REQUIRED),
    replace(_ERROR_RESULT, excludes=_REQUIRED, schema_types=_ERROR),
    AdjunctRule(
        "Result",
        _OBJECT,
        children=(
            "fields",
            frozenset({"NormalResult", "ErrorResult", "ErrorCode", "ErrorInfo"}),
        ),
    ),
    AdjunctRule(
        "ErrorCode", _FIELD, parents=_RESULT_OR_ERROR, once=True, schemas=frozenset({"Enum"})
    ),
    AdjunctRule(
        "ErrorInfo",
        _FIELD,
        parents=_RESULT_OR_ERROR,
        once=True,
        schemas=_OBJECT,
        siblings=frozenset({"ErrorCode"}),
    ),
    AdjunctRule(
        "PropertyResult",
        _OBJECT,
        children=("fields", frozenset({"PropertyValue", "ReadError", "WriteError"})),
    ),
    AdjunctRule("PropertyValue", _FIELD, parents=_PROPERTY_RESULT, once=True, excludes=_REQUIRED),
    _PROPERTY_ERROR.rename("ReadError"),
    _PROPERTY_ERROR.rename("WriteError"),
    AdjunctRule(
        "Fragmented",
        frozenset({"Property"}),
        schemas=frozenset({"Map"}),
        on_beside={"Field": "PropertyValue"},
    ),
    AdjunctRule("Indirect", _FIELD, excludes=_REQUIRED),
)
_PLAIN = (
    _NORMAL_RESULT,
    _ERROR_RESULT,
    AdjunctRule("Result", _OBJECT, children=("fields", frozenset({"NormalResult", "ErrorResult"}))),
)

# SPEC: the MQTT extension, versions 1 to 4: its types by version.
_MQTT: dict[int, tuple[AdjunctRule, ...]] = {
    1: (_mqtt(*_TOPICS), *_CALLS, _INDEXED),
    2: (_mqtt(*_TOPICS, *_GROUPS), *_BASE, _INDEXED),
    3: (_mqtt(*_TOPICS, *_GROUPS), *_BASE, _INDEXED, *_ERRORS, *_PLAIN),
    4: (
        _mqtt(*_TOPICS, _topic("propertyTopic"), *_GROUPS),
        *_BASE,
        replace(_INDEXED, on=_INDEXED.on | {"Property"}),
        *_ERRORS,
        *_DETAILED,
    ),
}

_DATA = frozenset({"Property", "Telemetry"})
_NAMED = frozenset({"CommandRequest", "CommandResponse", "Field", "MapValue"}) | _DATA
_V3 = frozenset({3})
_ALL = frozenset({2, 3, 4})

STANDARD_V2 = build_quantities(
    "dtmi:dtdl:context;2",
    frozenset({2}),
    V2,
    Forms(
        "dtmi:standard:class:{};2",
        "dtmi:dtdl:property:{};2",
        "dtmi:standard:unit:{};2",
        "dtmi:standard:enum:{};2",
    ),
    _DATA,
    NUMERIC,
)
"""The semantic types that DTDL v2 has built in."""


def _build_quantitative(version: int, versions: frozenset[int], table: Table) -> Vocabulary:
    root = f"dtmi:dtdl:extension:quantitativeTypes:v{version}"
    units = [unit for names in table[1].values() for unit in names]
    return build_quantities(
        f"dtmi:dtdl:extension:quantitativeTypes;{version}",
        versions,
        table,
        Forms(*(f"{root}:{part}:{{}}" for part in ("class", "property", "unit", "enum"))),
        _NAMED,
        NUMERIC if version == 1 else MORE_NUMERIC,
        *build_unit_parts(units, versions),
        aliases=ALIASES,
    )


_HISTORIZED = AdjunctRule("Historized", _DATA)
_ANNOTATION = AdjunctRule(
    "ValueAnnotation",
    _DATA,
    {"annotates": PropertyRule("annotates", Kind.STRING, required=True)},
    sibling="annotates",
    sibling_classes=_DATA,
)
_OVERRIDE = AdjunctRule(
    "Override",
    frozenset({"Property"}),
    {"overrides": PropertyRule("overrides", Kind.STRING, required=True)},
    needs=frozenset({"ValueAnnotation"}),
    excludes=frozenset({"Initialized"}),
    overrides="overrides",
)
_INITIALIZED = AdjunctRule(
    "Initialized",
    frozenset({"Property"}),
    {"initialValue": PropertyRule("initialValue", Kind.ANY, required=True, conforms=True)},
)

EXTENSIONS: dict[str, Vocabulary] = {
    vocabulary.context: vocabulary
    for vocabulary in (
        _build_quantitative(1, frozenset({2, 3}), QUANTITATIVE),
        _build_quantitative(2, _ALL, QUANTITATIVE),
        _build_quantitative(3, _ALL, QUANTITATIVE_V3),
        build_feature("historization", 1, _HISTORIZED, versions=_V3),
        build_feature("historization", 2, _HISTORIZED),
        build_feature("annotation", 1, _ANNOTATION, versions=_V3),
        build_feature("annotation", 2, _ANNOTATION),
        build_feature("overriding", 1, _OVERRIDE, versions=_V3),
        build_feature("overriding", 2, _OVERRIDE),
        build_feature("initialization", 1, _INITIALIZED, versions=_ALL),
        build_feature("requirement", 1, AdjunctRule("Required", frozenset({"Field"}))),
        build_feature("requirement", 2, AdjunctRule("Required", frozenset({"Field", "Property"}))),
        *(
            build_feature("mqtt", version, *rules, versions=_V3 if version == 1 else FROM_V3)
            for version, rules in _MQTT.items()
        ),
        _build_central(STANDARD_V2),
        _build_operations(),
    )
}
"""Known contexts by identifier."""
