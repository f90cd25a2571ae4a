"""The settings section `Authorization__ApiProvider`. It reads no file and calls nobody."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from twinframe.settings import Seconds, Section


class ApiProviderSettings(Section):
    """The HTTP service that knows the permissions of callers, and how to ask it."""

    base_url: str = Field(description="Address of the service, such as `https://control.example`.")
    check_endpoint: str = Field(
        default="/api/v1/permissions/check",
        description="Path of the check. `{userId}` and `{resourceName}` are put in; without any of "
        "them `?scopeType=resource&scopeId=…&userId=…` is appended.",
    )
    resource_name: Annotated[str, Field(min_length=1)] = Field(
        default="default", description="Name of this graph at the service."
    )
    timeout_seconds: Seconds = Field(
        default=5.0, description="Seconds for the whole answer; later is no permissions."
    )
    max_answer_bytes: Annotated[int, Field(gt=0)] = Field(
        default=1024 * 1024, description="Largest answer that is read; more is no permissions."
    )
    bearer_token: SecretStr = Field(
        default=SecretStr(""), description="Static token sent to the service; empty sends none."
    )

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise ValueError("must start with https:// or http://")
        return value.rstrip("/")

    @field_validator("check_endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError("must start with /")
        rest = value.replace("{userId}", "").replace("{resourceName}", "")
        if "{" in rest or "}" in rest:
            raise ValueError("may hold {userId} and {resourceName} and no other braces")
        return value
