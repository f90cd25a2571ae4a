"""Tools for orientation: the digest of the graph, and what is near a twin."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from twinframe.graph.queries.neighborhood import (
    MOST_RELATIONSHIPS,
    Neighborhood,
    Walk,
)
from twinframe.mcp.arguments import Arguments, Limit, Token, TwinId
from twinframe.mcp.budget import Shortening, measure
from twinframe.mcp.describing import read_digest
from twinframe.mcp.names import find_models, warn_of_relationships
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output
from twinframe.model.values import JsonValue, Node, Relationship
from twinframe.query.algebra import Direction
from twinframe.query.evaluate.member_typing import read_model_id

_STALE: Final = 1.0
_DIRECTIONS: Final = {
    "outgoing": Direction.OUTGOING,
    "incoming": Direction.INCOMING,
    "both": Direction.BOTH,
}


class DescribeGraph(Arguments):
    """Arguments of `describe_graph`."""

    max_tokens: Annotated[
        int, Field(ge=300, le=20_000, description="How long the description may be")
    ] = 1500
    model_filter: list[str] = Field(
        default_factory=list,
        max_length=50,
        description="Only these interfaces (name or id) and what is near them",
    )


async def describe_graph(box: Toolbox, given: DescribeGraph) -> Answer:
    """Return the digest; its text is shown unchanged."""
    digest, counts = await read_digest(box, given.max_tokens, given.model_filter)
    document: dict[str, JsonValue] = {
        "digest": digest.text,
        "twins": sum(counts.twins.values()),
        "interfaces": digest.interfaces[1],
        "truncated": not digest.complete,
    }
    age = time.monotonic() - counts.moment
    if age > _STALE:
        document["counted_seconds_ago"] = round(age)
    return Answer(document, digest.text)


class ExploreNeighborhood(Arguments):
    """Arguments of `explore_neighborhood`."""

    twin_id: TwinId
    hops: Annotated[int, Field(ge=1, le=3, description="How far to walk")] = 1
    direction: Annotated[
        Literal["both", "outgoing", "incoming"], Field(description="Of each step")
    ] = "both"
    relationship_names: list[str] = Field(
        default_factory=list, max_length=50, description="Cross these only; none: all"
    )
    model_filter: list[str] = Field(
        default_factory=list, max_length=50, description="List these interfaces only; cross all"
    )
    limit: Limit = 50
    continuation_token: Token = None


async def explore_neighborhood(box: Toolbox, given: ExploreNeighborhood) -> Answer:
    """Return the twins near one, as ids with distinguishing members, and their relationships."""
    focus: frozenset[str] = frozenset()
    if given.model_filter:
        outlines = await box.graph.overview.read_outlines()
        focus = find_models(outlines, given.model_filter)
    limit = min(given.limit, box.limits.max_rows)
    while True:
        found = await box.graph.neighborhoods.walk(
            Walk(
                given.twin_id,
                given.hops,
                _DIRECTIONS[given.direction],
                tuple(given.relationship_names),
                tuple(sorted(focus)),
                limit,
                given.continuation_token,
            )
        )
        document = _build_neighborhood(found)
        if not found.twins and given.relationship_names and await box.access.holds("models/read"):
            outlines = await box.graph.overview.read_outlines()
            if warnings := warn_of_relationships(outlines, given.relationship_names):
                document["warnings"] = warnings
        size = measure(document)
        if size <= box.limits.max_bytes or limit == 1:
            return Answer(document)
        # NOTE: the next walk's token is after the twins that it returns, so none is lost.
        limit = max(1, min(limit // 2, len(found.twins) * box.limits.max_bytes // size))


def _build_neighborhood(found: Neighborhood) -> dict[str, JsonValue]:
    short = Shortening(longest_text=100)
    document: dict[str, JsonValue] = {
        "twins": [_build_near(node, hop, short) for hop, node in found.twins],
        "relationships": _build_edges(found.relationships),
        "truncated": found.token is not None,
        "continuation_token": found.token,
    }
    if not found.complete:
        warning = (
            f"The walk stopped after {MOST_RELATIONSHIPS} relationships; twins behind them are "
            "missing. Ask for fewer hops, or name relationship_names."
        )
        document["warnings"] = [warning]
    return document


def _build_near(node: Node, hop: int, short: Shortening) -> JsonValue:
    near: dict[str, JsonValue] = {"twin_id": node.id, "model": read_model_id(node), "hops": hop}
    name = node.document.get("name")
    if isinstance(name, str):
        near["name"] = short.shorten(name)
    return near


def _build_edges(found: Sequence[Relationship]) -> list[JsonValue]:
    """List each once, with `times` if there are several of one name between the same twins."""
    edges: list[JsonValue] = []
    for (source, name, target), times in Counter(
        (one.source, one.type, one.target) for one in found
    ).items():
        edge: dict[str, JsonValue] = {"source": source, "name": name, "target": target}
        edges.append(edge if times == 1 else edge | {"times": times})
    return edges


EXPLORING: Final = (
    Tool(
        "describe_graph",
        "Describe the graph",
        "Start here. A digital twin graph holds twins (nodes with properties, of an interface that "
        "a model defines) and named, directed relationships. This shows what this one holds: "
        "interfaces with counts and properties, relationships that occur, example queries.",
        Effect.READ,
        ("models/read", "query/read"),
        DescribeGraph,
        build_output(
            {
                "digest": "string",
                "twins": "integer",
                "interfaces": "integer",
                "truncated": "boolean",
            },
            counted_seconds_ago="integer",
        ),
        describe_graph,
        {"max_tokens": 1500},
    ),
    Tool(
        "explore_neighborhood",
        "Explore around a twin",
        "Twins within 1 to 3 hops of one twin, nearest first, and the relationships on the way.",
        Effect.READ,
        ("digitaltwins/read", "digitaltwins/relationships/read"),
        ExploreNeighborhood,
        build_output(
            {
                "twins": "objects",
                "relationships": "objects",
                "truncated": "boolean",
                "continuation_token": "text or null",
            },
            warnings={"type": "array"},
        ),
        explore_neighborhood,
        {"twin_id": "room-7", "hops": 2, "relationship_names": ["feeds"]},
    ),
)
