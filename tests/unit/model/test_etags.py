"""Etags and the two precondition headers."""

from __future__ import annotations

import re

import pytest

from twinframe.errors import InvalidArgument, PreconditionFailed
from twinframe.model.etags import build_etag, parse_if_match, parse_if_none_match

ETAG = 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"'
OTHER = 'W/"00000000-0000-4000-8000-000000000000"'


def test_an_etag_is_weak_a_guid_and_new_each_time() -> None:
    etags = {build_etag() for _ in range(100)}
    assert len(etags) == 100
    assert all(re.fullmatch(r'W/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', x) for x in etags)


@pytest.mark.parametrize("header", [None, "*", " * ", ETAG, ETAG[2:], f"{OTHER} ,{ETAG}"])
def test_a_header_that_names_the_etag_holds(header: str | None) -> None:
    parse_if_match(header).check(ETAG)


@pytest.mark.parametrize("header", [OTHER, '""', 'W/"x"', f"{OTHER}, {OTHER}"])
def test_a_header_that_names_others_fails(header: str) -> None:
    with pytest.raises(PreconditionFailed) as caught:
        parse_if_match(header).check(ETAG)
    assert ETAG in caught.value.message


@pytest.mark.parametrize(
    "header",
    ["XXX", "", " ", "W/", 'w/"x"', f"{ETAG} {OTHER}", f"{ETAG},", '"\r\n"', f"*,{ETAG}"],
)
def test_a_header_without_etags_is_refused(header: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_if_match(header)
    assert "Invalid If-Match header value" in caught.value.message
    assert "\n" not in caught.value.message


def test_if_none_match_takes_a_star_only() -> None:
    assert parse_if_none_match("*")
    assert not parse_if_none_match(None)
    for header in ("XXX", ETAG, "", "**"):
        with pytest.raises(InvalidArgument, match="Invalid If-None-Match header value"):
            parse_if_none_match(header)
