"""The core's settings tree: frozen values with their description, units and defaults."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.settings.access import (
    AuthenticationSettings,
    AuthorizationSettings,
    McpSettings,
    TokenServerSettings,
)
from twinframe.settings.billing import BillingSettings
from twinframe.settings.bolt import BoltSettings
from twinframe.settings.control import (
    ControlSettings,
    HostingSettings,
    ProceduresSettings,
    ResourcesSettings,
)
from twinframe.settings.derivations import DerivationsSettings
from twinframe.settings.events import EventsSettings
from twinframe.settings.history import HistorySettings
from twinframe.settings.ingestion import IngestionSettings
from twinframe.settings.jobs import JobsSettings
from twinframe.settings.operations import (
    MetricsSettings,
    RateLimitSettings,
    SlowQueryText,
    TracesSettings,
)
from twinframe.settings.section import (
    Bytes,
    Count,
    Seconds,
    Section,
    TlsSettings,
    check_bind,
    is_origin,
)

Share = Annotated[int, Field(ge=1, le=100)]


class MemorySettings(Section):
    """Most memory that a service holds for its clients; a request for more gets an error.

    The shares of the parts may add up to more than 100 percent. A part never takes memory that
    another part holds.
    """

    bytes_: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Memory of all workers together. 0: half the memory of the machine or "
        "container, and at most 384 MiB for each worker. Each worker needs 96 MiB of "
        "its share itself and holds the rest for clients.",
    )
    requests: Share = Field(
        default=45,
        description="Percent of this memory for bodies being received and their parsed values.",
    )
    writes: Share = Field(
        default=35,
        description="Percent of this memory for documents and patches that are being written.",
    )
    queries: Share = Field(
        default=50,
        description="Percent of this memory for values that queries compute, compiled patterns and "
        "collected rows.",
    )
    answers: Share = Field(
        default=35,
        description="Percent of this memory for answers that clients have not read yet.",
    )
    imports: Share = Field(
        default=50,
        description="Percent of this memory for sections of models and spools of imports and "
        "exports.",
    )


class BulkSettings(Section):
    """Limits of POST /digitaltwins, /relationships, /telemetry and /$transaction."""

    max_items: Count = Field(
        default=1000, description="Most twins or relationships of one bulk request."
    )
    max_points: Count = Field(
        default=10_000, description="Most points, and most lines, of one POST /telemetry."
    )
    group_items: Count = Field(
        default=200,
        description="Items of a bulk request that are committed together. Between such groups, "
        "other writes can run. A group also ends after 4 MiB of documents.",
    )
    max_operations: Count = Field(
        default=1000, description="Most operations of one POST /$transaction."
    )
    max_transaction_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Most bytes of documents that one POST /$transaction stores; all other "
        "writers wait for it.",
    )
    max_body_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Largest body of these requests; more is 413, as is more than "
        "Server__MaxBodyBytes.",
    )


class ExportSettings(Section):
    """Limits of GET /export and what stands below it."""

    writer: str = Field(
        default="rdf",
        description="Storage plugin that writes graphs as RDF, also those of another storage.",
    )
    timeout: Seconds = Field(
        default=600.0, description="Seconds that writing down a whole graph may take."
    )
    max_bytes: Bytes = Field(
        default=16 * 1024**3,
        description="Largest export; its file takes as much room until the client has it.",
    )
    max_results: Count = Field(
        default=1000, description="Results of a validation report; with more it is not whole."
    )
    at_once: Count = Field(
        default=2,
        description="Exports of a worker at once, of RDF and as many of the graph as lines; more "
        "is 503.",
    )


class SparqlSettings(Section):
    """The read-only SPARQL endpoint and its limits; only for graphs that are stored as RDF."""

    enabled: bool = Field(default=False, description="Answer at /sparql.")
    timeout: Seconds = Field(default=30.0, description="Seconds a query may run.")
    max_text_bytes: Bytes = Field(default=64 * 1024, description="Longest query text.")
    max_depth: Count = Field(default=32, le=256, description="Deepest nesting of brackets.")
    max_result_bytes: Bytes = Field(
        default=64 * 1024 * 1024, description="Largest answer; more is an error."
    )
    at_once: Count = Field(default=2, description="Queries of a worker at once; more is 503.")


_BASE_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


class ServerSettings(Section):
    """The listening process: address, workers, and limits for clients."""

    bind: str = Field(default="127.0.0.1:8080", description="Address and port to listen on.")
    workers: Annotated[int, Field(gt=0, le=256)] = Field(
        default=2, description="Worker processes that share the store."
    )
    base_path: str = Field(
        default="/api", description="The API answers at `/` and under this path."
    )
    public_url: str = Field(
        default="",
        description="Origin in links and in 401 answers, such as that of the proxy. Empty: the "
        "request's Host, if it is a name of this service.",
    )
    tls: TlsSettings = TlsSettings()
    graceful_timeout: Seconds = Field(
        default=10.0,
        description="Seconds that accepted requests have to finish at a stop or reload.",
    )
    drain_delay: Annotated[float, Field(ge=0, le=600)] = Field(
        default=0.0,
        description="Seconds at a stop in which the service still accepts requests, but "
        "`/health/ready` says that it is not ready, so that load balancers stop using "
        "it first.",
    )
    worker_timeout: Annotated[int, Field(gt=0)] = Field(
        default=10,
        description="Seconds without a sign of life after which a worker is replaced.",
    )
    header_timeout: Seconds = Field(
        default=10.0, description="Seconds to receive a request's head."
    )
    body_timeout: Seconds = Field(
        default=15.0, description="Seconds without progress in a request's body."
    )
    min_body_rate: Annotated[int, Field(ge=0)] = Field(
        default=500,
        description="Least bytes per second of a request's body, on average over BodyTimeout. 0 "
        "requires only progress.",
    )
    idle_timeout: Seconds = Field(default=75.0, description="Seconds an idle connection is kept.")
    write_timeout: Seconds = Field(
        default=30.0, description="Seconds for a client to take an answer."
    )
    max_url_bytes: Bytes = Field(default=8192, description="Longest request target; more is 414.")
    max_header_bytes: Bytes = Field(default=32768, description="Longest request head; more is 431.")
    max_header_count: Count = Field(default=100, description="Most header fields; more is 431.")
    max_body_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Largest request body, as of many models; more is 413. Most operations take "
        "less: `Graph__MaxBodyBytes`, `Query__MaxBodyBytes`, `Bulk__MaxBodyBytes`.",
    )
    max_connections: Count = Field(
        default=1000,
        description="Connections that a worker serves at once. For a new one beyond that, the "
        "worker closes the connection that has been idle longest, of the address with "
        "the most connections; if none is idle, it answers 503.",
    )
    max_connections_per_address: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Connections of one client address (of IPv6, its first 64 bits) that a worker "
        "serves at once. 0 is three quarters of MaxConnections. Behind a proxy the address is the "
        "proxy's.",
    )

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        return check_bind(value)

    @field_validator("base_path")
    @classmethod
    def _check_base_path(cls, value: str) -> str:
        if value and not _BASE_PATH.fullmatch(value):
            raise ValueError(
                "must start with / and not end with it, such as /api or /twins/v1, of letters, "
                "digits, `-`, `_`, `.` and `~`; empty is none"
            )
        return value

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, value: str) -> str:
        origin = value.removesuffix("/")
        if value and not (origin.startswith(("http://", "https://")) and is_origin(origin)):
            raise ValueError(
                "must be an origin, such as https://twins.example, without a path; empty takes the "
                "request's Host where that is a name of this service"
            )
        return origin


class JsonSettings(Section):
    """What a JSON request body may hold."""

    max_depth: Count = Field(default=64, description="Deepest nesting of arrays and objects.")
    max_keys: Count = Field(default=100_000, description="Most object members in one body.")
    max_values: Count = Field(
        default=300_000,
        description="Most elements of arrays and members of objects in a body of more than 64 KiB.",
    )
    max_text_length: Count = Field(
        default=4 * 1024 * 1024,
        description="Most characters of one string in a body of more than 64 KiB.",
    )


class CorsSettings(Section):
    """Cross-origin requests from browsers; off while `Origins` is empty."""

    origins: tuple[str, ...] = Field(
        default=(), description="Allowed origins, such as `https://app.example`; `*` allows all."
    )
    credentials: bool = Field(
        default=False, description="Allow cookies and Authorization of the browser."
    )
    max_age: Annotated[int, Field(ge=0)] = Field(
        default=600, description="Seconds a preflight is kept."
    )

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if origin != "*" and not is_origin(origin):  # it would match no browser's
                raise ValueError(
                    f"{origin!r} is no origin: write it as browsers send it, such as "
                    "https://app.example or http://localhost:3000, without a path; `*` allows all"
                )
        return value

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        # SEC: every page a user opens could act with that user's cookies.
        if self.credentials and "*" in self.origins:
            raise ValueError("Credentials must not be allowed to the origin `*`; name the origins")
        return self


class LoggingSettings(Section):
    """What is written to standard error, one line each: text on a terminal, else JSON."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level that is logged."
    )
    format: Literal["auto", "json", "text"] = Field(
        default="auto", description="Format of the lines. `auto`: text on a terminal, else JSON."
    )
    access: bool = Field(default=True, description="Write a line for each request.")
    audit: bool = Field(
        default=True, description="Write a line for each decision about access, as JSON."
    )
    slow_query: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="Seconds after which a query is logged as slow; 0 logs none."
    )
    slow_query_text: SlowQueryText = Field(
        default="masked",
        description="The slow query's text: `masked` without its literals, `full`, or `none`.",
    )

    def choose_format(self, *, is_terminal: bool) -> Literal["json", "text"]:
        """Return the format of lines for a terminal or for any other stream."""
        if self.format == "auto":
            return "text" if is_terminal else "json"
        return self.format


class StorageSettings(Section):
    """Which graph store is used. The store's own settings stand beside it, under its name."""

    provider: str = Field(default="sqlite", description="Name of the storage plugin.")
    graph: str = Field(default="default", description="Name of the graph that this service serves.")
    query_threads: Annotated[int, Field(ge=1, le=16)] = Field(
        default=2,
        description="Threads of each worker for reads that may scan. Spare threads help when all "
        "of them are blocked.",
    )
    query_queue: Count = Field(
        default=256, description="Queries that may wait in a worker; more is 503."
    )
    held_reads: Annotated[int, Field(ge=1, le=256)] = Field(
        default=16,
        description="Explicit transactions over Bolt that read a graph in a worker at once, each "
        "in one snapshot; one more waits.",
    )
    write_queue: Count = Field(
        default=4096, description="Writes that may wait in a worker; more is 503."
    )
    write_wait: Seconds = Field(
        default=5.0,
        description="Seconds that a write waits before it is answered with 503.",
    )


class GraphSettings(Section):
    """Limits of the data plane. Generous; the vendor's own figures stand in the description."""

    max_twin_bytes: Bytes = Field(
        default=1024 * 1024,
        description="Largest twin, relationship or telemetry document (vendor 32 KiB).",
    )
    max_body_bytes: Bytes = Field(
        default=4 * 1024 * 1024,
        description="Largest body for one twin, component, relationship or telemetry, patches too; "
        "more is 413.",
    )
    max_models_per_request: Count = Field(
        default=2000, description="Most models in one POST /models (vendor 250)."
    )
    max_model_bytes: Bytes = Field(
        default=1024 * 1024, description="Largest model document (vendor 1 MB)."
    )
    max_patch_operations: Count = Field(
        default=1000, description="Most operations in one JSON Patch."
    )
    page_size: Count = Field(
        default=100, description="Items of a listing's page when none is asked for."
    )
    max_page_size: Count = Field(default=2000, description="Most items of a listing's page.")
    max_page_bytes: Bytes = Field(
        default=2 * 1024 * 1024,
        description="Most bytes of items on a page of a listing or a query. The next page begins "
        "after the last item that fitted. A page always has at least one item.",
    )
    token_lifetime: Seconds = Field(
        default=86400.0, description="Seconds after which a continuation token expires."
    )
    open_: bool = Field(
        default=False,
        description="POST /cypher creates nodes with any labels and properties, without models.",
    )
    max_workspaces: Count = Field(default=500, le=10_000, description="Most workspaces of a graph.")
    max_workspace_bytes: Bytes = Field(
        default=2 * 1024 * 1024, description="Largest content of a workspace."
    )
    refuse_self_relationships: bool = Field(
        default=True, description="Refuse a relationship from a twin to itself, as the vendor does."
    )

    @model_validator(mode="after")
    def _check_pages(self) -> Self:
        if self.page_size > self.max_page_size:
            raise ValueError("PageSize must not be above MaxPageSize")
        return self


class QuerySettings(Section):
    """Limits and habits of POST /query."""

    timeout: Seconds = Field(default=60.0, description="Seconds a query may run.")
    max_text_bytes: Bytes = Field(default=256 * 1024, description="Longest query text.")
    max_body_bytes: Bytes = Field(
        default=1024 * 1024,
        description="Largest body of a query with its parameters, and of other small requests "
        "such as event routes and jobs; more is 413.",
    )
    max_words: Count = Field(
        default=10_000,
        description="Most words, values and symbols of a query text, not counting constants in "
        "lists.",
    )
    max_depth: Count = Field(default=64, description="Deepest nesting of an expression.")
    page_size: Count = Field(default=1000, description="Rows of a page when none is asked for.")
    max_page_size: Count = Field(default=10_000, description="Most rows of a page.")
    max_rows: Count = Field(default=1_000_000, description="Most rows a query may hold in memory.")
    max_bytes: Bytes = Field(
        default=96 * 1024 * 1024,
        description="Most bytes a query may hold in memory; part of Memory__Queries.",
    )
    max_hops: Count = Field(
        default=32,
        description="Longest variable-length pattern; unbounded ones stop there with an error.",
    )
    max_result_bytes: Bytes = Field(
        default=128 * 1024 * 1024,
        description="Largest result that is kept for its next pages; more is an error there.",
    )
    results_bytes: Bytes = Field(
        default=1024 * 1024 * 1024,
        description="Bytes of all results kept for their next pages. Beyond it, the longest "
        "unused are removed.",
    )
    result_lifetime: Seconds = Field(
        default=900.0,
        description="Seconds that a result is kept after the last request for a page of it.",
    )
    plan_cache: Count = Field(
        default=512,
        description="Compiled queries a worker keeps; each counts once for each KiB of its text.",
    )
    vendor_hops_exclusive: bool = Field(
        default=True,
        description="`*n..m` in the vendor's MATCH excludes n itself, as its manual says.",
    )
    vendor_extensions: bool = Field(
        default=True,
        description="Allow ORDER BY, GROUP BY, DISTINCT, SUM, AVG, MIN, MAX after SELECT.",
    )
    max_writes: Count = Field(
        default=100_000,
        description="Most nodes and relationships that one statement of POST /cypher may write; "
        "other writers wait meanwhile. `CALL { ... } IN TRANSACTIONS` divides more.",
    )
    strict: bool = Field(
        default=False,
        description="Refuse queries that name unknown labels, relationships or properties.",
    )
    temporal_properties: bool = Field(
        default=True,
        description="Cypher reads properties of the schemas date, dateTime, time and duration as "
        "such values; compared with a string they are their text. Off: they are "
        "strings.",
    )

    @model_validator(mode="after")
    def _check_pages(self) -> Self:
        if self.page_size > self.max_page_size:
            raise ValueError("PageSize must not be above MaxPageSize")
        if self.max_result_bytes > self.results_bytes:
            raise ValueError("MaxResultBytes must not be above ResultsBytes")
        return self


class SecretSettings(Section):
    """Keys shared by all processes of an installation."""

    token_key: SecretStr = Field(
        default=SecretStr(""),
        description="Signs continuation tokens; empty takes the graph's own key.",
    )


class Settings(Section):
    """The core's tree. The sections of plugins stand beside it in a `Configuration`."""

    server: ServerSettings = ServerSettings()
    json_: JsonSettings = JsonSettings()
    memory: MemorySettings = MemorySettings()
    cors: CorsSettings = CorsSettings()
    logging: LoggingSettings = LoggingSettings()
    storage: StorageSettings = StorageSettings()
    graph: GraphSettings = GraphSettings()
    bulk: BulkSettings = BulkSettings()
    query: QuerySettings = QuerySettings()
    authentication: AuthenticationSettings = AuthenticationSettings()
    authorization: AuthorizationSettings = AuthorizationSettings()
    mcp: McpSettings = McpSettings()
    bolt: BoltSettings = BoltSettings()
    token_server: TokenServerSettings = TokenServerSettings()
    control: ControlSettings = ControlSettings()
    hosting: HostingSettings = HostingSettings()
    jobs: JobsSettings = JobsSettings()
    billing: BillingSettings = BillingSettings()
    resources: ResourcesSettings = ResourcesSettings()
    procedures: ProceduresSettings = ProceduresSettings()
    export: ExportSettings = ExportSettings()
    sparql: SparqlSettings = SparqlSettings()
    secrets: SecretSettings = SecretSettings()
    events: EventsSettings = EventsSettings()
    history: HistorySettings = HistorySettings()
    derivations: DerivationsSettings = DerivationsSettings()
    ingestion: IngestionSettings = IngestionSettings()
    metrics: MetricsSettings = MetricsSettings()
    traces: TracesSettings = TracesSettings()
    rate_limits: RateLimitSettings = RateLimitSettings()

    @property
    def checks_permissions(self) -> bool:
        """Whether callers need permissions: by default, if they need credentials."""
        wanted = self.authorization.enabled
        return self.authentication.asks if wanted is None else wanted
