"""The base class of all settings sections, with shared units, TLS settings and address checks."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_pascal

Seconds = Annotated[float, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]

LOOPBACK_BINDS: Final = ("127.", "localhost:", "[::1]:", "unix:")
"""The prefixes of bind addresses that no other machine can reach."""

_BIND: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@]+", re.IGNORECASE)
_LOOPBACK_HOSTS: Final = frozenset(("localhost", "::1"))


def _build_key(field: str) -> str:
    return "MCP" if field == "mcp" else to_pascal(field.rstrip("_"))


class Section(BaseModel):
    """Base of every section: frozen, unknown keys refused. Plugins derive their sections from it.

    Keys are written `PascalCase` in files and environment (`Server__MaxBodyBytes`), in any case.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=_build_key,
        populate_by_name=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,  # SEC: a refused value may be a secret
    )

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_as_number(cls, value: Any, info: ValidationInfo) -> Any:
        number = cls.model_fields[info.field_name or ""].annotation in (int, float)
        if number and isinstance(value, bool):  # in Python `true` is 1
            raise ValueError("must be a number, not true or false")
        return value


class TlsSettings(Section):
    """TLS of the listening socket; off while `Certificate` is empty."""

    certificate: str = Field(default="", description="PEM file with the certificate chain.")
    key: str = Field(default="", description="PEM file with the private key.")

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("Certificate and Key must be set together")
        return self


def check_bind(value: str) -> str:
    """Check the address to listen on and return it unchanged.

    Raises `ValueError` for another form.
    """
    if value.startswith("unix:/"):
        return value
    found = _BIND.fullmatch(value)
    if found is None or int(found[1]) > 65535:
        raise ValueError("must be host:port, such as 127.0.0.1:8080, [::1]:8080 or unix:/path")
    return value


def is_origin(value: str) -> bool:
    """Return whether this is scheme and authority and nothing else."""
    return _ORIGIN.fullmatch(value) is not None


def check_endpoint(value: str) -> str:
    """Check the URL of an endpoint for secrets or keys and return it unchanged; empty is none.

    SEC: plain HTTP only to this machine, no user information, no fragment. Raises `ValueError`.
    """
    if not value:
        return value
    try:
        parts = urlsplit(value)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    is_near = host in _LOOPBACK_HOSTS or host.startswith("127.")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_near)):
        raise ValueError("must be an https:// URL (http:// only for this machine itself)")
    if "@" in parts.netloc or parts.fragment or any(character <= " " for character in value):
        raise ValueError("must be a URL without user, fragment and blanks")
    return value


def check_named_endpoint(name: str, value: str, *, allow_plain_http: bool) -> None:
    """Check the URL in the key `name` of a section that has a key `AllowPlainHttp`.

    Raises `ValueError` with the name.
    """
    plain = value.startswith("http://")
    try:
        check_endpoint(value.replace("http", "https", 1) if plain and allow_plain_http else value)
    except ValueError as error:
        hint = "; AllowPlainHttp=true allows http:// elsewhere" if plain else ""
        raise ValueError(f"{name} {error}{hint}") from error
