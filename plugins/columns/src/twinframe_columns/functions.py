"""Compiles calls of functions on vectors; those without an operation of their own row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from twinframe.query.algebra import MAP_PROJECTION, FunctionCall
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.functions.digitaltwins import holds_model
from twinframe_columns import kinds as k
from twinframe_columns.arithmetic import apply_function
from twinframe_columns.frame import Frame, Run
from twinframe_columns.lists import OF_LISTS, is_list
from twinframe_columns.members import read_end, read_ids, read_labels, read_type, test_models
from twinframe_columns.merging import merge, read_lists
from twinframe_columns.paths import list_nodes, list_relationships, measure_paths, read_paths
from twinframe_columns.rowwise import Evaluate, apply_to_rows
from twinframe_columns.texts import apply_text_function
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Entities,
    Lists,
    Maps,
    Mixed,
    Numbers,
    Paths,
    Pieces,
    Texts,
    Times,
    Truths,
    Vector,
    is_null,
    simplify,
)

_ROWWISE: Final = frozenset(
    (
        *("abs", "sign", "floor", "ceil", "round", "sqrt", "exp", "log", "log10", "sin", "cos"),
        *("tan", "cot", "asin", "acos", "atan", "atan2", "degrees", "radians", "haversin"),
        *("toFloat", "toInteger", "toString", "toBoolean", "size", "isEmpty", "toUpper"),
        *("toLower", "trim", "lTrim", "rTrim", "replace", "substring", "left", "right"),
        *("reverse", "nullIf"),
    )
)
"""Functions of scalars that depend on nothing else."""

_Read = Callable[[Run, Entities], Vector]

_OF_ENTITIES: Final[dict[str, _Read]] = {
    "type": read_type,
    "labels": read_labels,
    "id": read_ids,
    "elementId": read_ids,
    "startNode": lambda run, one: read_end(run, one, is_source=True),
    "endNode": lambda run, one: read_end(run, one, is_source=False),
}
_ReadPaths = Callable[[Run, Paths, int], Vector]
_OF_PATHS: Final[dict[str, _ReadPaths]] = {
    "length": lambda _run, paths, count: measure_paths(paths, count),
    "nodes": list_nodes,
    "relationships": list_relationships,
}
_OF_KINDS: Final[dict[str, tuple[int, ...]]] = {
    "is_number": (k.INTEGER, k.FLOAT),
    "is_string": (k.STRING,),
    "is_bool": (k.FALSE, k.TRUE),
    "is_object": (k.MAP,),
}


def compile_call(
    call: FunctionCall, arguments: Sequence[Evaluate], presences: Sequence[Evaluate]
) -> Evaluate:
    """Return the function for a call over its compiled arguments, or raise `CannotRun`.

    `presences` say of each argument whether it names a member that is there.
    """
    name = call.name
    match name, arguments:
        case "exists", [one]:
            return lambda run, frame: Truths(~is_null(one(run, frame), frame.count))
        case "coalesce", _:
            return _compile_coalesce(arguments)
        case "digitaltwins.is_of_model", [subject, model, *rest]:
            return _compile_is_of_model(subject, model, rest)
        case "is_defined", [_]:
            return presences[0]
        case "is_null", [_]:
            return _compile_null_test(presences[0])
        case "is_primitive", [one]:
            return _compile_primitive(one, presences[0])
        case _ if name == MAP_PROJECTION and len(arguments) == 2:  # without .*
            return _compile_map_projection(*arguments)
        case _ if name in _OF_PATHS and len(arguments) == 1:
            return _compile_path_call(arguments[0], _OF_PATHS[name])
        case _ if name in OF_LISTS and len(arguments) == 1:
            return _compile_list_call(call, arguments)
        case _ if name in _OF_KINDS and len(arguments) == 1:
            return _compile_kind_test(arguments[0], _OF_KINDS[name])
        case _ if name in _OF_ENTITIES and len(arguments) == 1:
            return _compile_entity_call(arguments[0], _OF_ENTITIES[name])
        case _ if name in _ROWWISE:
            return _compile_rowwise(call, arguments)
        case _:
            raise CannotRun(f"The function {name} in columns.")


def _compile_map_projection(subject: Evaluate, entries: Evaluate) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        owner = subject(run, frame)
        is_map = isinstance(owner, Constant) and isinstance(owner.value, dict)
        if owner != NULL and not is_map and not isinstance(owner, Entities | Maps):
            raise CannotRun("A map projection of a value.")
        nulls = is_null(owner, frame.count)
        found = entries(run, frame)
        if isinstance(found, Constant) and isinstance(found.value, dict):
            found = Maps({name: Constant(one) for name, one in found.value.items()})
        if not isinstance(found, Maps):
            raise CannotRun("A map that is none.")
        return Maps(found.members, ~nulls if nulls.any() else None)

    return evaluate


def _compile_list_call(call: FunctionCall, arguments: Sequence[Evaluate]) -> Evaluate:
    """Compile a function of lists, some of which are functions of texts too."""
    name, (only,) = call.name, arguments
    in_general = _compile_rowwise(call, arguments) if name in _ROWWISE else None

    def evaluate(run: Run, frame: Frame) -> Vector:
        vector = only(run, frame)
        if in_general is not None and not is_list(vector):
            return in_general(run, frame)
        return OF_LISTS[name](read_lists(vector, frame.count))

    return evaluate


def _compile_rowwise(call: FunctionCall, arguments: Sequence[Evaluate]) -> Evaluate:
    in_general = apply_to_rows(call)
    name = call.name

    def evaluate(run: Run, frame: Frame) -> Vector:
        vectors = [one(run, frame) for one in arguments]
        found = apply_text_function(name, vectors)
        if found is None and len(vectors) == 1:
            found = apply_function(name, simplify(vectors[0]))
        return in_general(run, frame, vectors) if found is None else found

    return evaluate


def _compile_coalesce(arguments: Sequence[Evaluate]) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        rest = np.arange(frame.count, dtype=np.int32)
        part = frame
        parts: list[tuple[k.Rows, Vector]] = []
        for argument in arguments:
            if not len(rest):
                break
            vector = argument(run, part)
            nulls = is_null(vector, part.count)
            parts.append((rest, vector))
            part, rest = part.take(nulls), rest[nulls]
        # NOTE: later parts are written over the nulls of earlier ones.
        return merge(parts, frame.count)

    return evaluate


def _compile_is_of_model(subject: Evaluate, model: Evaluate, rest: Sequence[Evaluate]) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        wanted = [one(run, frame) for one in (model, *rest)]
        twins = subject(run, frame)
        if twins == NULL or NULL in wanted:
            return NULL
        values = [one.value for one in wanted if isinstance(one, Constant)]
        if len(values) < len(wanted) or not isinstance(values[0], str):
            raise CannotRun("A model that differs from row to row, or is none.")
        if not isinstance(twins, Entities) or twins.edges is not None:
            raise CannotRun("The model of what is no twin.")
        exact = len(values) > 1 and (values[1] is True or values[1] == "exact")
        projection = run.projection
        if exact:
            numbers = [at for at, one in enumerate(projection.models) if one == values[0]]
        else:
            numbers = [
                at for at, one in enumerate(projection.labels) if holds_model(one, values[0])
            ]
        return test_models(run, twins, numbers)

    return evaluate


def _compile_entity_call(only: Evaluate, read: _Read) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        vector = only(run, frame)
        if vector == NULL:
            return NULL
        if not isinstance(vector, Entities):
            raise CannotRun("A function of twins or relationships.")
        return read(run, vector)

    return evaluate


def _compile_path_call(only: Evaluate, read: _ReadPaths) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        vector = only(run, frame)
        return NULL if vector == NULL else read(run, read_paths(vector), frame.count)

    return evaluate


def _compile_kind_test(only: Evaluate, wanted: tuple[int, ...]) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        return Truths(_test_kinds(only(run, frame), wanted, frame.count))

    return evaluate


def _test_kinds(vector: Vector, wanted: tuple[int, ...], count: int) -> k.Bools:
    held = k.NULL
    match vector:
        case Mixed():
            if (vector.kinds == k.OTHER).any() and k.INTEGER in wanted:
                raise CannotRun("A list or a large integer.")
            return np.isin(vector.kinds, wanted)
        case Constant(value=value):
            if value is not None and type(value) not in (bool, int, float, str, list, dict):
                raise CannotRun("A value of another type.")
            kind = k.INTEGER if type(value) is int else k.find_kind(value)
            return np.full(count, kind in wanted)
        case Numbers():
            held = k.FLOAT
        case Texts() | Pieces():
            held = k.STRING
        case Truths():
            held = k.TRUE
        case Maps():
            held = k.MAP
        case Entities() | Lists() | Paths():
            return np.zeros(count, np.bool_)
        case Times():
            raise CannotRun("The type of a time.")
    nulls = is_null(vector, count)
    return ~nulls if held in wanted else np.zeros(count, np.bool_)


def _compile_primitive(only: Evaluate, presence: Evaluate) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        presence(run, frame)
        vector = only(run, frame)
        if isinstance(vector, Mixed) and (vector.kinds == k.OTHER).any():
            raise CannotRun("A list or a large integer.")
        primitive = (k.FALSE, k.TRUE, k.INTEGER, k.FLOAT, k.STRING)
        return Truths(_test_kinds(vector, primitive, frame.count))

    return evaluate


def _compile_null_test(presence: Evaluate) -> Evaluate:
    """SPEC: the vendor's IS_NULL is of a member that is there; one that may be null is declined."""

    def evaluate(run: Run, frame: Frame) -> Vector:
        presence(run, frame)
        return Truths(np.zeros(frame.count, np.bool_))

    return evaluate
