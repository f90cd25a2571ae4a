"""Parses token requests strictly: body, credentials, `Authorization` header.

A parameter that is duplicated, of another type or contradictory is refused; `grants` checks the
values.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_plus

from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError

from twinframe.errors import InputError
from twinframe.model.json import JsonLimits, parse_json

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

_MAX_FIELDS = 32
_LIMITS = JsonLimits(max_depth=4, max_keys=_MAX_FIELDS)
_UNPRINTABLE = re.compile(r"[^ !#-\[\]-~]")  # SPEC: RFC 6749 section 5.2, of error_description


class ClientRefused(InvalidClientError):  # type: ignore[misc]  # authlib has no types
    """Client authentication failed. SEC: one answer, whatever is wrong."""

    status_code = 401
    description = "Client authentication failed."

    def get_headers(self) -> list[tuple[str, str]]:
        """Return the headers with the challenge that RFC 9110 requires of every 401."""
        headers: list[tuple[str, str]] = [*OAuth2Error.get_headers(self)]
        return [*headers, ("WWW-Authenticate", 'Basic realm="twinframe", charset="UTF-8"')]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client's id and secret."""

    client_id: str
    client_secret: str


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The parameters of a token request, without empty ones, and its credentials."""

    parameters: Mapping[str, str]
    credentials: Credentials


def build_request_error(description: str) -> OAuth2Error:
    """Build `invalid_request`; characters that RFC 6749 does not allow in a description become
    `?`.
    """
    return InvalidRequestError(_UNPRINTABLE.sub("?", description))


def parse_token_request(
    content_type: str | None, body: bytes, authorization: Sequence[bytes]
) -> TokenRequest:
    """Parse the token request of these fields; `authorization` are all headers of that name.

    Raises `OAuth2Error`: `invalid_request`, or `invalid_client` if there are no credentials.
    """
    parameters = parse_parameters(content_type, body)
    return TokenRequest(parameters, _find_credentials(parameters, authorization))


def parse_parameters(content_type: str | None, body: bytes) -> dict[str, str]:
    """Parse the parameters of a body in either form. Raises `OAuth2Error`."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    match kind:
        case "application/x-www-form-urlencoded":
            found = _parse_form(body)
        case "application/json":
            found = _parse_object(body)
        case _:
            raise build_request_error(f"The Content-Type must be {FORM} or {JSON}.")
    # SPEC: RFC 6749 section 3.2: a parameter without a value counts as left out.
    return {name: value for name, value in found.items() if value}


def _parse_form(body: bytes) -> dict[str, str]:
    if not body:
        return {}
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MAX_FIELDS,
        )
    except ValueError as error:  # includes broken UTF-8
        raise build_request_error("The body is not a well-formed form.") from error
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise build_request_error(f"The parameter {name[:64]} is sent more than once.")
        found[name] = value
    return found


def _parse_object(body: bytes) -> dict[str, str]:
    try:
        document = parse_json(body, _LIMITS)
    except InputError as error:
        raise build_request_error(error.message) from error
    if not isinstance(document, dict):
        raise build_request_error("The body must be a JSON object.")
    found: dict[str, str] = {}
    for name, value in document.items():
        if not isinstance(value, str):
            raise build_request_error(f"The parameter {name[:64]} must be a string.")
        found[name] = value
    return found


def _find_credentials(parameters: Mapping[str, str], authorization: Sequence[bytes]) -> Credentials:
    client_id, secret = parameters.get("client_id"), parameters.get("client_secret")
    if not authorization:
        if client_id is None or secret is None:
            raise ClientRefused("client_id and client_secret are needed.")
        return Credentials(client_id, secret)
    # SPEC: RFC 6749 section 2.3: not more than one method in a request.
    if len(authorization) > 1 or secret is not None:
        raise build_request_error("Show the client's credentials in one way only.")
    credentials = _parse_basic(authorization[0])
    if client_id is not None and client_id != credentials.client_id:
        raise build_request_error("client_id is not that of the Authorization header.")
    return credentials


def _parse_basic(value: bytes) -> Credentials:
    scheme, _blank, encoded = value.strip().partition(b" ")
    if scheme.lower() != b"basic":
        raise ClientRefused
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
        client_id, colon, secret = text.partition(":")
        # SPEC: RFC 6749 section 2.3.1: both are encoded as in a form.
        credentials = Credentials(
            unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
        )
    except (binascii.Error, UnicodeError) as error:
        raise ClientRefused from error
    if not (colon and client_id and secret):
        raise ClientRefused
    return credentials
