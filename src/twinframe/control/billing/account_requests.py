"""Parses and validates the bodies of requests for billing accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinframe.control.records.actors import parse_email
from twinframe.control.records.names import parse_name
from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.model.values import JsonValue

_MEMBERS: Final = ("name", "email", "details")
_MOST_DETAILS: Final = 20
_LONGEST_KEY: Final = 64
_LONGEST_VALUE: Final = 500


@dataclass(frozen=True, slots=True)
class AccountDraft:
    """The requested contents of an account.

    `details` are required on a bill: address, tax number.
    """

    name: str
    email: str
    details: Mapping[str, str]


def parse_account(body: JsonValue) -> AccountDraft:
    """Parse a whole account: `name`, `email`, and optional `details`. Raises `InvalidArgument`."""
    if not isinstance(body, dict):
        raise InvalidArgument("The body must be a JSON object with name and email.")
    for member in body:
        if member not in _MEMBERS:
            hint = render_hint(member, _MEMBERS, "It has")
            raise InvalidArgument(f"A billing account has no member {member[:100]!a}. {hint}")
    return AccountDraft(
        parse_name("a billing account", _read_text(body, "name")),
        parse_email(_read_text(body, "email")),
        _parse_details(body.get("details", {})),
    )


def _read_text(body: Mapping[str, JsonValue], member: str) -> str:
    value = body.get(member)
    if isinstance(value, str):
        return value
    raise InvalidArgument(f"A billing account needs the text {member}.")


def _parse_details(value: JsonValue) -> Mapping[str, str]:
    refusal = (
        f"details is an object of at most {_MOST_DETAILS} texts: names of 1 to {_LONGEST_KEY} "
        f"characters, values of at most {_LONGEST_VALUE}."
    )
    if not isinstance(value, dict) or len(value) > _MOST_DETAILS:
        raise InvalidArgument(refusal)
    found = {}
    for name, text in value.items():
        if not isinstance(text, str) or len(text) > _LONGEST_VALUE:
            raise InvalidArgument(refusal)
        if not 1 <= len(name) <= _LONGEST_KEY:
            raise InvalidArgument(refusal)
        found[name] = text
    return found
