"""Which email addresses are one, which are refused, and that nobody takes another's invitation."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.control.tenants.access_world import ACME, ANN, World, run
from twinframe.control.records.actors import Actor, Principal, find_address, parse_principal
from twinframe.errors import InvalidArgument

FOLDED = {
    "\u212aate@example.com": "kate@example.com",
    "kate@example\u3002com": "kate@example.com",
    "\uff4bate@example.com": "kate@example.com",
    "kate\uff20example.com": "kate@example.com",
    "m\u0131ra@example.com": "mira@example.com",
    "m\u0130ra@example.com": "mira@example.com",
    "\u017fam@example.com": "sam@example.com",
    "stra\u00dfe@example.com": "strasse@example.com",
    "\ufb01nn@example.com": "finn@example.com",
    "J\u00d6RG@example.com": "j\u00f6rg@example.com",
    "jo\u0308rg@example.com": "j\u00f6rg@example.com",
    "kate\ufe0f@example.com": "kate@example.com",
    "ka\u034fte@example.com": "kate@example.com",
    "\U0001d424ate@example.com": "kate@example.com",
    "k\u00aate@example.com": "kate@example.com",
}


@pytest.mark.parametrize("shown", FOLDED)
def test_an_address_that_folds_into_another_neither_takes_its_invitation_nor_is_invited(
    world: World, shown: str
) -> None:
    invited = parse_principal(email=FOLDED[shown])
    run(world.assignments.grant(ANN, ACME, invited, "owner"))
    thief = Actor("thief", shown)
    if shown.count("@") == 1:
        assert run(world.users.see(thief)).email == ""
    assert thief.principals == (Principal("subject", "thief"),)
    assert world.permissions(thief, ACME) == ()
    with pytest.raises(InvalidArgument, match=r"cannot be invited|no email address"):
        parse_principal(email=shown)
    run(world.users.see(Actor("friend", FOLDED[shown])))
    assert "access/*" in world.permissions(Actor("friend"), ACME)


@pytest.mark.parametrize(
    "held", ["kate@example.com", "j\u00f6rg@b\u00fccher.example", "\u674e@\u4f8b.example"]
)
def test_an_address_is_the_same_in_small_and_capital_ascii_letters(world: World, held: str) -> None:
    sent = "".join(each.upper() if each.isascii() else each for each in held)
    run(world.assignments.grant(ANN, ACME, parse_principal(email=sent), "viewer"))
    run(world.users.see(Actor("friend", held)))
    assert "projects/read" in world.permissions(Actor("friend"), ACME)


def test_no_letter_of_unicode_is_taken_for_another_but_a_to_z() -> None:
    known: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if not letter.isprintable() or letter in "@ ":
            continue
        address = find_address(f"{letter}@b")
        if not address:
            continue
        assert known.setdefault(address, letter) == letter or letter.isascii(), ascii(letter)
        assert unicodedata.normalize("NFKC", address).casefold() == address, ascii(letter)


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_two_addresses_are_one_only_if_they_differ_in_ascii_capitals(one: str, other: str) -> None:
    first, second = find_address(f"{one}@b"), find_address(f"{other}@b")
    if first and first == second:
        assert [a for a, b in zip(one, other, strict=True) if a != b and not a.isascii()] == []
    if first:
        assert find_address(first) == first
        assert unicodedata.normalize("NFKC", first.casefold()) == first
