"""The settings section `Authorization__ApiProvider`."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.settings import Bytes, Count, Seconds, Section, check_named_endpoint


class ApiProviderSettings(Section):
    """The HTTP service that knows the permissions of callers, and how to ask it."""

    base_url: str = Field(description="Address of the service, such as `https://control.example`.")
    check_endpoint: str = Field(
        default="/api/v1/permissions/check",
        description="Path of the check. `{userId}` and `{resourceName}` are put in; without any of "
        "them `?scopeType=resource&scopeId=…&userId=…` is appended, and `&graph=service` for the "
        "service's own graph.",
    )
    resource_name: Annotated[str, Field(min_length=1)] = Field(
        default="default", description="Name of the service's own graph in requests to the service."
    )
    cache_expiration_minutes: Annotated[float, Field(ge=0, le=24 * 60)] = Field(
        default=0.0,
        description="Minutes that an answer is reused; fractions are allowed. With 0 every "
        "request asks the service, so that revoked permissions end at once.",
    )
    cache_size: Count = Field(
        default=10_000, description="Most users whose answers a worker remembers."
    )
    timeout_seconds: Seconds = Field(
        default=5.0,
        description="Seconds for the whole answer. After that the caller has no permissions.",
    )
    max_answer_bytes: Bytes = Field(
        default=64 * 1024,
        description="Largest answer that is read. With a larger one the caller has no permissions.",
    )
    max_connections: Count = Field(
        default=20, description="Most connections of a worker to the service."
    )
    breaker_failures: Count = Field(
        default=5,
        description="Failures in a row after which the service is not called for BreakerSeconds.",
    )
    breaker_seconds: Seconds = Field(
        default=10.0,
        description="Seconds in which the service is not called, and nobody has permissions. Then "
        "one call tries it again.",
    )
    ca_file: str = Field(
        default="",
        description="PEM file with the certificates to trust instead of those of the system.",
    )
    allow_plain_http: bool = Field(
        default=False,
        description="Allow `http://` to other machines. Use it only in a network of your own: "
        "whoever can answer there can grant anything.",
    )
    bearer_token: SecretStr = Field(
        default=SecretStr(""), description="Static token sent to the service; empty sends none."
    )
    token_endpoint: str = Field(
        default="",
        description="URL that issues tokens for the service, by client credentials. Empty: none.",
    )
    client_id: str = Field(default="", description="Client id at TokenEndpoint.")
    client_secret: SecretStr = Field(
        default=SecretStr(""), description="Client secret at TokenEndpoint."
    )
    audience: str = Field(default="", description="Audience of the requested token. Empty: none.")
    scope: str = Field(
        default="",
        description="Scope of the requested token, such as `access:platform`. Empty: the issuer's "
        "default.",
    )

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise ValueError("must start with https:// or http://")
        if "?" in value:
            raise ValueError("must be a URL without a query")
        return value.rstrip("/")

    @field_validator("check_endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError("must start with /")
        rest = value.replace("{userId}", "").replace("{resourceName}", "")
        if "{" in rest or "}" in rest:
            raise ValueError("may hold {userId} and {resourceName} and no other braces")
        if "#" in rest or any(character <= " " for character in rest):
            raise ValueError("must be a path without fragment and blanks")
        return value

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        for name, value in (("BaseUrl", self.base_url), ("TokenEndpoint", self.token_endpoint)):
            check_named_endpoint(name, value, allow_plain_http=self.allow_plain_http)
        return self

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        grant = (self.token_endpoint, self.client_id, self.client_secret.get_secret_value())
        if any(grant) and not all(grant):
            raise ValueError("TokenEndpoint, ClientId and ClientSecret must be set together")
        if self.token_endpoint and self.bearer_token.get_secret_value():
            raise ValueError("BearerToken and TokenEndpoint exclude each other")
        return self
