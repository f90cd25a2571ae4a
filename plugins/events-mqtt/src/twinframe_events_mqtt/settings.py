"""The settings of an MQTT endpoint, and of an MQTT source."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.hooks.event_sinks.addressing import check_template
from twinframe.settings import Seconds, Section

SPECIAL: Final = "/+#"
"""Characters with a special meaning in an MQTT topic."""


class BrokerSettings(Section):
    """An MQTT 5 broker, and how to connect to it."""

    host: str = Field(description="Host name of the broker.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=0, description="Its port; 0 is 8883 with TLS and 1883 without."
    )
    tls: bool = Field(default=True, description="Encrypt the connection and check the broker.")
    certificate_authority: str = Field(
        default="", description="PEM file of the authorities to trust. Empty: those of the system."
    )
    certificate: str = Field(
        default="", description="PEM file of a client certificate; it requires Key."
    )
    key: str = Field(default="", description="PEM file of its private key.")
    username: str = Field(default="", description="User name at the broker.")
    password: SecretStr = Field(default=SecretStr(""), description="Its password.")
    keepalive: Annotated[int, Field(ge=5, le=3600)] = Field(
        default=30, description="Seconds after which a silent connection is checked."
    )

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("Certificate and Key must be set together")
        return self


class MqttSettings(BrokerSettings):
    """An MQTT 5 broker that takes events."""

    topic: str = Field(
        default="twinframe/{type}/{key}",
        description="Topic of an event, with `{type}`, `{key}` (the twin's id), `{subject}` and "
        "`{source}`. Their values are percent-encoded where they would end a level.",
    )
    client_id: str = Field(
        default="", description="Beginning of the client id. Each worker has an id of its own."
    )
    qos: Literal[0, 1, 2] = Field(
        default=1, description="Quality of service. With 0, events may be lost."
    )
    retain: bool = Field(
        default=False, description="Let the broker keep the last event of each topic."
    )
    timeout: Seconds = Field(
        default=15.0, description="Seconds for the broker to answer or to take an event."
    )

    @field_validator("topic")
    @classmethod
    def _check_topic(cls, value: str) -> str:
        return check_template(value, "+#")

    @field_validator("qos", mode="before")
    @classmethod
    def _read_qos(cls, value: object) -> object:
        return int(value) if isinstance(value, str) and value in ("0", "1", "2") else value


class MqttSourceSettings(BrokerSettings):
    """An MQTT 5 broker whose messages are taken in."""

    client_id: str = Field(
        default="",
        description="Client id, under which the broker keeps messages while the service is away. "
        "Empty: one of the graph and the source.",
    )
    qos: Literal[0, 1] = Field(
        default=1,
        description="Quality of service of the subscription. With 0, messages may be lost. A "
        "message of 2 comes with 1: it may come twice.",
    )
    session_hours: Annotated[float, Field(ge=0, le=24 * 365)] = Field(
        default=24.0 * 7,
        description="Hours for which the broker keeps messages while the service is away.",
    )
    timeout: Seconds = Field(default=15.0, description="Seconds for the broker to answer.")

    @field_validator("qos", mode="before")
    @classmethod
    def _read_qos(cls, value: object) -> object:
        if str(value) == "2":
            raise ValueError(
                "must be 0 or 1: with 2 the broker forgets a message before it is stored here"
            )
        return int(value) if isinstance(value, str) and value in ("0", "1") else value
