"""What a replaced document is told as: a patch that leads there, and what it replaced."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import jsonpointer
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.events.event_samples import build_update
from twinframe.graph.events.changes import build_changes
from twinframe.graph.events.event import ABSENT, find_value

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 2.5])
values = st.recursive(
    scalars | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=5,
)
names = st.sampled_from(["a", "b", "c", "x/y", "~t"])
parts = st.dictionaries(names, values, max_size=3).map(lambda part: {**part, "$metadata": {}})
documents = st.builds(
    lambda contents, model: {"$dtId": "x", **contents, "$metadata": {"$model": model}},
    st.dictionaries(names, values | parts, max_size=5),
    st.sampled_from(["m1", "m2"]),
)


def strip(document: Any) -> bytes:
    """Its contents and its model, without what the service keeps of components; types tell."""
    found = {
        name: {key: item for key, item in value.items() if key != "$metadata"}
        if isinstance(value, dict) and name != "$metadata"
        else value
        for name, value in document.items()
    }
    return orjson.dumps(found, option=orjson.OPT_SORT_KEYS)


@settings(max_examples=400, deadline=None)
@given(documents, documents)
def test_the_patch_of_a_replacement_leads_from_the_one_to_the_other(
    before: Any, after: Any
) -> None:
    changes = build_changes(before, after)
    patched = jsonpatch.apply_patch(copy.deepcopy(before), changes.patch)
    assert strip(patched) == strip(after)
    assert build_changes(after, after) == ([], [])


@settings(max_examples=400, deadline=None)
@given(documents, documents)
def test_of_each_operation_the_old_value_is_known(before: Any, after: Any) -> None:
    changes = build_changes(before, after)
    for operation, old in zip(changes.patch, changes.old, strict=True):
        found = jsonpointer.resolve_pointer(before, operation["path"], None)
        assert old == ([] if operation["op"] == "add" else [found])


pointers = st.lists(st.sampled_from(["a", "b", "c", "0", "1"]), min_size=1, max_size=4)


@given(documents, st.lists(pointers, min_size=1, max_size=6))
def test_each_operation_of_a_patch_is_told_with_what_was_there_before_all(
    before: dict[str, Any], paths: list[list[str]]
) -> None:
    """However the values are shared between operations at, above and below one path."""
    event = build_update(before, *({"op": "remove", "path": "/" + "/".join(one)} for one in paths))
    told = [change.old for change in event.changes]
    assert told == [find_value(before, one) for one in paths]
    stored = len(event.text) - len(event.wire)
    assert stored < len(orjson.dumps(before)) + 12 * len(paths) + 12


def test_what_was_not_there_is_told_as_absent() -> None:
    event = build_update({"a": 1}, {"op": "add", "path": "/b", "value": 1})
    assert event.changes[0].old is ABSENT
