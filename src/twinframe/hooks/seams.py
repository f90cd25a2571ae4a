"""The plugin seams: the entry-point group, hook and known distributions of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Seam:
    """One seam: `group` is its entry-point group, `noun` the word for its plugins in messages.

    `hook` is the hook a plugin of it must implement. `distributions` are this project's plugins by
    name. SEC: only these are ever named in an installation hint, never a name made from input.
    """

    group: str
    noun: str
    hook: str
    distributions: Mapping[str, str] = field(default_factory=dict)


STORAGE = Seam(
    "twinframe.storage",
    "storage",
    "twinframe_graph_store",
    {"sqlite": "twinframe-storage-sqlite", "rdf": "twinframe-storage-rdf", "memory": "twinframe"},
)
PERMISSION_PROVIDER = Seam(
    "twinframe.permission_provider",
    "permission provider",
    "twinframe_permission_provider",
    {"Claims": "twinframe-auth-claims", "Api": "twinframe-auth-api"},
)
RESOURCE_TYPE = Seam(
    "twinframe.resource_type",
    "resource type",
    "twinframe_resource_types",
    dict.fromkeys(("graph", "flow", "assembler", "compass"), "twinframe-resource-types"),
)

EVENT_SINK = Seam(
    "twinframe.event_sink",
    "event sink",
    "twinframe_event_sink",
    {
        "webhook": "twinframe",
        "log": "twinframe",
        "mqtt": "twinframe-events-mqtt",
        "nats": "twinframe-events-nats",
        "kafka": "twinframe-events-kafka",
    },
)

SITE = Seam("twinframe.plugin", "site", "twinframe_routes", {"explorer": "twinframe-explorer"})

SEAMS = (STORAGE, PERMISSION_PROVIDER, RESOURCE_TYPE, EVENT_SINK, SITE)
