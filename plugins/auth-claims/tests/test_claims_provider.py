"""Permissions from claims: the forms a claim may have, and that anything else grants nothing."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.access.permission_grammar import decide, parse_permission
from twinframe.access.permissions import Caller
from twinframe.hooks.drivers import PERMISSION_PROVIDER, load_plugin
from twinframe.hooks.manager import build_manager
from twinframe.model.values import JsonValue
from twinframe.settings import AuthorizationSettings
from twinframe_auth_claims.plugin import ClaimsProvider, find_claim


def read(claims: dict[str, JsonValue], name: str = "permissions") -> set[str]:
    provider = ClaimsProvider(name)
    return set(asyncio.run(provider.read_permissions(Caller("somebody", claims))))


def test_an_array_of_texts_is_taken() -> None:
    assert read({"permissions": ["models/read", "query/*"]}) == {"models/read", "query/*"}


def test_a_space_separated_text_is_taken() -> None:
    assert read({"permissions": " models/read  query/* "}) == {"models/read", "query/*"}


def test_a_dotted_name_reaches_into_objects() -> None:
    claims: dict[str, JsonValue] = {"realm_access": {"roles": ["models/read"]}}
    assert read(claims, "realm_access.roles") == {"models/read"}


def test_a_claim_of_exactly_the_name_comes_before_a_path() -> None:
    claims: dict[str, JsonValue] = {"a": {"b": ["wrong/one"]}, "a.b": ["right/one"]}
    assert read(claims, "a.b") == {"right/one"}


def test_a_url_is_a_name_and_may_begin_a_path() -> None:
    url = "https://id.example.com/claims"
    assert read({f"{url}/permissions": ["a/b"]}, f"{url}/permissions") == {"a/b"}
    assert read({url: {"permissions": ["a/b"]}}, f"{url}.permissions") == {"a/b"}


@pytest.mark.parametrize(
    "value",
    [None, True, 1, 1.5, {}, {"models/read": True}, ["models/read", 1], [["models/read"]], [], ""],
)
def test_any_other_form_grants_nothing(value: JsonValue) -> None:
    assert read({"permissions": value}) == set()


ABSENT: JsonValue = ["a value that is told by its identity"]


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        pytest.param(ABSENT, False, id="missing"),
        pytest.param([], False, id="empty"),
        pytest.param(["digitaltwins/*", "query/read"], False, id="without mcp"),
        pytest.param(["mcp/read"], False, id="another of mcp"),
        pytest.param(["mcp/"], False, id="no last segment"),
        pytest.param(["xmcp/*"], False, id="another name that ends so"),
        pytest.param(["mcp/*/x"], False, id="a wildcard in the middle"),
        pytest.param(["*/*"], False, id="the wildcard of all"),
        pytest.param(["*"], False, id="a star"),
        pytest.param([" mcp/*"], False, id="a blank in an array"),
        pytest.param(["MCP/*"], False, id="another case"),
        pytest.param(["digitaltwins/read mcp/*"], False, id="two in one element"),
        pytest.param(5, False, id="a number"),
        pytest.param(["mcp/*", 1], False, id="mixed types"),
        pytest.param({"mcp/*": True}, False, id="an object"),
        pytest.param("digitaltwins/read,mcp/*", False, id="text with commas"),
        pytest.param("digitaltwins/read\tmcp/*", False, id="text with a tab"),
        pytest.param("digitaltwins/read\nmcp/*", False, id="text with a line end"),
        pytest.param("digitaltwins/read\u00a0mcp/*", False, id="text with another blank"),
        pytest.param("mcp/*", True, id="text"),
        pytest.param("digitaltwins/read mcp/*", True, id="text with a blank"),
        pytest.param(["mcp/*"], True, id="an array"),
        pytest.param(["mcp/tools"], True, id="exactly"),
    ],
)
def test_a_claim_allows_just_what_it_states(value: JsonValue, allowed: bool) -> None:
    held = read({} if value is ABSENT else {"permissions": value})
    assert decide(held, parse_permission("mcp/tools")).allowed is allowed


def test_a_claim_of_another_form_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    read({"permissions": ["models/read", 1]})
    assert "grants nothing" in caplog.text


def test_without_the_claim_nothing_is_granted() -> None:
    assert read({"scope": "models/read", "Permissions": ["models/read"]}) == set()


CLAIMS = st.recursive(
    st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(alphabet="ab.", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(alphabet="ab.", max_size=3), CLAIMS), st.text(alphabet="ab."))
def test_a_found_claim_always_lies_on_its_path(claims: dict[str, JsonValue], path: str) -> None:
    def reachable(level: JsonValue, rest: str) -> list[JsonValue]:
        if not isinstance(level, dict):
            return []
        found = [level[rest]] if rest in level else []
        for name, inner in level.items():
            if rest.startswith(f"{name}."):
                found += reachable(inner, rest[len(name) + 1 :])
        return found

    value = find_claim(claims, path)
    assert value is None or value in reachable(claims, path)


def test_the_plugin_takes_the_claim_of_the_settings() -> None:
    plugin = load_plugin(build_manager(), PERMISSION_PROVIDER, "claims")
    provider = plugin.call(
        "twinframe_permission_provider",
        settings=None,
        authorization=AuthorizationSettings(permissions_claim_name="grants"),
        resource="",
    )
    assert isinstance(provider, ClaimsProvider)
    caller = Caller("somebody", {"grants": "models/read"})
    assert asyncio.run(provider.read_permissions(caller)) == {"models/read"}
