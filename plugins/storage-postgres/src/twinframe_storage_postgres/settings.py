"""The settings section `Storage__Postgres`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import Field, SecretStr, field_validator

from twinframe.settings import Count, Seconds, Section

_PREFIX: Final = re.compile(r"[a-z_][a-z0-9_]{0,30}")


class PostgresSettings(Section):
    """Which database holds the graphs, what an acknowledged write promises, what it may cost."""

    url: SecretStr = Field(
        default=SecretStr(""),
        description="Connection string of the database, as libpq takes it: "
        "`postgresql://user@host:5432/database` or `host=... dbname=...`. It may name several "
        "hosts, with `target_session_attrs=read-write`.",
    )
    read_urls: SecretStr = Field(
        default=SecretStr(""),
        description="Connection strings of standbys that snapshots are read from, separated by "
        "spaces, each as `postgresql://user@host:5432/database`. Empty: all is read from `Url`.",
    )
    read_wait: Seconds = Field(
        default=0.1,
        description="Seconds to wait for a standby to have all that was acknowledged. Then the "
        "primary is read.",
    )
    schema_: str = Field(
        default="twinframe",
        description="Beginning of the names of the schemas: the graph `default` is in "
        "`twinframe_default`. At most 31 of a-z, 0-9 and `_`.",
    )
    directory: str = Field(
        default="var",
        min_length=1,
        description="Directory for files of this machine that may be lost: long results, columns.",
    )
    connections: Annotated[int, Field(ge=2, le=1000)] = Field(
        default=16,
        description="Most connections of a worker to the database, over all graphs. Reads beyond "
        "them wait.",
    )
    pooler: bool = Field(
        default=False,
        description="The connections go through a pooler in transaction mode, such as PgBouncer: "
        "nothing is set for a whole connection, and statements are not prepared.",
    )
    compiled: Literal["all", "no-walks", "nothing"] = Field(
        default="all",
        description="What queries the server is given as statements, of those that it is proven to "
        "run exactly: `all`; `no-walks`, for one that is slow at walks of any length; or "
        "`nothing`. The rest runs in the service, which then reads what it needs in batches.",
    )
    durability: Literal["full", "relaxed"] = Field(
        default="full",
        description="`full`: an acknowledged write survives power loss, and what "
        "`synchronous_commit` of the server promises beyond. `relaxed`: a crash of the server may "
        "take the last writes (never parts of one).",
    )
    connect_timeout: Seconds = Field(
        default=5.0, description="Seconds to wait for a connection, new or of this worker."
    )
    turn_timeout: Seconds = Field(
        default=5.0,
        description="Seconds that a batch of writes waits while others write, on any node.",
    )
    idle_timeout: Seconds = Field(
        default=30.0,
        description="Seconds after which the server ends a batch of writes, such as that of a node "
        "which has stopped in the middle of it. Before PostgreSQL 17, only the time counts in "
        "which it waits for its node.",
    )
    silence_timeout: Seconds = Field(
        default=10.0,
        description="Seconds after which a connection counts as lost when the network takes "
        "nothing from it or the server's machine does not answer.",
    )
    max_waiting: Count = Field(
        default=1000, description="Reads that may wait for a connection in a worker; more is 503."
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr) -> SecretStr:
        try:
            conninfo_to_dict(value.get_secret_value())
        except psycopg.ProgrammingError as error:
            reason = str(error).splitlines()[0] if str(error) else "it cannot be read"
            raise ValueError(f"must be a connection string of libpq: {reason}") from None
        return value

    @field_validator("read_urls")
    @classmethod
    def _check_read_urls(cls, value: SecretStr) -> SecretStr:
        for number, url in enumerate(value.get_secret_value().split(), start=1):
            if not url.startswith(("postgresql://", "postgres://")):
                raise ValueError(
                    f"number {number} must begin with postgresql://; spaces separate them"
                )
            cls._check_url(SecretStr(url))
        return value

    @field_validator("schema_")
    @classmethod
    def _check_schema(cls, value: str) -> str:
        if not _PREFIX.fullmatch(value) or value.startswith("pg_"):
            raise ValueError(
                "must be at most 31 of a-z, 0-9 and _, not beginning with a digit or pg_"
            )
        return value
