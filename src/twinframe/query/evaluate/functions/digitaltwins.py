"""The vendor's predicates: model membership and JSON type tests.

Models are known by the labels of a node only. Tests on presence, which need the expression and not
only its value, are in `twinframe.query.evaluate.calls`.
"""

from __future__ import annotations

import functools
from typing import Final

from twinframe.dtdl.dtmi import parse_version, parse_versionless
from twinframe.model.comparison import equals, is_number, read_text
from twinframe.model.values import Node, Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.declare import Function, strict, total
from twinframe.query.evaluate.member_typing import read_model_id

_MOST_DIGITS: Final = 4000
"""The most digits of a number in a version; Python parses only a few thousand.

SPEC: DTDL has 9 at most, so a longer one is above all versions of all models.
"""


def is_of_model(subject: Value, model_id: Value, exact: Value = False) -> Value:
    """Return whether a twin is of a model, or, unless `exact`, of a later version or a derived
    model.

    SPEC: the vendor's IS_OF_MODEL: the twin's model, or one it extends, has the given name and a
    version not lower than the given one. `exact` requires the identical id of the twin's own model.
    """
    if not isinstance(subject, Node):
        raise build_argument_type_error("is_of_model", subject, "a twin first")
    if not isinstance(model_id, str):
        raise build_argument_type_error("is_of_model", model_id, "a model id (String) second")
    if exact is True or exact == "exact":
        return read_model_id(subject) == model_id
    return holds_model(subject.labels, model_id)


def holds_model(models: frozenset[str], model_id: str) -> bool:
    """Return whether a model, or a later version of it, is among these: a twin's own with its
    bases.
    """
    if model_id in models:
        return True
    name, lowest = _parse(model_id)
    return any(own_name == name and version >= lowest for own_name, version in map(_parse, models))


@functools.lru_cache(maxsize=4096)
def _parse(dtmi: str) -> tuple[str, tuple[int, ...]]:
    """Parse name and version, `1.2` as (1, 2); without a version the lowest of all."""
    parts = parse_version(dtmi).split(".")
    version = tuple(map(_parse_number, parts)) if all(map(str.isdecimal, parts)) else ()
    return parse_versionless(dtmi), version


def _parse_number(digits: str) -> int:
    return int(digits[:_MOST_DIGITS])


def array_contains(items: Value, item: Value) -> Value:
    """Return whether a list contains the value; False for anything but a list."""
    return isinstance(items, list) and any(equals(one, item) for one in items)


FUNCTIONS: dict[str, Function] = {
    "digitaltwins.is_of_model": strict(is_of_model),
    "is_bool": total(lambda value: isinstance(value, bool)),
    "is_number": total(is_number),
    "is_string": total(lambda value: read_text(value) is not None),
    "is_object": total(lambda value: isinstance(value, dict)),
    "array_contains": total(array_contains),
}
