"""The settings of events: the outbox, the endpoints of routes, delivery."""

from __future__ import annotations

from typing import Annotated, Any, Final

import orjson
from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe.settings.section import Bytes, Count, Seconds, Section

ENDPOINT_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,48}[A-Za-z0-9])?"
"""The vendor's rule for names of endpoints: 1 to 50 letters, digits and hyphens."""

MOST_ROUTES: Final = 1000
"""The upper limit of the setting of routes per graph: all are processed together."""

EndpointName = Annotated[str, Field(pattern=f"^{ENDPOINT_NAME}$")]
EndpointKeys = dict[str, SecretStr]
"""`Type` and the keys of the endpoint's plugin; secret as a whole, as it may contain passwords."""


class EventsSettings(Section):
    """What happens in the graph: how long it is kept, and where routes may send it."""

    enabled: bool = Field(
        default=True,
        description="Send events of all writes of the graph, in the order of their commits. If "
        "false, nothing is delivered.",
    )
    source: str = Field(
        default="",
        description="Host name in the `source` of events. Empty: that of `Server__PublicUrl`, or "
        "`localhost`.",
    )
    endpoints: dict[EndpointName, EndpointKeys] = Field(
        default={},
        description="Endpoints of event routes, by name: "
        "`Events__Endpoints__alarms__Type=webhook` and the keys of that type.",
    )
    max_routes: Annotated[int, Field(ge=1, le=MOST_ROUTES)] = Field(
        default=100, description="Most event routes of a graph (vendor 6)."
    )
    max_filter_bytes: Bytes = Field(default=8192, description="Longest filter of a route.")
    keep_hours: Annotated[float, Field(gt=0, le=24 * 366)] = Field(
        default=72.0, description="Hours after which delivered events are deleted."
    )
    keep_bytes: Bytes = Field(
        default=256 * 1024 * 1024,
        description="Bytes of stored events. Beyond it, the oldest delivered ones are deleted.",
    )
    undelivered_bytes: Bytes = Field(
        default=1024 * 1024 * 1024,
        description="Bytes of stored events that routes have not delivered. Beyond it, those "
        "routes lose the oldest.",
    )
    retry_hours: Annotated[float, Field(gt=0, le=24 * 31)] = Field(
        default=24.0,
        description="Hours for which an event is tried again at an endpoint that does not answer.",
    )
    max_dead_letters: Count = Field(
        default=10_000,
        description="Dead letters stored for each route. Beyond it, the oldest are deleted.",
    )
    in_flight: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=16, description="Number of twins whose events a route sends at the same time."
    )
    max_streams: Count = Field(
        default=100,
        description="Clients of `GET /events` that a worker serves at once; more are 503.",
    )
    heartbeat: Seconds = Field(
        default=15.0,
        description="Seconds without an event after which a stream sends a sign of life.",
    )

    @field_validator("endpoints", mode="before")
    @classmethod
    def _render_values(cls, value: Any) -> Any:
        return render_values(value)

    @model_validator(mode="after")
    def _check_bytes(self) -> EventsSettings:
        if self.undelivered_bytes < self.keep_bytes:
            raise ValueError("UndeliveredBytes must not be below KeepBytes")
        return self


class SecretJson(SecretStr):
    """The text of a list or an object of a JSON file, which no key of a single value takes."""


def render_values(value: Any) -> Any:
    """Convert values of a JSON file, which may be numbers and lists; the plugin parses each."""
    if not isinstance(value, dict):
        return value
    return {
        name: {key: _render_value(item) for key, item in keys.items()}
        if isinstance(keys, dict)
        else keys
        for name, keys in value.items()
    }


def _render_value(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return SecretJson(orjson.dumps(value).decode())
    return str(value) if isinstance(value, (int, float)) else value
