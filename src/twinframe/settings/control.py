"""The settings sections of the control plane, its resource types and hosted graphs."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from twinframe.settings.section import Bytes, Count, Seconds, Section, check_bind, is_origin

_DAY: Final = 24 * 3600.0
_DOMAIN: Final = re.compile(
    r"(?=.{1,189}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    r"(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)


class ControlSettings(Section):
    """The control plane of `twinframe control`: its records, its address, its provisioner."""

    enabled: bool = Field(
        default=False,
        description="Also serve the control plane in `twinframe serve`, at `/api/v1`: for one "
        "machine.",
    )
    store: str = Field(
        default="sqlite",
        min_length=1,
        description="Name of the storage plugin that keeps the records of the control plane.",
    )
    bind: str = Field(
        default="127.0.0.1:8083",
        description="Address and port that `twinframe control` listens on.",
    )
    workers: Annotated[int, Field(gt=0, le=256)] = Field(
        default=1, description="Worker processes that share the control store."
    )
    public_url: str = Field(
        default="",
        description="Origin in links and in 401 answers, such as that of the proxy. Empty: the "
        "request's Host, if it is a name of this service.",
    )
    audience: str = Field(
        default="",
        description="Audience that a token for the control plane must name. Empty: "
        "`Authentication__Audience`.",
    )
    required_scopes: tuple[str, ...] = Field(
        default=("access:platform",),
        description="Scopes that a token for the control plane must have. Empty: none.",
    )
    trust_emails: bool = Field(
        default=False,
        description="Trust the claim `email` of tokens without `email_verified`: for issuers that "
        "verify every address and do not say so.",
    )
    provision: bool = Field(
        default=True,
        description="Run a provisioner beside the API. If false, run `twinframe control "
        "--provision` elsewhere.",
    )
    concurrency: Annotated[int, Field(gt=0, le=256)] = Field(
        default=4, description="Resources that one provisioner handles at once."
    )
    poll_interval: Seconds = Field(
        default=1.0,
        description="Seconds after which a provisioner looks for reconcile items of other "
        "processes.",
    )
    lease_seconds: Seconds = Field(
        default=30.0,
        description="Seconds without a sign of life after which another provisioner takes over.",
    )
    attempt_timeout: Seconds = Field(
        default=300.0, description="Seconds that one attempt at a resource may take."
    )
    max_attempts: Count = Field(
        default=8, description="Attempts at a resource before it gets the status `error`."
    )
    retry_delay: Seconds = Field(
        default=1.0, description="Seconds before the second attempt. They double with each attempt."
    )
    max_retry_delay: Seconds = Field(
        default=300.0, description="Most seconds between two attempts."
    )
    health_interval: Seconds = Field(
        default=60.0, description="Seconds between two checks of all running resources."
    )
    cleaning_interval: Seconds = Field(
        default=300.0,
        description="Seconds between two searches for data that no resource needs any more.",
    )
    tombstone_lifetime: Annotated[float, Field(ge=0)] = Field(
        default=7 * _DAY,
        description="Seconds that a deleted resource is still shown as `terminated`.",
    )
    idempotency_lifetime: Seconds = Field(
        default=_DAY, description="Seconds that the answer to an Idempotency-Key is kept."
    )
    page_size: Count = Field(
        default=50, description="Items of a listing's page when none is asked for."
    )
    max_page_size: Count = Field(default=1000, description="Most items of a listing's page.")
    max_settings_bytes: Bytes = Field(
        default=64 * 1024, description="Largest `settings_json` of a resource."
    )
    write_queue: Count = Field(
        default=4096, description="Writes that may wait in a worker; more is 503."
    )
    write_wait: Seconds = Field(
        default=5.0,
        description="Seconds that a write waits before it is answered with 503.",
    )

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        return check_bind(value)

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, value: str) -> str:
        return _check_origin(value)

    @model_validator(mode="after")
    def _check_figures(self) -> Self:
        if self.page_size > self.max_page_size:
            raise ValueError("PageSize must not be above MaxPageSize")
        if self.retry_delay > self.max_retry_delay:
            raise ValueError("RetryDelay must not be above MaxRetryDelay")
        # A lease is renewed each third of its time; the search for work must not take longer.
        if self.poll_interval > self.lease_seconds / 3:
            raise ValueError("PollInterval must be at most a third of LeaseSeconds")
        return self


class ResourcesSettings(Section):
    """The resource types; each has a section of its own here, such as `Resources__Flow`."""


class ProceduresSettings(Section):
    """The procedures of plugins; each has a section of its own here, such as `Procedures__Acme`."""


class HostingSettings(Section):
    """The graphs that the control plane brings up, and the service that serves them."""

    enabled: bool = Field(
        default=False, description="Serve every graph of the directory, besides the service's own."
    )
    directory: str = Field(
        default="var/hosting",
        min_length=1,
        description="Directory of the files that a machine keeps of hosted graphs.",
    )
    catalog: Literal["auto", "directory", "database"] = Field(
        default="auto",
        description="Where the provisioner and the services agree on what is served. `directory`: "
        "in the directory, for one machine. `database`: in the database of the graphs, for any "
        "number of machines. `auto`: in the database where the storage is one for all machines.",
    )
    domain: str = Field(
        default="",
        description="A graph also answers at the host `{resource_id}.{domain}`. Empty: by path "
        "only.",
    )
    public_url: str = Field(
        default="",
        description="Origin of the addresses of graphs that are served by path. Empty: `http://` "
        "and `Server__Bind`.",
    )
    max_open_graphs: Annotated[int, Field(gt=0, le=100_000)] = Field(
        default=256,
        description="Graphs that a worker keeps open. Beyond it, the longest unused are closed.",
    )
    open_wait: Seconds = Field(
        default=5.0,
        description="Seconds that a request waits for its graph to be opened if all open graphs "
        "are in use; then 503.",
    )
    drain_seconds: Seconds = Field(
        default=10.0,
        description="Seconds that running requests have to finish when their graph is removed.",
    )
    backup_interval: Seconds = Field(
        default=_DAY, description="Seconds between two backups of a graph that has backups."
    )
    backup_history: bool = Field(
        default=True,
        description="Whether these backups have the values over time of the graph, too.",
    )
    audit_retention_days: Count = Field(
        default=90, description="Days that lines of a graph's audit log are kept."
    )
    statistics_retention_days: Count = Field(
        default=90, description="Days that the daily statistics of a graph are kept."
    )

    @field_validator("domain")
    @classmethod
    def _check_domain(cls, value: str) -> str:
        domain = value.lower()
        if domain and not _DOMAIN.fullmatch(domain):
            raise ValueError("must be a host name, such as graphs.example.com, without a port")
        return domain

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, value: str) -> str:
        return _check_origin(value)


def _check_origin(value: str) -> str:
    origin = value.removesuffix("/")
    if value and not (origin.startswith(("http://", "https://")) and is_origin(origin)):
        raise ValueError("must be an origin, such as https://twins.example, without a path")
    return origin
