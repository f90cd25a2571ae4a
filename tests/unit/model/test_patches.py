"""The gate before the JSON Patch library: what passes, what is refused, and that nothing leaks."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from twinframe.errors import JsonPatchInvalid, PatchNotObjects
from twinframe.model.patches import apply_patch, parse_patch, render_pointer

DOCUMENT: dict[str, Any] = {
    "a": 1,
    "obj": {"x": 1, "y": {"z": 2}},
    "arr": [1, [2], {"k": 3}],
    "text": "abc",
    "null": None,
    "a/b": 1,
    "m~n": 2,
    "": 3,
    "0": 4,
}


def patch(document: dict[str, Any], *operations: Any) -> dict[str, Any]:
    return apply_patch(document, parse_patch(list(operations), max_operations=100))


APPLIED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    ({"op": "add", "path": "/new", "value": 1}, "new", 1),
    ({"op": "add", "path": "/a", "value": 2}, "a", 2),
    ({"op": "add", "path": "/a", "value": None}, "a", None),
    ({"op": "replace", "path": "/a", "value": [1]}, "a", [1]),
    ({"op": "replace", "path": "/null", "value": 1}, "null", 1),
    ({"op": "add", "path": "/obj/w", "value": 1}, "obj", {"x": 1, "y": {"z": 2}, "w": 1}),
    ({"op": "replace", "path": "/obj/y/z", "value": 9}, "obj", {"x": 1, "y": {"z": 9}}),
    ({"op": "remove", "path": "/obj/y"}, "obj", {"x": 1}),
    ({"op": "add", "path": "/arr/0", "value": 0}, "arr", [0, 1, [2], {"k": 3}]),
    ({"op": "add", "path": "/arr/3", "value": 0}, "arr", [1, [2], {"k": 3}, 0]),
    ({"op": "add", "path": "/arr/-", "value": 0}, "arr", [1, [2], {"k": 3}, 0]),
    ({"op": "replace", "path": "/arr/2/k", "value": 0}, "arr", [1, [2], {"k": 0}]),
    ({"op": "remove", "path": "/arr/1"}, "arr", [1, {"k": 3}]),
    ({"op": "replace", "path": "/a~1b", "value": 9}, "a/b", 9),
    ({"op": "replace", "path": "/m~0n", "value": 9}, "m~n", 9),
    ({"op": "add", "path": "/~01", "value": 9}, "~1", 9),
    ({"op": "replace", "path": "/", "value": 9}, "", 9),
    ({"op": "replace", "path": "/0", "value": 9}, "0", 9),
    ({"op": "add", "path": "/x", "value": 1, "from": "/y", "more": 1}, "x", 1),
)
REFUSED: tuple[tuple[Any, str], ...] = (
    ({}, "op must not be empty"),
    ({"op": "", "path": "/a"}, "op must not be empty"),
    ({"op": None, "path": "/a"}, "op must not be empty"),
    ({"op": "move", "from": "/a", "path": "/b"}, "Unsupported operation type move"),
    ({"op": "copy", "from": "/a", "path": "/b"}, "Unsupported operation type copy"),
    ({"op": "test", "path": "/a", "value": 1}, "Unsupported operation type test"),
    ({"op": "ADD", "path": "/a", "value": 1}, "Unsupported operation type ADD"),
    ({"op": 1, "path": "/a"}, "Unsupported"),
    ({"op": ["add"], "path": "/a", "value": 1}, "Unsupported"),
    ({"op": "add", "value": 1}, "path must not be empty"),
    ({"op": "add", "path": 1, "value": 1}, "path must be a string"),
    ({"op": "add", "path": "", "value": {}}, "whole document"),
    ({"op": "remove", "path": ""}, "whole document"),
    ({"op": "replace", "path": "a", "value": 1}, "such as /a"),
    ({"op": "add", "path": "#/a", "value": 1}, "must start with /"),
    ({"op": "add", "path": "/a~2", "value": 1}, "~ is not followed"),
    ({"op": "add", "path": "/a~", "value": 1}, "~ is not followed"),
    ({"op": "add", "path": "/a"}, "needs a value"),
    ({"op": "replace", "path": "/a"}, "needs a value"),
    ({"op": "replace", "path": "/none", "value": 1}, "segment 'none' was not found"),
    ({"op": "remove", "path": "/none"}, "segment 'none' was not found"),
    ({"op": "remove", "path": "/A"}, "segment 'A' was not found"),
    ({"op": "add", "path": "/none/x", "value": 1}, "segment 'none' was not found"),
    ({"op": "add", "path": "/obj/none/x", "value": 1}, "segment 'none' was not found"),
    ({"op": "replace", "path": "/obj/none", "value": 1}, "segment 'none' was not found"),
    ({"op": "add", "path": "/text/0", "value": 1}, "segment '0' was not found"),
    ({"op": "replace", "path": "/text/0", "value": 1}, "segment '0' was not found"),
    ({"op": "add", "path": "/null/x", "value": 1}, "segment 'x' was not found"),
    ({"op": "add", "path": "/a/x/y", "value": 1}, "segment 'x' was not found"),
    ({"op": "add", "path": "/arr/4", "value": 1}, "no index"),
    ({"op": "add", "path": "/arr/-1", "value": 1}, "no index"),
    ({"op": "add", "path": "/arr/01", "value": 1}, "no index"),
    ({"op": "add", "path": "/arr/1e0", "value": 1}, "no index"),
    ({"op": "add", "path": "/arr/\u0661", "value": 1}, "no index"),
    ({"op": "add", "path": f"/arr/{10**30}", "value": 1}, "no index"),
    ({"op": "add", "path": "/arr/x", "value": 1}, "no index"),
    ({"op": "remove", "path": "/arr/-"}, "segment '-' was not found"),
    ({"op": "replace", "path": "/arr/3", "value": 1}, "segment '3' was not found"),
    ({"op": "remove", "path": "/arr/-1"}, "segment '-1' was not found"),
    ({"op": "add", "path": "/arr/-/x", "value": 1}, "segment '-' was not found"),
)


@pytest.mark.parametrize(("operation", "name", "expected"), APPLIED)
def test_an_allowed_operation_is_applied(operation: Any, name: str, expected: Any) -> None:
    assert patch(DOCUMENT, operation) == {**DOCUMENT, name: expected}


@pytest.mark.parametrize(("operation", "part"), REFUSED)
def test_anything_else_is_refused_with_its_index_and_reason(operation: Any, part: str) -> None:
    with pytest.raises(JsonPatchInvalid) as caught:
        patch(DOCUMENT, {"op": "add", "path": "/first", "value": 1}, operation)
    assert part in caught.value.message
    assert "Operation 1" in caught.value.message


def test_removing_takes_the_member_away() -> None:
    assert "a" not in patch(DOCUMENT, {"op": "remove", "path": "/a"})


def test_operations_build_on_each_other() -> None:
    assert patch(
        {},
        {"op": "add", "path": "/o", "value": {}},
        {"op": "add", "path": "/o/l", "value": []},
        {"op": "add", "path": "/o/l/-", "value": 1},
        {"op": "replace", "path": "/o/l/0", "value": 2},
    ) == {"o": {"l": [2]}}


def test_an_empty_patch_changes_nothing() -> None:
    assert patch(DOCUMENT) == DOCUMENT


def test_elements_that_are_no_objects_are_told_apart_by_position() -> None:
    with pytest.raises(PatchNotObjects) as caught:
        parse_patch(["x", {"op": "add"}, [1], None], max_operations=9)
    assert caught.value.positions == (0, 2, 3)


@pytest.mark.parametrize("body", [{}, {"op": "add"}, "[]", '[{"op":"add"}]', 1, None, True])
def test_a_patch_that_is_no_array_is_refused(body: Any) -> None:
    with pytest.raises(JsonPatchInvalid):
        parse_patch(body, max_operations=9)


def test_more_operations_than_allowed_are_refused() -> None:
    operation: Any = {"op": "add", "path": "/a", "value": 1}
    assert len(parse_patch([operation] * 9, max_operations=9)) == 9
    with pytest.raises(JsonPatchInvalid) as caught:
        parse_patch([operation] * 10, max_operations=9)
    assert "10 operations; at most 9" in caught.value.message


def test_paths_can_be_put_under_another() -> None:
    operations = parse_patch(
        [{"op": "add", "path": "/x~1y", "value": 1}], max_operations=9, under=("part",)
    )
    assert operations[0].path == ("part", "x/y")
    assert operations[0].pointer == "/part/x~1y"


def test_a_value_is_not_shared_with_the_result() -> None:
    value: Any = {"list": []}
    operations = parse_patch(
        [
            {"op": "add", "path": "/o", "value": value},
            {"op": "add", "path": "/o/list/-", "value": 1},
        ],
        max_operations=9,
    )
    assert apply_patch({}, operations) == apply_patch({}, operations) == {"o": {"list": [1]}}
    assert value == {"list": []}


# --- against a simple reference -------------------------------------------------------------------


class NotThereError(Exception):
    """The reference cannot apply an operation."""


def reference(document: Any, verb: str, path: list[str], value: Any) -> Any:
    """One operation, by copying along the path."""
    head, *rest = path
    if isinstance(document, dict):
        if head not in document and (rest or verb != "add"):
            raise NotThereError
        changed: Any = dict(document)
        if rest:
            changed[head] = reference(document[head], verb, rest, value)
        elif verb == "remove":
            del changed[head]
        else:
            changed[head] = value
        return changed
    if not isinstance(document, list):
        raise NotThereError
    if verb == "add" and not rest and head == "-":
        return [*document, value]
    if not (head.isascii() and head.isdigit() and str(int(head)) == head):
        raise NotThereError
    at = int(head)
    if at >= len(document) + (verb == "add" and not rest):
        raise NotThereError
    if rest:
        return [*document[:at], reference(document[at], verb, rest, value), *document[at + 1 :]]
    new = {"add": [value, *document[at : at + 1]], "replace": [value], "remove": []}[verb]
    return [*document[:at], *new, *document[at + 1 :]]


NAMES = st.sampled_from(["a", "b", "", "0", "1", "2", "-", "01", "~", "/", "a/b", "$x", "\u00e9"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OPERATIONS = st.tuples(
    st.sampled_from(["add", "replace", "remove"]), st.lists(NAMES, min_size=1, max_size=3), VALUES
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.lists(OPERATIONS, max_size=4))
@example({"a": [1, 2]}, [("remove", ["a", "1"], None), ("add", ["a", "1"], 3)])
def test_a_patch_gives_what_a_simple_reference_gives_or_is_refused(
    document: dict[str, Any], operations: list[tuple[str, list[str], Any]]
) -> None:
    body: list[Any] = [
        {"op": verb, "path": render_pointer(path), "value": value}
        for verb, path, value in operations
    ]
    before = copy.deepcopy((document, body))
    expected: Any = document
    try:
        for verb, path, value in operations:
            expected = reference(expected, verb, path, value)
    except NotThereError:
        expected = None
    try:
        result: Any = apply_patch(document, parse_patch(body, max_operations=9))
    except JsonPatchInvalid:
        result = None
    assert result == expected
    assert (document, body) == before


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["op", "path", "value", "from"]) | st.text(max_size=3), inner
        )
    ),
    max_leaves=12,
)
ODD_OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "replace", "remove", "move", "copy", "test"]) | ANY_JSON,
        "path": st.text("/~01a-x", max_size=6) | ANY_JSON,
        "value": VALUES,
        "from": st.text("/~01a-x", max_size=6),
    },
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.lists(ODD_OPERATIONS, max_size=3) | ANY_JSON)
def test_no_foreign_exception_comes_out(document: dict[str, Any], body: Any) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(JsonPatchInvalid):
        apply_patch(document, parse_patch(body, max_operations=5))
    assert document == before


def test_a_path_has_at_most_128_segments() -> None:
    document: dict[str, Any] = {}
    for _ in range(128):
        document = {"a": document}
    deepest = [{"op": "remove", "path": "/a" * 128}]
    assert apply_patch(document, parse_patch(deepest, max_operations=1)) != document
    with pytest.raises(JsonPatchInvalid, match=r"Operation 0: .* has 129 segments; at most 128"):
        parse_patch([{"op": "remove", "path": "/a" * 129}], max_operations=1)
