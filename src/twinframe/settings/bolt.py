"""The settings of the Bolt server."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field, field_validator

from twinframe.settings.section import (
    Bytes,
    Count,
    Seconds,
    Section,
    TlsSettings,
    check_bind,
    check_endpoint,
)

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,62}")


class BoltSettings(Section):
    """The Bolt server, for the drivers of Neo4j."""

    enabled: bool = Field(default=False, description="Serve Bolt beside the API.")
    bind: str = Field(default="127.0.0.1:7687", description="Address and port to listen on.")
    tls: TlsSettings = Field(
        default=TlsSettings(),
        description="TLS of this listener; without it, that of `Server__Tls`.",
    )
    database: str = Field(
        default="neo4j",
        description="Name of the service's own graph as a database; clients that name none get it. "
        "Hosted graphs have their ids as names.",
    )
    advertised: str = Field(
        default="",
        description="`host:port` that routing drivers (`neo4j://`) are told to use, such as that "
        "of the load balancer. Empty: the address that the driver itself used.",
    )
    nodes: tuple[str, ...] = Field(
        default=(),
        description="`host:port` of all nodes of the service, the same on each of them: routing "
        "drivers spread their sessions over these. Empty: this node alone.",
    )
    token_endpoint: str = Field(
        default="",
        description="Token endpoint of the issuer, such as `https://issuer.example/oauth/token`: "
        "user and password of a login are exchanged there, as a client's id and secret, for an "
        "access token. Empty: the password is an API key.",
    )
    login_timeout: Seconds = Field(
        default=10.0, description="Seconds from the connection to the end of its login."
    )
    idle_timeout: Seconds = Field(
        default=3600.0, description="Seconds that a connection is kept without a message."
    )
    message_timeout: Seconds = Field(
        default=15.0, description="Seconds that a message may take to come as a whole."
    )
    write_timeout: Seconds = Field(
        default=30.0, description="Seconds without progress for a client to take an answer."
    )
    max_message_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Largest message: a statement with its parameters. 8 KiB before the login.",
    )
    max_connections: Count = Field(
        default=1000,
        description="Connections that a worker serves at once. For a new one beyond that, the "
        "worker closes the one that has been idle longest, of the address with the most.",
    )
    max_connections_per_address: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Connections of one client address that a worker serves at once. 0 is three "
        "quarters of MaxConnections.",
    )
    transaction_timeout: Seconds = Field(
        default=60.0,
        description="Seconds that an explicit transaction may be open; a driver may set less.",
    )
    write_hold: Seconds = Field(
        default=4.0,
        description="Seconds that an explicit transaction may take from its first statement that "
        "writes to its commit: no other write of the graph runs meanwhile. Keep it below "
        "Storage__WriteWait.",
    )

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        if value.startswith("unix:"):
            raise ValueError("must be host:port, such as 127.0.0.1:7687")
        return check_bind(value)

    @field_validator("advertised")
    @classmethod
    def _check_advertised(cls, value: str) -> str:
        return check_bind(value) if value else value

    @field_validator("token_endpoint")
    @classmethod
    def _check_token_endpoint(cls, value: str) -> str:
        return check_endpoint(value)

    @field_validator("nodes")
    @classmethod
    def _check_nodes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(check_bind, value))

    @field_validator("database")
    @classmethod
    def _check_database(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("must begin with a letter, of letters, digits, `.` and `-`")
        return value
