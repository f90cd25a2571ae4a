"""What a responder may use: the use cases and the few things HTTP adds to them.

It starts nothing; `application` builds it once a process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from twinframe.model.json import JsonLimits
from twinframe.permissions.grammar import Permission
from twinframe.web.bodies import Bodies
from twinframe.web.discovery import Discovery
from twinframe.web.explorer import Explorer
from twinframe.web.graph.ports import Graph
from twinframe.web.links import Links


def never() -> bool:
    """What is not so: the answer where nobody can tell."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEdge:
    """What the responders of every plane have around them.

    `is_ready` says whether the service should get requests: its store answers, no drain has begun.
    `is_full` says whether it lately had no room for writes, though reads go on.
    """

    json_limits: JsonLimits
    links: Links
    explorer: Explorer
    discovery: Discovery
    is_ready: Callable[[], Awaitable[bool]]
    is_full: Callable[[], bool] = never


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge(ServiceEdge):
    """The surroundings of all responders of the data plane.

    `permissions` are all that its operations ask for, `bodies` reads what they are sent.
    """

    graph: Graph
    bodies: Bodies
    permissions: tuple[Permission, ...]
