"""The tables of the standard extensions, which `twinframe.dtdl.adjuncts` applies.

A new extension is a table here or in a module next to this one.
"""

from __future__ import annotations

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule, Vocabulary
from twinframe.dtdl.rules.core import MORE_NUMERIC, NUMERIC
from twinframe.dtdl.rules.mqtt import MQTT
from twinframe.dtdl.rules.partners import build_central, build_operations
from twinframe.dtdl.rules.quantities import ALIASES, QUANTITATIVE, QUANTITATIVE_V3, V2, Table
from twinframe.dtdl.rules.vocabulary import (
    FROM_V3,
    Forms,
    build_feature,
    build_quantities,
    build_unit_parts,
)

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
            for version, rules in MQTT.items()
        ),
        build_central(STANDARD_V2),
        build_operations(),
    )
}
"""Known contexts by identifier."""
