"""The settings of a Kafka endpoint, and of a Kafka source."""

from __future__ import annotations

import re
from typing import Final, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.hooks.event_sinks.addressing import check_template
from twinframe.settings import Bytes, Seconds, Section

_SERVER: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+):[0-9]{1,5}")


class ClusterSettings(Section):
    """An Apache Kafka cluster, and how to connect."""

    servers: tuple[str, ...] = Field(
        description="Some of the cluster's brokers, such as `kafka.example:9093`.", min_length=1
    )
    tls: bool = Field(default=True, description="Encrypt the connection and check the brokers.")
    certificate_authority: str = Field(
        default="", description="PEM file of the authorities to trust. Empty: those of the system."
    )
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="SCRAM-SHA-512", description="How Username and Password are sent (SASL)."
    )
    username: str = Field(
        default="", description="User name at the cluster. Empty: no authentication."
    )
    password: SecretStr = Field(default=SecretStr(""), description="Its password.")

    @field_validator("servers")
    @classmethod
    def _check_servers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for server in value:
            if not _SERVER.fullmatch(server):
                raise ValueError(
                    f"{server!r} must be a host and a port, such as kafka.example:9093"
                )
        return value

    @model_validator(mode="after")
    def _check_secret(self) -> Self:
        if self.username and not self.tls and self.mechanism == "PLAIN":
            raise ValueError(
                "Password must not be sent in the clear: set Tls, or a SCRAM Mechanism"
            )
        return self


class KafkaSettings(ClusterSettings):
    """An Apache Kafka cluster that takes events."""

    topic: str = Field(
        default="twinframe-events",
        description="Topic of all events, or a template with `{type}`. The record's key is the "
        "twin's id, so that a partition keeps the order of each twin.",
    )
    compression: Literal["none", "gzip"] = Field(
        default="none", description="How records are compressed."
    )
    max_request_bytes: Bytes = Field(
        default=4 * 1024 * 1024,
        description="Largest request to a broker; its own limits must be as high.",
    )
    timeout: Seconds = Field(
        default=30.0, description="Seconds for the cluster to take an event on all its replicas."
    )

    @field_validator("topic")
    @classmethod
    def _check_topic(cls, value: str) -> str:
        check_template(value, "/ ,:\"'\\*")
        if any(place in value for place in ("{key}", "{subject}", "{source}")):
            raise ValueError("knows only {type}: a topic of each twin would be too many for Kafka")
        return value


class KafkaSourceSettings(ClusterSettings):
    """An Apache Kafka cluster whose records are taken in."""

    group: str = Field(
        default="",
        description="Consumer group, under which the cluster keeps what was acknowledged. Empty: "
        "one of the graph and the source.",
    )
    timeout: Seconds = Field(default=30.0, description="Seconds for the cluster to answer.")
