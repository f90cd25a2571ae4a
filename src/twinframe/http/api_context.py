"""The surroundings of a responder: the use cases and the HTTP helpers around them.

`application` builds them once per process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinframe.access.permission_grammar import Permission
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import Discovery
from twinframe.http.explorer import Explorer
from twinframe.http.links import Links
from twinframe.model.json import JsonLimits

if TYPE_CHECKING:  # a token server imports this module and has no graph
    from twinframe.graph import Graph


def never() -> bool:
    """Return False: the default where a state is not known."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext:
    """The surroundings of the responders of every plane.

    `is_ready` returns whether the service should get requests: its store answers and no drain has
    begun. `is_full` returns whether it lately had no room for writes, though reads go on.
    """

    json_limits: JsonLimits
    links: Links
    explorer: Explorer
    discovery: Discovery
    is_ready: Callable[[], Awaitable[bool]]
    is_full: Callable[[], bool] = never


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphApiContext(ApiContext):
    """The surroundings of the data plane's responders.

    `permissions` are all those its operations need; `bodies` parses request bodies.
    """

    graph: Graph
    bodies: Bodies
    permissions: tuple[Permission, ...]
