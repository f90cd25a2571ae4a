"""The settings section `Explorer`."""

from __future__ import annotations

import re
from typing import Final

from pydantic import Field, field_validator

from twinframe.settings import Section, check_endpoint

# SEC: these values become part of a header that bounds what the page may call.
ORIGIN: Final = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?")


class ExplorerSettings(Section):
    """The explorer: whether it is served, and how people sign in. It takes no secret."""

    enabled: bool = Field(default=True, description="Serve the explorer at `/explorer`.")
    client_id: str = Field(
        default="",
        description="The explorer's client id at the issuer, a public client with Authorization "
        "Code and PKCE. Empty: no sign-in; users paste a token.",
    )
    authority: str = Field(
        default="",
        description="Issuer at which users sign in, found as `Authentication__Authority` is. "
        "Empty: the same.",
    )
    scopes: tuple[str, ...] = Field(
        default=(),
        description="Scopes to request. Empty: `openid`, and those that the API and the control "
        "plane require.",
    )
    audience: str = Field(
        default="",
        description="Audience of the requested token. Empty: `Authentication__Audience`.",
    )
    origins: tuple[str, ...] = Field(
        default=(),
        description="Further origins that the page may call: those of an issuer whose endpoints "
        "are not where its authority is.",
    )
    directory: str = Field(
        default="",
        description="Directory with a built page, for its developers. Empty: the page of the "
        "distribution.",
    )

    @field_validator("authority")
    @classmethod
    def _check_authority(cls, value: str) -> str:
        return check_endpoint(value)

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{origin!r} is no origin: write it such as https://login.example, without a "
                    "path"
                )
        return value
