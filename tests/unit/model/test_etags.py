"""Etags and the two precondition headers."""

from __future__ import annotations

import re

import pytest

from twinframe.errors import InvalidArgument, PreconditionFailed
from twinframe.model.etags import build_etag, parse_condition, parse_put_condition

ETAG = 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"'
OTHER = 'W/"00000000-0000-4000-8000-000000000000"'


def test_an_etag_is_weak_a_guid_and_new_each_time() -> None:
    etags = {build_etag() for _ in range(100)}
    assert len(etags) == 100
    assert all(re.fullmatch(r'W/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', x) for x in etags)


@pytest.mark.parametrize("header", [None, "*", " * ", ETAG, ETAG[2:], f"{OTHER} ,{ETAG}"])
def test_a_header_that_names_the_etag_holds(header: str | None) -> None:
    parse_condition(header).check(ETAG, "a twin")


@pytest.mark.parametrize("header", [OTHER, '""', 'W/"x"', f"{OTHER}, {OTHER}"])
def test_a_header_that_names_others_fails(header: str) -> None:
    with pytest.raises(PreconditionFailed) as caught:
        parse_condition(header).check(ETAG, "a twin")
    assert ETAG in caught.value.message


@pytest.mark.parametrize(
    "header",
    ["XXX", "", " ", "W/", 'w/"x"', f"{ETAG} {OTHER}", f"{ETAG},", '"\r\n"', f"*,{ETAG}"],
)
def test_a_header_without_etags_is_refused(header: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_condition(header)
    assert "Invalid If-Match header value" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("header", ["*", ETAG])
def test_nothing_that_is_not_stored_has_an_etag(header: str) -> None:
    with pytest.raises(PreconditionFailed, match=r"but a twin was not found"):
        parse_condition(header).check(None, "a twin")
    parse_condition(None, header).check(None, "a twin")


@pytest.mark.parametrize("header", ["*", ETAG, ETAG[2:], f"{OTHER}, {ETAG}"])
def test_if_none_match_fails_for_what_is_stored_under_the_etag(header: str) -> None:
    with pytest.raises(
        PreconditionFailed, match=r"If-None-Match: (\*|W/\S+) .* but a twin was found"
    ):
        parse_condition(None, header).check(ETAG, "a twin")
    parse_condition(None, OTHER).check(ETAG, "a twin")


def test_both_headers_have_to_hold() -> None:
    parse_condition(ETAG, OTHER).check(ETAG, "a twin")
    for headers in ((OTHER, OTHER), (ETAG, ETAG), ("*", "*")):
        with pytest.raises(PreconditionFailed):
            parse_condition(*headers).check(ETAG, "a twin")
    with pytest.raises(PreconditionFailed):
        parse_put_condition("*", "*").check(None, "a twin")


def test_if_none_match_of_a_put_takes_a_star_only() -> None:
    assert parse_put_condition(None, "*").is_asked
    assert not parse_put_condition(None, None).is_asked
    for header in ("XXX", ETAG, "", "**"):
        with pytest.raises(InvalidArgument, match="Invalid If-None-Match header value"):
            parse_put_condition(None, header)
