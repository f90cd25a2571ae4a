"""The settings sections for operating the service: metrics, traces, rates of callers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from twinframe.settings.section import Count, Section, check_bind

Rate = Annotated[float, Field(ge=0, le=1_000_000)]


class MetricsSettings(Section):
    """Prometheus metrics, at an address of their own."""

    enabled: bool = Field(default=False, description="Collect metrics, and serve `/metrics`.")
    bind: str = Field(
        default="127.0.0.1:9464",
        description="Address and port of `/metrics`. It requires no credentials.",
    )
    max_graphs: Annotated[int, Field(ge=0)] = Field(
        default=100,
        description="Hosted graphs that a worker names in metrics; all others are counted as "
        "`(other)`.",
    )

    @field_validator("bind")
    @classmethod
    def _check_bind(cls, value: str) -> str:
        return check_bind(value)


class TracesSettings(Section):
    """OpenTelemetry traces. Where they go is said by the standard `OTEL_*` variables."""

    enabled: bool = Field(
        default=False, description="Export spans of requests, queries and writes."
    )


class RateSettings(Section):
    """What one caller may do a second, and at once. A rate of 0 is no limit."""

    read: Rate = Field(default=1000, description="Reads a second (vendor 1000).")
    write: Rate = Field(default=1000, description="Writes a second (vendor 1000).")
    query: Rate = Field(default=500, description="Queries a second (vendor 500).")
    bulk: Rate = Field(
        default=100,
        description="Requests a second for models, jobs and many items at once (vendor 100).",
    )


class RateLimitSettings(Section):
    """Rate limits of each caller, over all workers of a service."""

    enabled: bool | None = Field(
        default=None,
        description="Enforce the rates below. Unset: if credentials are required.",
    )
    per_second: RateSettings = RateSettings()
    burst_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=2.0,
        description="Size of a burst after a pause, in seconds of the rate.",
    )
    callers: Count = Field(
        default=10_000,
        le=1_000_000,
        description="Callers remembered at once. Beyond it, those seen longest ago are forgotten.",
    )


SlowQueryText = Literal["masked", "full", "none"]
"""What is shown of a slow query's text."""
