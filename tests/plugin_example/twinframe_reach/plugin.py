"""Two procedures: `acme.reachable` reads the graph, `acme.chain` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from twinframe import hookimpl
from twinframe.hooks.procedures import (
    Direction,
    Effect,
    Node,
    Procedure,
    ProcedureGraph,
    Value,
)


def find_reachable(graph: ProcedureGraph, arguments: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Yield each node that relationships of a type lead to, nearest first, with its distance."""
    start, kind, most = arguments
    assert isinstance(start, Node)
    assert isinstance(kind, str)
    assert isinstance(most, int)
    seen, frontier = {start.id}, [start.id]
    for distance in range(1, most + 1):
        graph.reader.check_deadline()
        hops = graph.reader.read_hops(frontier, Direction.OUTGOING, (kind,))
        frontier = [one for one in dict.fromkeys(hop.reached for hop in hops) if one not in seen]
        seen.update(frontier)
        found = graph.reader.read_nodes(frontier)
        for one in frontier:
            yield found[one], distance


def make_chain(graph: ProcedureGraph, arguments: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Relate each node of a list to the next one."""
    nodes, kind = arguments
    assert isinstance(nodes, list)
    assert isinstance(kind, str)
    for one, other in pairwise(nodes):
        assert isinstance(one, Node)
        assert isinstance(other, Node)
        yield [graph.create_relationship(one, other, kind, {})]


@hookimpl
def twinframe_procedures() -> Sequence[Procedure]:
    """The procedures."""
    reachable = Procedure(
        "acme.reachable",
        (("start", "NODE"), ("type", "STRING"), ("steps", "INTEGER")),
        (("node", "NODE"), ("distance", "INTEGER")),
        find_reachable,
        "The nodes that relationships of a type lead to, with their distance.",
    )
    chain = Procedure(
        "acme.chain",
        (("nodes", "LIST"), ("type", "STRING")),
        (("relationship", "RELATIONSHIP"),),
        make_chain,
        "Relates each node of a list to the next one.",
        effects=frozenset({Effect.READ, Effect.WRITE_RELATIONSHIPS}),
        permission="acme/chain",
    )
    return reachable, chain
