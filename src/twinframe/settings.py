"""The settings tree: frozen values with their meaning, units and defaults. Reading them is `settings_source`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic.alias_generators import to_pascal

Seconds = Annotated[float, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """Base of every section: frozen, unknown keys refused. Plugins derive their sections from it.

    Keys are written `PascalCase` in files and environment (`Server__MaxBodyBytes`), in any case.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_pascal, populate_by_name=True
    )


class TlsSettings(Section):
    """TLS of the listening socket; off while `certificate` is empty."""

    certificate: str = Field("", description="PEM file with the certificate chain.")
    key: str = Field("", description="PEM file with the private key.")


class ServerSettings(Section):
    """The listening process: address, workers, and what a client may cost."""

    bind: str = Field("127.0.0.1:8080", description="Address and port to listen on.")
    workers: Count = Field(2, description="Worker processes that share the store.")
    base_path: str = Field("/api", description="The API answers at `/` and under this path.")
    public_url: str = Field(
        "", description="Origin for absolute links behind a proxy; empty takes the request's Host."
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS of the socket.")
    graceful_timeout: Seconds = Field(
        10.0, description="Seconds that accepted requests get to finish at stop or reload."
    )
    worker_timeout: Annotated[int, Field(gt=0)] = Field(
        10, description="Seconds after which a worker that gives no sign of life is replaced."
    )
    header_timeout: Seconds = Field(10.0, description="Seconds to receive a request's head.")
    body_timeout: Seconds = Field(15.0, description="Seconds without progress in a request's body.")
    idle_timeout: Seconds = Field(75.0, description="Seconds an idle connection is kept.")
    write_timeout: Seconds = Field(30.0, description="Seconds for a client to take an answer.")
    max_url_bytes: Bytes = Field(8192, description="Longest request target; more is 414.")
    max_header_bytes: Bytes = Field(32768, description="Longest request head; more is 431.")
    max_header_count: Count = Field(100, description="Most header fields; more is 431.")
    max_body_bytes: Bytes = Field(
        16 * 1024 * 1024, description="Largest request body; more is 413."
    )
    max_connections: Count = Field(
        1000, description="Connections a worker serves at once; more are closed."
    )


class JsonSettings(Section):
    """What a JSON request body may hold."""

    max_depth: Count = Field(64, description="Deepest nesting of arrays and objects.")
    max_keys: Count = Field(100_000, description="Most object members in one body.")


class CorsSettings(Section):
    """Cross-origin requests from browsers; off while `origins` is empty."""

    origins: tuple[str, ...] = Field(
        (), description="Allowed origins, such as `https://app.example`; `*` allows all."
    )
    credentials: bool = Field(False, description="Allow cookies and Authorization of the browser.")
    max_age: Annotated[int, Field(ge=0)] = Field(600, description="Seconds a preflight is kept.")


class LoggingSettings(Section):
    """What is written to standard error, one JSON object a line."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level.")
    format: Literal["json", "text"] = Field("json", description="Form of the lines.")
    access: bool = Field(True, description="Write a line for each request.")


class StorageSettings(Section):
    """Which graph store is used. The store's own settings stand beside it, under its name."""

    provider: str = Field("sqlite", description="Name of the storage plugin.")
    graph: str = Field("default", description="Name of the graph this service serves.")
    query_threads: Annotated[int, Field(ge=1, le=16)] = Field(
        2, description="Threads a worker for reads that may scan."
    )
    query_queue: Count = Field(256, description="Queries that may wait in a worker; more is 503.")
    write_queue: Count = Field(4096, description="Writes that may wait in a worker; more is 503.")
    write_wait: Seconds = Field(
        5.0, description="Seconds a write waits for its turn before it is given up with 503."
    )


class GraphSettings(Section):
    """Limits of the data plane. Generous; the vendor's own figures stand in the description."""

    max_twin_bytes: Bytes = Field(
        1024 * 1024, description="Largest twin, relationship or telemetry document (vendor 32 KiB)."
    )
    max_models_per_request: Count = Field(
        2000, description="Most models in one POST /models (vendor 250)."
    )
    max_model_bytes: Bytes = Field(1024 * 1024, description="Largest model document (vendor 1 MB).")
    max_patch_operations: Count = Field(1000, description="Most operations in one JSON Patch.")
    page_size: Count = Field(100, description="Items of a listing's page when none is asked for.")
    max_page_size: Count = Field(2000, description="Most items of a listing's page.")
    token_lifetime: Seconds = Field(
        86400.0, description="Seconds after which a continuation token expires."
    )
    refuse_self_relationships: bool = Field(
        True, description="Refuse a relationship from a twin to itself, as the vendor does."
    )


class QuerySettings(Section):
    """Limits and habits of POST /query."""

    timeout: Seconds = Field(60.0, description="Seconds a query may run.")
    max_text_bytes: Bytes = Field(64 * 1024, description="Longest query text.")
    max_depth: Count = Field(64, description="Deepest nesting of an expression.")
    page_size: Count = Field(1000, description="Rows of a page when none is asked for.")
    max_page_size: Count = Field(10_000, description="Most rows of a page.")
    max_rows: Count = Field(1_000_000, description="Most rows a query may hold in memory.")
    max_hops: Count = Field(
        32, description="Longest variable-length pattern; unbounded ones stop there with an error."
    )
    plan_cache: Count = Field(512, description="Compiled queries a worker keeps.")
    vendor_hops_exclusive: bool = Field(
        True, description="`*n..m` in the vendor's MATCH leaves out n itself, as its manual says."
    )
    vendor_extensions: bool = Field(
        True, description="Allow ORDER BY, GROUP BY, DISTINCT, SUM, AVG, MIN, MAX in the SQL-like language."
    )
    strict: bool = Field(
        False, description="Refuse queries that name unknown labels, relationships or properties."
    )


class AuthenticationSettings(Section):
    """Who is calling."""

    enabled: bool = Field(False, description="Ask for credentials.")
    mode: Literal["Jwt", "ApiKey", "None"] = Field("Jwt", description="Kind of credentials.")
    authority: str = Field("", description="Base URL of the token issuer.")
    audience: str = Field("", description="Required audience of a token.")
    issuer: str = Field("", description="Required issuer of a token.")


class AuthorizationSettings(Section):
    """What a caller may do."""

    enabled: bool = Field(False, description="Check permissions.")
    provider: str = Field("Claims", description="Name of the permission provider plugin.")
    required_scopes: tuple[str, ...] = Field((), description="Scopes each token must carry.")
    permissions_claim_name: str = Field(
        "permissions", description="Claim that holds the caller's permissions."
    )


class McpSettings(Section):
    """The MCP server for AI assistants."""

    enabled: bool = Field(False, description="Serve MCP beside the API.")
    server_name: str = Field("twinframe", description="Name shown to clients.")
    version: str = Field("", description="Version shown to clients; empty takes twinframe's.")
    resource_server_url: str = Field("", description="Public URL of the MCP server.")


class SecretSettings(Section):
    """Keys shared by all processes of an installation."""

    token_key: SecretStr = Field(
        SecretStr(""), description="Signs continuation tokens; empty takes the graph's own key."
    )


class Settings(Section):
    """The whole tree. Sections of plugins are added by name when it is loaded."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    json_: JsonSettings = Field(default_factory=JsonSettings, alias="Json")
    cors: CorsSettings = Field(default_factory=CorsSettings)
    logging: LoggingSettings = Field(default_factory=LoggingSettings)
    storage: StorageSettings = Field(default_factory=StorageSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    query: QuerySettings = Field(default_factory=QuerySettings)
    authentication: AuthenticationSettings = Field(default_factory=AuthenticationSettings)
    authorization: AuthorizationSettings = Field(default_factory=AuthorizationSettings)
    mcp: McpSettings = Field(default_factory=McpSettings, alias="MCP")
    secrets: SecretSettings = Field(default_factory=SecretSettings)
