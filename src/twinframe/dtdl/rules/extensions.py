"""The contexts beside the language's own: standard extensions, as data.

A new extension is a table here or in a module beside it; what its rows mean is
`twinframe.dtdl.adjuncts`.
"""

from __future__ import annotations

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import MORE_NUMERIC, NUMERIC
from twinframe.dtdl.rules.mqtt import MQTT
from twinframe.dtdl.rules.partners import build_central, build_operations
from twinframe.dtdl.rules.quantities import (
    ALIASES,
    MORE_SEMANTIC_TYPES,
    MORE_UNITS,
    SEMANTIC_TYPES,
    UNITS,
    build_units,
)
from twinframe.dtdl.rules.vocabulary import FROM_V3, build_feature, build_quantities

_DATA = frozenset({"Property", "Telemetry"})
_NAMED = frozenset({"CommandRequest", "CommandResponse", "Field", "MapValue"}) | _DATA

STANDARD_V2 = build_quantities(
    "dtmi:dtdl:context;2",
    frozenset({2}),
    SEMANTIC_TYPES,
    build_units(UNITS),
    (
        "dtmi:standard:class:{};2",
        "dtmi:dtdl:property:{};2",
        "dtmi:standard:unit:{};2",
        "dtmi:standard:enum:{};2",
    ),
    _DATA,
    NUMERIC,
)
"""The semantic types that DTDL v2 has built in."""


def _build_quantitative(version: int, versions: frozenset[int]) -> Vocabulary:
    root = f"dtmi:dtdl:extension:quantitativeTypes:v{version}"
    return build_quantities(
        f"dtmi:dtdl:extension:quantitativeTypes;{version}",
        versions,
        SEMANTIC_TYPES | MORE_SEMANTIC_TYPES,
        build_units(UNITS, MORE_UNITS),
        (f"{root}:class:{{}}", f"{root}:property:{{}}", f"{root}:unit:{{}}", f"{root}:enum:{{}}"),
        _NAMED,
        NUMERIC if version == 1 else MORE_NUMERIC,
        ALIASES,
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
    overrides="overrides",
)
_INITIALIZED = AdjunctRule(
    "Initialized",
    frozenset({"Property"}),
    {"initialValue": PropertyRule("initialValue", Kind.ANY, required=True, conforms=True)},
)
_REQUIRED = AdjunctRule("Required", frozenset({"Field"}))

EXTENSIONS: dict[str, Vocabulary] = {
    vocabulary.context: vocabulary
    for vocabulary in (
        _build_quantitative(1, FROM_V3),
        _build_quantitative(2, FROM_V3),
        _build_quantitative(3, FROM_V3),
        build_feature("historization", 1, _HISTORIZED),
        build_feature("historization", 2, _HISTORIZED),
        build_feature("annotation", 1, _ANNOTATION),
        build_feature("annotation", 2, _ANNOTATION),
        build_feature("overriding", 1, _OVERRIDE),
        build_feature("overriding", 2, _OVERRIDE),
        build_feature("initialization", 1, _INITIALIZED),
        build_feature("requirement", 1, _REQUIRED),
        build_feature("requirement", 2, _REQUIRED),
        *(build_feature("mqtt", version, *rules) for version, rules in MQTT.items()),
        build_central(STANDARD_V2),
        build_operations(),
    )
}
"""Known contexts by identifier."""
