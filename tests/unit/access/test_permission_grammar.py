"""The permission grammar: what a grant covers, and that nothing covers everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.access.permission_grammar import decide, parse_grant, parse_permission
from twinframe.errors import InvalidArgument

NAMES = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=6)
PATHS = st.lists(NAMES, min_size=2, max_size=5)


def allowed(needed: str, *granted: str) -> bool:
    return decide(granted, parse_permission(needed)).allowed


@pytest.mark.parametrize(
    ("needed", "granted"),
    [
        ("digitaltwins/read", "digitaltwins/read"),
        ("digitaltwins/read", "digitaltwins/*"),
        ("digitaltwins/relationships/read", "digitaltwins/*"),
        ("digitaltwins/relationships/read", "digitaltwins/relationships/*"),
        ("jobs/imports/write", "jobs/*"),
        ("query/read", "query/action"),
        ("query/action", "query/read"),
        ("query/read", "query/*"),
    ],
)
def test_a_grant_covers_itself_and_what_lies_below_its_wildcard(needed: str, granted: str) -> None:
    assert allowed(needed, granted)


@pytest.mark.parametrize(
    ("needed", "granted"),
    [
        ("digitaltwins/read", "*/*"),
        ("digitaltwins/read", "*"),
        ("digitaltwins/read", "*/read"),
        ("digitaltwins/read", "/*"),
        ("digitaltwins/read", ""),
        ("digitaltwins/read", "digitaltwins"),
        ("digitaltwins/read", "digitaltwins/"),
        ("digitaltwins/read", "digitaltwins/write"),
        ("digitaltwins/read", "digitaltwins/re*"),
        ("digitaltwins/read", "digitaltwins/*/*"),
        ("digitaltwins/read", "digitaltwins/**"),
        ("digitaltwins/read", "digital/*"),
        ("digitaltwins/read", "Digitaltwins/read"),
        ("digitaltwins/read", " digitaltwins/read"),
        ("digitaltwins/read", "digitaltwins/read\n"),
        ("digitaltwins/read", "digitaltwins/relationships/read"),
        ("digitaltwins/relationships/read", "digitaltwins/read"),
        ("digitaltwins/relationships/read", "digitaltwins/*/read"),
        ("digitaltwins/read", "digitaltwins//*"),
    ],
)
def test_nothing_else_is_covered(needed: str, granted: str) -> None:
    assert not allowed(needed, granted)


@pytest.mark.parametrize("text", ["", "read", "a/*", "*/*", "a//b", "a/b/", "a/b c", "ä/b"])
def test_what_is_no_permission_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a permission"):
        parse_permission(text)


def test_without_grants_everything_is_denied_naming_what_is_missing() -> None:
    decision = decide((), parse_permission("models/write"))
    assert not decision.allowed
    assert decision.reason == "the permission models/write is missing"


def test_a_decision_says_which_grant_allowed_it() -> None:
    decision = decide(["models/read", "models/*"], parse_permission("models/write"))
    assert decision.reason == "models/write is covered by models/*"


@given(PATHS, st.integers(min_value=1, max_value=4))
def test_a_wildcard_covers_exactly_what_begins_with_what_stands_before_it(
    path: list[str], depth: int
) -> None:
    permission = parse_permission("/".join(path))
    prefix = permission.segments[:depth]
    granted = "/".join((*prefix, "*"))
    assert decide([granted], permission).allowed == (len(permission.segments) > depth)


@given(PATHS, PATHS)
def test_a_plain_grant_covers_itself_alone(held: list[str], needed: list[str]) -> None:
    granted, permission = "/".join(held), parse_permission("/".join(needed))
    assert decide([granted], permission).allowed == (parse_permission(granted) == permission)


@given(st.lists(st.text(alphabet="ab/*. \n", max_size=12), max_size=6), PATHS)
def test_no_text_grants_more_than_the_names_it_spells_out(
    granted: list[str], needed: list[str]
) -> None:
    permission = parse_permission("/".join(["zz", *needed]))
    assert not decide(granted, permission).allowed


@given(st.text(max_size=20))
def test_a_grant_reads_back_as_written(text: str) -> None:
    grant = parse_grant(text)
    assert grant is None or str(grant) in (text, "query/read")
