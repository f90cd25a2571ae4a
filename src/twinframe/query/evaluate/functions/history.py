"""Functions on the past of twins and relationships, answered by what a run knows of it.

The first argument of `valueAt` and `series` is a property; it arrives as a list of its owner and
its path, names joined by `/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from twinframe.errors import QueryInvalid
from twinframe.model.ids import MODEL_LABEL
from twinframe.model.paths import split_path
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import JsonValue, Node, Relationship, Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.declare import Function
from twinframe.query.evaluate.past_answers import PastAnswers
from twinframe.query.evaluate.run import Run
from twinframe.query.reader import ChangesQuestion, ValueQuestion, ValuesOverTime

_ENTITY = "a Node or Relationship"
_PROPERTY = "a property of a Node or Relationship, such as r.temperature"
_MOMENT = "a datetime, its text or a position"
_STEP = "a duration, or a text such as '5m'"


def read_value_at(run: Run, reference: Value, moment: Value) -> Value:
    """The value that a property had at a moment; null where it had none."""
    found = _check_property("valueAt", reference)
    if found is None or moment is None:
        return None
    entity, names = found
    _refuse_model("valueAt", entity)
    question = ValueQuestion(_build_key(entity), names, _check_moment("valueAt", moment))
    value = cast("JsonValue", _find_past(run, "valueAt").values.ask(question))
    if value is None:
        return None
    # It gets the type that the model declares, as the present value does: a typing takes members
    # of the entity itself, so that what is within one is read with what it is in.
    name, *below = split_path(names)
    for part in reversed(below):
        value = {part: value}
    typed = run.read_own_member(replace(entity, document={**entity.document, name: value}), name)
    for part in below:
        typed = cast("Mapping[str, Value]", typed)[part]
    return typed


def list_changes(run: Run, entity: Value, start: Value, end: Value = None) -> Value:
    """The changes after a moment, up to another one or now, as maps."""
    if entity is None or start is None:
        return None
    if not isinstance(entity, Node | Relationship):
        raise build_argument_type_error("changes", entity, _ENTITY)
    _refuse_model("changes", entity)
    until = None if end is None else _check_moment("changes", end)
    question = ChangesQuestion(_build_key(entity), _check_moment("changes", start), until)
    return _find_past(run, "changes").changes.ask(question)


def read_series(
    run: Run,
    reference: Value,
    start: Value,
    end: Value = None,
    every: Value = None,
    aggregate: Value = None,
) -> Value:
    """The values of a property from one moment to another or now, or of steps of time, as maps."""
    found = _check_property("series", reference)
    if found is None or start is None:
        return None
    entity, names = found
    if not isinstance(entity, Node):
        raise build_argument_type_error("series", entity, "a property of a Node")
    _refuse_model("series", entity)
    bounds = _check_time(start), None if end is None else _check_time(end)
    if aggregate is not None and not isinstance(aggregate, str):
        raise build_argument_type_error("series", aggregate, "the name of an aggregate")
    question = ValuesOverTime(entity.id, names, *bounds, _check_step(every), aggregate)
    return _find_past(run, "series").series.ask(question)


def _build_key(owner: Node | Relationship) -> tuple[str, str]:
    return (owner.id, "") if isinstance(owner, Node) else (owner.source, owner.id)


def _find_past(run: Run, function: str) -> PastAnswers:
    past = run.past
    if past is None:
        raise QueryInvalid(f"{function}() is not possible here: the history cannot be read.")
    return past


def _refuse_model(function: str, entity: Node | Relationship) -> None:
    """Raise `QueryInvalid` for the node of a model."""
    if isinstance(entity, Node) and MODEL_LABEL in entity.labels:
        raise QueryInvalid(
            f"{function}() is about twins and relationships, and {entity.id} is a model. "
            "GET /changes?include=models lists the changes of models."
        )


def _check_property(function: str, reference: Value) -> tuple[Node | Relationship, str] | None:
    """Return owner and path; None if there is no owner."""
    match reference:
        case None | [None, str()]:
            return None
        case [(Node() | Relationship()) as owner, str(path)]:
            return owner, path
        case [owner, str()]:
            raise build_argument_type_error(function, owner, _PROPERTY)
        case _:
            raise build_argument_type_error(function, reference, _PROPERTY)


def _check_moment(function: str, value: Value) -> str | int | DateTime:
    if isinstance(value, str | int | DateTime) and not isinstance(value, bool):
        return value
    raise build_argument_type_error(function, value, _MOMENT)


def _check_time(value: Value) -> str | DateTime:
    if isinstance(value, str | DateTime):
        return value
    raise build_argument_type_error("series", value, "a datetime or its text")


def _check_step(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Duration) and not value.months:
        milliseconds = value.days * 86_400_000 + value.clock // 1_000_000
        return f"{milliseconds}ms"
    raise build_argument_type_error("series", value, _STEP)


FUNCTIONS: dict[str, Function] = {
    "valueAt": read_value_at,
    "changes": list_changes,
    "series": read_series,
}
