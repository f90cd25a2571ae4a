"""The tables of partner contexts: IoT Central for DTDL v2, IoT Operations for DTDL v4.

`twinframe.dtdl.adjuncts` applies them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import COMPLEX_SCHEMAS, GEOSPATIAL, MORE_NUMERIC, NUMERIC
from twinframe.dtdl.rules.vocabulary import build_partner

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


def build_central(standard: Vocabulary) -> Vocabulary:
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
_GROUP = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
_GROUP_TEXT = "a letter, then letters, digits and underscores, not ending in an underscore"


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
    pattern=_GROUP,
    pattern_text=_GROUP_TEXT,
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


def build_operations() -> Vocabulary:
    """Return the IoT Operations context."""
    return build_partner("iotoperations", 4, *_OPERATIONS)
