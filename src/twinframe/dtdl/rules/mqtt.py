"""The tables of the MQTT extension: topics on interfaces, results and errors on schemas.

`twinframe.dtdl.adjuncts` applies them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from twinframe.dtdl.metamodel import AdjunctRule, Kind, PropertyRule

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
MQTT: dict[int, tuple[AdjunctRule, ...]] = {
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
