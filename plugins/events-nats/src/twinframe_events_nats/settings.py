"""The settings of a NATS endpoint, and of a NATS source."""

from __future__ import annotations

from typing import Final

from pydantic import Field, SecretStr, field_validator

from twinframe.hooks.event_sinks.addressing import check_template
from twinframe.settings import Seconds, Section

SPECIAL: Final = ".*>"
"""Characters with a special meaning in a NATS subject."""

_SCHEMES: Final = ("nats://", "tls://", "ws://", "wss://")


class ServerSettings(Section):
    """A NATS server, or a cluster of them, and how to connect."""

    servers: tuple[str, ...] = Field(
        description="Addresses of the servers, such as `tls://nats.example:4222`.", min_length=1
    )
    certificate_authority: str = Field(
        default="", description="PEM file of the authorities to trust. Empty: those of the system."
    )
    username: str = Field(default="", description="User name at the server.")
    password: SecretStr = Field(default=SecretStr(""), description="Its password.")
    token: SecretStr = Field(
        default=SecretStr(""), description="Token, instead of user name and password."
    )
    credentials: str = Field(default="", description="File of credentials (JWT and NKey seed).")
    timeout: Seconds = Field(
        default=10.0, description="Seconds for the server to answer or to take an event."
    )

    @field_validator("servers")
    @classmethod
    def _check_servers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for server in value:
            if not server.startswith(_SCHEMES) or "@" in server:
                raise ValueError(
                    f"{server!r} must be an address such as tls://nats.example:4222; user and "
                    "password stand in Username and Password"
                )
        return value


class NatsSettings(ServerSettings):
    """A NATS server, or a cluster of them, that takes events."""

    subject: str = Field(
        default="twinframe.{type}.{key}",
        description="Subject of an event, with `{type}` (of several levels), `{key}` (the twin's "
        "id), `{subject}` and `{source}`; ids are percent-encoded where they would end a level.",
    )
    jetstream: bool = Field(
        default=True,
        description="Wait until a stream has stored the event; a stream for the subject must "
        "exist. If false, an event without a listener is lost.",
    )

    @field_validator("subject")
    @classmethod
    def _check_subject(cls, value: str) -> str:
        check_template(value, "*> ")
        if any(not level for level in value.split(".")):
            raise ValueError("must not have an empty level between its dots")
        return value


class NatsSourceSettings(ServerSettings):
    """A JetStream stream whose messages are taken in."""

    stream: str = Field(
        description="Name of the stream, which must exist, and be no work queue.", min_length=1
    )
    timeout: Seconds = Field(default=10.0, description="Seconds for the server to answer.")

    @field_validator("stream")
    @classmethod
    def _check_stream(cls, value: str) -> str:
        found = next((char for char in value if char in "./\\*> " or not char.isprintable()), None)
        if found is not None:
            raise ValueError(f"must not contain {found!a}")
        return value
