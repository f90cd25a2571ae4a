"""The settings section `Storage__Postgres`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.errors import ConfigurationError
from twinframe.settings import Count, Seconds, Section
from twinframe.storage.indexes import PropertyName

MAIN: Final = "main"
"""The name of the database of `Url`."""
DatabaseName = Annotated[str, Field(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$")]
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
    databases: dict[DatabaseName, SecretStr] = Field(
        default={},
        description="Connection strings of more databases for hosted graphs, by name: "
        "`Storage__Postgres__Databases__north=postgresql://…`. The one of `Url` is `main`; it also "
        "has the catalog.",
    )
    database_read_urls: dict[DatabaseName, SecretStr] = Field(
        default={},
        description="As `ReadUrls`, for each of these databases by its name.",
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
    indexes: tuple[PropertyName, ...] = Field(
        default=(),
        description="Properties to index, in each graph. The indexes are created when the graph is "
        "opened, which waits for them; `twinframe index` creates them without a restart.",
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

    @field_validator("databases")
    @classmethod
    def _check_databases(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        if MAIN in value:
            raise ValueError(f"{MAIN} is the database of Url; choose another name")
        for name, url in value.items():
            if not url.get_secret_value():
                raise ValueError(f"{name} must have a connection string")
            cls._check_url(url)
        return value

    @field_validator("database_read_urls")
    @classmethod
    def _check_database_read_urls(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for url in value.values():
            cls._check_read_urls(url)
        return value

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        unknown = sorted(self.database_read_urls.keys() - self.databases.keys())
        if unknown:
            raise ValueError(f"DatabaseReadUrls names {unknown[0]}, which is not in Databases")
        return self

    def build_for(self, database: str) -> PostgresSettings:
        """Build the settings of one of the databases.

        Raises `ConfigurationError` for a name without a connection string.
        """
        if database == MAIN:
            return self
        if database not in self.databases:
            known = ", ".join([MAIN, *self.databases])
            raise ConfigurationError(
                f"The database {database!r} has no connection string here: set "
                f"Storage__Postgres__Databases__{database}. There are: {known}."
            )
        urls = self.database_read_urls.get(database, SecretStr(""))
        return self.model_copy(update={"url": self.databases[database], "read_urls": urls})

    @field_validator("schema_")
    @classmethod
    def _check_schema(cls, value: str) -> str:
        if not _PREFIX.fullmatch(value) or value.startswith("pg_"):
            raise ValueError(
                "must be at most 31 of a-z, 0-9 and _, not beginning with a digit or pg_"
            )
        return value
