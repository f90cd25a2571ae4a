"""Bodies of POST and PUT of a resource."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.control.resources.resource_world import World
from twinframe.control.resources.requests import RequestReader, read_member_text
from twinframe.errors import EmptyBody, InvalidArgument, LimitExceeded, ValidationFailed
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.model.json import JsonLimits
from twinframe_resource_types.graph import GraphType

READER = RequestReader(ResourceTypeRegistry([GraphType()]), JsonLimits(), 1000)


def _body(**members: object) -> bytes:
    return orjson.dumps({"id": "one", "name": "One", "type": "Platform.Graph", **members})


def _refused(body: bytes) -> list[str]:
    with pytest.raises(ValidationFailed) as caught:
        READER.parse_create(body)
    return [detail.message for detail in caught.value.details]


def test_what_is_left_out_has_its_default() -> None:
    draft = READER.parse_create(_body())
    assert (draft.id, draft.name, draft.type, draft.sku) == ("one", "One", "Platform.Graph", "free")
    assert draft.settings_json == "{}"


def test_no_two_drafts_are_the_same_incarnation() -> None:
    assert READER.parse_create(_body()).incarnation != READER.parse_create(_body()).incarnation


def test_settings_are_kept_as_they_were_written() -> None:
    text = '{ "z": 1.0, "a": 1e2,\n "database_name": "\\u0061", "b": [ ] }'
    body = (
        b'{"settings_json" : '
        + text.encode()
        + b' , "id":"one","name":"n","type":"Platform.Graph"}'
    )
    assert READER.parse_create(body).settings_json == text


def test_settings_may_be_a_text_that_holds_an_object() -> None:
    draft = READER.parse_create(_body(settings_json='{"max_concurrent_connections": 5}'))
    assert draft.settings_json == '"{\\"max_concurrent_connections\\": 5}"'
    (message,) = _refused(_body(settings_json='{"max_concurrent_connections": 0}'))
    assert message.startswith("max_concurrent_connections: ")


def test_a_text_without_anything_in_it_is_told_what_would_be_none() -> None:
    for settings in ("", " \n"):
        (message,) = _refused(_body(settings_json=settings))
        assert message == "settings_json is an empty text. Write {} for no settings."
    assert READER.parse_create(_body(settings_json=" {} ")).settings_json == '" {} "'


@pytest.mark.parametrize("settings", [[], 1, None, "no json", "[]", True])
def test_settings_that_are_no_object_are_refused(settings: object) -> None:
    (message,) = _refused(_body(settings_json=settings))
    assert message.startswith("settings_json ")


def test_everything_wrong_is_told_at_once() -> None:
    body = orjson.dumps(
        {"id": "-no-", "type": "Platform.Grph", "sku": "gold", "settings_json": [], "colour": 1}
    )
    text = "\n".join(_refused(body))
    for part in (
        "id is refused",
        "name is missing",
        "Did you mean Platform.Graph?",
        "sku must be one of free, pro, enterprise",
        "settings_json ",
        "colour is no member",
    ):
        assert part in text


def test_a_misspelt_member_is_told_with_the_nearest_name() -> None:
    (message,) = _refused(_body(setings_json={}))
    assert "Did you mean settings_json?" in message


@pytest.mark.parametrize(
    "resource_id", ["", "A", "a_b", "-a", "a-", "a" * 64, "a.b", "ä", "a\n", " a", "a/b"]
)
def test_an_id_that_is_no_host_name_is_refused(resource_id: str) -> None:
    assert any(message.startswith("id ") for message in _refused(_body(id=resource_id)))


@pytest.mark.parametrize("resource_id", ["a", "0", "a-b", "a" * 63, "my-graph-2"])
def test_an_id_that_is_a_host_name_is_taken(resource_id: str) -> None:
    assert READER.parse_create(_body(id=resource_id)).id == resource_id


def test_settings_beyond_the_limit_are_refused() -> None:
    with pytest.raises(LimitExceeded, match="Control__MaxSettingsBytes"):
        READER.parse_create(_body(settings_json={"a": "x" * 1000}))


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationFailed, match="must be a JSON object"):
        READER.parse_create(body)


def test_a_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(EmptyBody):
        READER.parse_create(b"")
    with pytest.raises(InvalidArgument, match="not valid JSON"):
        READER.parse_create(b"{")
    with pytest.raises(InvalidArgument, match="twice"):
        READER.parse_create(b'{"id": "a", "id": "b"}')


def test_a_change_names_only_what_shall_change() -> None:
    change = READER.parse_update(b'{"name": "New"}')
    assert (change.name, change.sku, change.settings_json) == ("New", None, None)
    change = READER.parse_update(b'{"sku": "pro", "settings_json": {"b":1,"a":2}}')
    assert (change.name, change.sku, change.settings_json) == (None, "pro", '{"b":1,"a":2}')


@pytest.mark.parametrize("body", [b"{}", b'{"status": "running"}'])
def test_a_change_of_nothing_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationFailed) as caught:
        READER.parse_update(body)
    assert "at least one of name, sku, settings_json" in caught.value.details[0].message


def test_a_resource_may_be_sent_back_as_it_was_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.create()
    world.settle()
    sent = {"resource_id": "one", "project_id": "prj", "type": "Platform.Graph", "name": "New"}
    world.update(**sent, status="running", access_url="x", created_at="x", updated_at="x")
    assert world.read().name == "New"
    world.settle()
    with pytest.raises(ValidationFailed) as caught:
        world.update(**{**sent, "type": "Test.Moody", "project_id": "else"})
    assert len(caught.value.details) == 2
    assert world.read().status == "running"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", 'b"', "c\\", "d{", "e,"]), JSON), JSON)
def test_the_text_of_a_member_is_found_wherever_it_stands(
    others: dict[str, object], value: object
) -> None:
    for indent in (None, 1):
        wanted = json.dumps(value, indent=indent)
        members = [f"{json.dumps(key)} :{json.dumps(other)}" for key, other in others.items()]
        for at in range(len(members) + 1):
            parts = [*members[:at], f'"settings_json"\n: {wanted}', *members[at:]]
            text = " {" + " ,\t".join(parts) + " }"
            assert read_member_text(text, "settings_json") == wanted
            assert read_member_text(text, "missing") is None
