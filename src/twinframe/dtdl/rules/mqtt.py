"""The MQTT extension as data: topics on interfaces, results and errors on schemas.

It is the table and no behaviour; what its rows mean is `twinframe.dtdl.adjuncts`.
"""

from __future__ import annotations

import re

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule

_LABEL = r"[!$-*,-.0-z|~]+"
_LEVEL = rf"(?:{_LABEL}|\{{(?:[A-Za-z]+:)?[A-Za-z][A-Za-z0-9]*\}})"
_TOPIC = re.compile(rf"{_LEVEL}(?:/{_LEVEL})*")
_TOPIC_TEXT = "an MQTT topic: levels separated by '/', each a label or a token such as '{modelId}'"
_GROUP = re.compile(_LABEL)
_GROUP_TEXT = "one level of an MQTT topic: printable, without '/', '+', '#', '{' and '}'"


def _topic(name: str) -> PropertyRule:
    return PropertyRule(name, Kind.STRING, pattern=_TOPIC, pattern_text=_TOPIC_TEXT)


def _group(name: str) -> PropertyRule:
    return PropertyRule(name, Kind.STRING, pattern=_GROUP, pattern_text=_GROUP_TEXT)


def _mqtt(*topics: str) -> AdjunctRule:
    rules = [
        PropertyRule("payloadFormat", Kind.STRING, required=True),
        *(_topic(name) for name in topics),
        _group("telemServiceGroupId"),
        _group("cmdServiceGroupId"),
    ]
    return AdjunctRule("Mqtt", frozenset({"Interface"}), {rule.name: rule for rule in rules})


_COMMAND = frozenset({"Command"})
_FIELD = frozenset({"Field"})
_OBJECT = frozenset({"Object"})
_ERROR = frozenset({"Error"})
_REQUIRED = frozenset({"Required"})
_RESULT = frozenset({"Result"})
_RESULT_OR_ERROR = frozenset({"Result", "Error"})
_PROPERTY_RESULT = frozenset({"PropertyResult"})
_TTL = PropertyRule("ttl", Kind.DURATION, required=True)
_INDEX = PropertyRule("index", Kind.INTEGER, required=True, differs=True)

_BASE = (
    AdjunctRule("Transparent", frozenset({"CommandRequest", "CommandResponse"}), schemas=_OBJECT),
    AdjunctRule("Idempotent", _COMMAND),
    AdjunctRule("Cacheable", _COMMAND, {"ttl": _TTL}, needs=frozenset({"Idempotent"})),
    AdjunctRule("Indexed", frozenset({"Field", "Property", "Telemetry"}), {"index": _INDEX}),
)
_RESULTS = (
    AdjunctRule("Error", _OBJECT),
    AdjunctRule("ErrorMessage", _FIELD, parents=_ERROR, once=True, schemas=frozenset({"string"})),
    AdjunctRule("NormalResult", _FIELD, parents=_RESULT, once=True, excludes=_REQUIRED),
    AdjunctRule(
        "ErrorResult",
        _FIELD,
        parents=_RESULT,
        once=True,
        excludes=_REQUIRED,
        schema_types=_ERROR,
    ),
)
_PROPERTY_ERROR = AdjunctRule(
    "",
    _FIELD,
    parents=_PROPERTY_RESULT,
    once=True,
    excludes=_REQUIRED,
    schema_types=_ERROR,
)
_DETAILED = (
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
    AdjunctRule("Fragmented", frozenset({"Field", "Property"}), schemas=frozenset({"Map"})),
    AdjunctRule("Indirect", _FIELD, excludes=_REQUIRED),
)
_PLAIN_RESULT = AdjunctRule(
    "Result", _OBJECT, children=("fields", frozenset({"NormalResult", "ErrorResult"}))
)

# SPEC: the MQTT extension, versions 2 to 4: its types by version.
MQTT: dict[int, tuple[AdjunctRule, ...]] = {
    2: (_mqtt("telemetryTopic", "commandTopic"), *_BASE),
    3: (_mqtt("telemetryTopic", "commandTopic"), *_BASE, *_RESULTS, _PLAIN_RESULT),
    4: (
        _mqtt("telemetryTopic", "commandTopic", "propertyTopic"),
        *_BASE,
        *_RESULTS,
        *_DETAILED,
    ),
}
