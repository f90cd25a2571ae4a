"""The settings sections of access: authentication, authorization, the MCP server, the token
server.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from twinframe.settings.section import (
    Bytes,
    Count,
    Seconds,
    Section,
    TlsSettings,
    check_bind,
    check_endpoint,
)

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]

_PUBLIC_URL: Final = re.compile(
    r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?"
)
_HOST_PATTERN: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?:[0-9]{1,5}|\*))?")
_MODES: Final = ("Jwt", "ApiKey", "None")
_DAY: Final = 24 * 3600


class ApiKeySettings(Section):
    """Where API keys are kept."""

    file: str = Field(
        default="var/api-keys.sqlite",
        min_length=1,
        description="Database of the keys, as salted hashes; made by `twinframe apikey create`.",
    )


class AuthenticationSettings(Section):
    """Who is calling."""

    enabled: bool = Field(default=False, description="Require credentials.")
    mode: str = Field(
        default="Jwt",
        description="Kinds of credentials: `Jwt`, `ApiKey`, both as `Jwt,ApiKey`, or `None` (for "
        "development: no credentials are required).",
    )
    allow_anonymous: bool = Field(
        default=False,
        description="Allow other machines to reach the service although it requires no "
        "credentials. Otherwise such a service does not start.",
    )
    authority: str = Field(
        default="",
        description="Base URL of the token issuer. Its keys are found by `/.well-known/openid- "
        "configuration` below it, or by RFC 8414 metadata.",
    )
    audience: str = Field(default="", description="Audience that a token must name.")
    issuer: str = Field(
        default="", description="Issuer that a token must name exactly. Empty: Authority."
    )
    metadata_address: str = Field(
        default="", description="URL of the issuer's metadata, if it is not below Authority."
    )
    jwks_uri: str = Field(
        default="", description="URL of the issuer's keys. If set, the metadata is not read."
    )
    keys_file: str = Field(
        default="",
        description="File with the issuer's keys (a JWK Set). If set, the issuer is not contacted.",
    )
    ca_file: str = Field(
        default="",
        description="PEM file with the authorities that sign the issuer's certificate; empty "
        "trusts those of the system.",
    )
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = Field(
        default=("RS256", "PS256", "ES256", "EdDSA"),
        description="Signature algorithms that are accepted.",
    )
    leeway: Annotated[float, Field(ge=0, le=300)] = Field(
        default=30.0, description="Seconds that the issuer's clock may be off."
    )
    max_token_lifetime: Seconds = Field(
        default=7 * _DAY, description="Most seconds from now until a token's `exp`."
    )
    max_token_bytes: Bytes = Field(default=8192, description="Longest token; more is 401.")
    token_cache: Count = Field(
        default=10_000, description="Verified tokens that a worker remembers until they expire."
    )
    keys_lifetime: Seconds = Field(
        default=300.0, description="Seconds after which the issuer's keys are read again."
    )
    keys_max_age: Seconds = Field(
        default=_DAY, description="Seconds that known keys stay in use while the issuer is down."
    )
    keys_timeout: Seconds = Field(default=5.0, description="Seconds for an answer of the issuer.")
    api_keys: ApiKeySettings = ApiKeySettings()

    @field_validator("mode")
    @classmethod
    def _check_mode(cls, value: str) -> str:
        by_fold = {mode.casefold(): mode for mode in _MODES}
        found = [by_fold.get(part.strip().casefold()) for part in value.split(",")]
        modes = [mode for mode in found if mode is not None]
        if len(modes) != len(found) or len(set(modes)) != len(modes):
            raise ValueError("must be Jwt, ApiKey, Jwt,ApiKey or None")
        if "None" in modes and len(modes) > 1:
            raise ValueError("None stands alone: it asks nobody for credentials")
        return ",".join(sorted(modes, key=_MODES.index))

    @field_validator("authority", "metadata_address", "jwks_uri")
    @classmethod
    def _check_url(cls, value: str) -> str:
        return check_endpoint(value)

    @model_validator(mode="after")
    def _check_issuer(self) -> Self:
        if not (self.enabled and self.takes_tokens):
            return self
        if not self.audience:
            raise ValueError("Audience must be set: the name of this service at its issuer")
        if not self.expected_issuer:
            raise ValueError("Authority or Issuer must be set: who signs the tokens")
        if not (self.authority or self.metadata_address or self.jwks_uri or self.keys_file):
            raise ValueError(
                "one of Authority, MetadataAddress, JwksUri and KeysFile must be set: where the "
                "keys of the issuer are"
            )
        return self

    @property
    def takes_tokens(self) -> bool:
        """Whether bearer tokens are accepted."""
        return "Jwt" in self.mode.split(",")

    @property
    def takes_api_keys(self) -> bool:
        """Whether API keys are accepted."""
        return "ApiKey" in self.mode.split(",")

    @property
    def asks(self) -> bool:
        """Whether callers need credentials at all."""
        return self.enabled and self.mode != "None"

    @property
    def expected_issuer(self) -> str:
        """The `iss` a token must have."""
        return self.issuer or self.authority


class AuthorizationSettings(Section):
    """What a caller may do."""

    enabled: bool | None = Field(
        default=None,
        description="Check permissions. Unset: if credentials are required.",
    )
    provider: str = Field(default="Claims", description="Name of the permission provider plugin.")
    required_scopes: tuple[str, ...] = Field(
        default=(),
        description="Scopes that each token must have. Only the MCP server requires those that "
        "begin with `mcp:`; it requires `mcp:tools` if this is empty.",
    )
    scopes_supported: tuple[str, ...] = Field(
        default=("mcp:tools", "mcp:resources"),
        description="Scopes that discovery names to clients.",
    )
    permissions_claim_name: str = Field(
        default="permissions", description="Claim that holds the caller's permissions."
    )

    @property
    def api_scopes(self) -> tuple[str, ...]:
        """The scopes that a token must carry for the API."""
        return tuple(scope for scope in self.required_scopes if not scope.startswith("mcp:"))


class McpSettings(Section):
    """The MCP server for AI assistants."""

    enabled: bool = Field(default=False, description="Serve MCP beside the API.")
    server_name: str = Field(default="twinframe", description="Name shown to clients.")
    version: str = Field(
        default="", description="Version shown to clients; empty takes twinframe's."
    )
    resource_server_url: str = Field(
        default="",
        description="Public URL of the MCP server, as clients use it. The server answers there, "
        "and discovery names it.",
    )
    bind: str = Field(
        default="127.0.0.1:8082",
        description="Address and port that `twinframe mcp` listens on.",
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        description="Further names of this server that a Host or Origin may have, as `host`, "
        "`host:port` or `host:*`. The names in the URLs and addresses of the settings "
        "are known.",
    )
    max_sessions: Count = Field(
        default=500, description="Streams that a worker keeps open at once; more are 503."
    )
    max_sessions_per_caller: Count = Field(
        default=100, description="Streams of one caller that a worker keeps open; more are 503."
    )
    read_only: bool = Field(
        default=False, description="Neither list nor run the tools that change the graph."
    )
    write_cypher: bool = Field(
        default=False,
        description="List and run `run_cypher`, by which assistants run statements that write, as "
        "far as the caller may.",
    )
    max_rows: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1000, description="Most rows of one answer, whatever a call requests."
    )
    max_bytes: Annotated[int, Field(ge=2048)] = Field(
        default=48 * 1024,
        description="Most bytes of one answer, in whole rows. A continuation returns the rest.",
    )
    query_timeout: Annotated[float, Field(gt=0, le=30)] = Field(
        default=30.0, description="Most seconds of a call's query, whatever the call requests."
    )

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        return check_bind(value)

    @field_validator("resource_server_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        # SEC: it is written in a quoted part of a header.
        if value and not _PUBLIC_URL.fullmatch(value):
            raise ValueError(
                "must be an http:// or https:// URL without user, query and fragment, such as "
                "https://twins.example/mcp"
            )
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if not _HOST_PATTERN.fullmatch(host):
                raise ValueError(f"{host!r} must be host, host:port or host:*")
        return tuple(host.lower() for host in value)


class TokenServerSettings(Section):
    """The token server of `twinframe auth-server`, for development and small installations."""

    bind: str = Field(default="127.0.0.1:8081", description="Address and port to listen on.")
    issuer: str = Field(
        default="",
        description="Its public URL: `iss` of its tokens and base of its addresses; empty is "
        "`http://` and the bind.",
    )
    directory: str = Field(
        default="var/auth", min_length=1, description="Where keys and clients are kept."
    )
    audiences: tuple[str, ...] = Field(
        default=(),
        description="Audiences that it issues tokens for. Empty: `Authentication__Audience` and "
        "`MCP__ResourceServerUrl`.",
    )
    algorithm: Literal["RS256", "ES256", "EdDSA"] = Field(
        default="ES256", description="Signature of its tokens."
    )
    token_lifetime: Annotated[int, Field(ge=1, le=7 * _DAY)] = Field(
        default=3600, description="Seconds a token is valid."
    )
    key_lifetime: Annotated[int, Field(ge=60)] = Field(
        default=90 * _DAY, description="Seconds after which it signs with a new key."
    )
    tls: TlsSettings = TlsSettings()

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        return check_bind(value)

    @field_validator("issuer")
    @classmethod
    def _check_issuer(cls, value: str) -> str:
        return check_endpoint(value)
