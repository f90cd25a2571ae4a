"""Shortest paths between two twins: a search from both ends, with one SELECT for each step.

SPARQL has no length of a path, so each SELECT reads the neighbours of some twins. Only
`shortestPath` and `allShortestPaths` between two ids are compiled, with the results about a path
that `find_search` knows; the evaluator runs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final, TypeAlias

from twinframe.model.ids import TWIN_LABEL
from twinframe.model.rendering import render_row
from twinframe.model.values import Node, Path, Value
from twinframe.query.algebra import (
    Direction,
    Expression,
    FunctionCall,
    GraphPattern,
    LabelName,
    Literal,
    Match,
    NodePattern,
    Parameter,
    PathKind,
    Project,
    Query,
    RelationshipPattern,
    ResultShape,
    Unit,
    Variable,
)
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow
from twinframe.query.reader import GraphReader, Hop
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW, Abilities, render_plain
from twinframe_storage_rdf.compiler.bindings import Source
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.terms import Iri, render_iri

LONGEST: Final = 32
"""The most relationships of a path that is searched for here."""

_BATCH: Final = 400
_PLACE: Final = "$v0_"
_TOLD = ("length", "nodes", "relationships")
_SOURCE, _TARGET = (render_iri(each) for each in (v.SOURCE, v.TARGET))


_Level: TypeAlias = dict[Iri, dict[Iri, None]]
"""Twins in order, each with those it was reached from."""


@dataclass(frozen=True, slots=True)
class _Search:
    """The match: its two ids, the relationships it follows, whether all paths are wanted."""

    ends: tuple[Source, Source]
    relationship: RelationshipPattern
    path: str | None
    finds_all: bool
    longest: int


@dataclass(frozen=True, slots=True)
class _Side:
    """The twins reached from one end, each with those it was reached from, by level."""

    levels: list[_Level]

    @property
    def frontier(self) -> _Level:
        """The last level that was reached."""
        return self.levels[-1]

    def holds(self, twin: Iri) -> bool:
        """Whether the twin was reached already."""
        return any(twin in level for level in self.levels)

    def trace(self, twin: Iri) -> Iterator[tuple[Iri, ...]]:
        """Yield every shortest way from a twin of the last level back to the end."""
        ways: list[tuple[Iri, ...]] = [(twin,)]
        for level in reversed(self.levels[1:]):
            ways = [(*way, one) for way in ways for one in level[way[-1]]]
        yield from ways


class ShortestQuery(CompiledQuery):
    """A query that returns facts about the shortest paths between two ids."""

    resumable = False

    def __init__(
        self, query: Query, names: GraphNames, parameters: Mapping[str, Value], abilities: Abilities
    ) -> None:
        found = find_search(query, parameters)
        if found is None:
            raise CannotRun("A shortest path.")
        self._search, told = found
        if not self._search.finds_all and set(told) != {"length"}:
            raise CannotRun("One shortest path of several.")
        self._told, self._columns = told, query.columns
        self._steps = [
            _render_step(names, self._search.relationship, backwards=each) for each in (False, True)
        ]
        for step in self._steps:
            abilities.check_text(step)
        self.text = render_plain(self._steps[0]).replace(_PLACE, "$reached")

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Result rows as JSON."""
        del after
        rows = self.run_rows(session, parameters)
        for row in islice(rows, skip, None if limit is None else skip + limit):
            yield render_row(self._columns, row), None

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Result rows as values."""
        if not isinstance(session, RdfSession):
            raise CannotRun("A session of another store.")
        start, end = (_read_id(each, parameters) for each in self._search.ends)
        if start == end:
            raise CannotRun("A way back to where it starts.")
        sides = self._meet(session, v.build_twin_iri(start), v.build_twin_iri(end))
        if sides is None:
            return
        if not self._search.finds_all:
            length = len(sides[0].levels) + len(sides[1].levels) - 2
            yield tuple([length] * len(self._told))
            return
        yield from map(self._build_row, self._find_paths(session, sides))

    # --- the search -----------------------------------------------------------------------------

    def _meet(self, session: RdfSession, start: Iri, end: Iri) -> tuple[_Side, _Side] | None:
        """Return both sides as soon as they share twins; None if they never do."""
        sides = (_Side([{start: {}}]), _Side([{end: {}}]))
        for _ in range(self._search.longest):
            at = 0 if len(sides[0].frontier) <= len(sides[1].frontier) else 1
            side, other = sides[at], sides[1 - at]
            reached: _Level = {}
            for origin, twin in self._read_next(session, self._steps[at], side.frontier):
                if not side.holds(twin):
                    # NOTE: once for each origin, even if relationships of two names lead there.
                    reached.setdefault(twin, {})[origin] = None
            if not reached:
                return None
            side.levels.append(reached)
            if not reached.keys().isdisjoint(other.frontier):
                return sides
        return None

    def _read_next(
        self, session: RdfSession, step: str, frontier: Mapping[Iri, object]
    ) -> Iterator[tuple[Iri, Iri]]:
        origins = list(frontier)
        text = render_plain(step)
        for at in range(0, len(origins), _BATCH):
            twins = " ".join(map(render_iri, origins[at : at + _BATCH]))
            for origin, twin in session.select(text.replace(_PLACE, twins)):
                if not isinstance(origin, Iri) or not isinstance(twin, Iri):
                    raise CannotRun("An end of a relationship that is no twin.")
                yield origin, twin

    # --- every path -----------------------------------------------------------------------------

    def _find_paths(self, session: RdfSession, sides: tuple[_Side, _Side]) -> Iterator[Path]:
        start, end = sides
        ways = [
            tuple(v.parse_twin_iri(twin) for twin in (*reversed(first), *second[1:]))
            for middle in start.frontier
            if middle in end.frontier
            for first in start.trace(middle)
            for second in end.trace(middle)
        ]
        ids = list(dict.fromkeys(twin for way in ways for twin in way))
        nodes = session.read_nodes(ids)
        pattern = self._search.relationship
        hops: dict[tuple[str, str], list[Hop]] = {}
        for hop in session.read_hops(ids, pattern.direction, pattern.types):
            hops.setdefault((hop.origin, hop.reached), []).append(hop)
        for way in ways:
            yield from _build_paths(way, nodes, hops)

    def _build_row(self, path: Path) -> tuple[Value, ...]:
        values: dict[str, Value] = {
            "": path,
            "length": len(path.relationships),
            "nodes": [*path.nodes],
            "relationships": [*path.relationships],
        }
        return tuple(values[each] for each in self._told)


def _build_paths(
    way: Sequence[str], nodes: Mapping[str, Node], hops: Mapping[tuple[str, str], list[Hop]]
) -> Iterator[Path]:
    """Build the paths by these twins: one for each choice of parallel relationships."""
    choices: list[tuple[Hop, ...]] = [()]
    for pair in pairwise(way):
        choices = [(*made, hop) for made in choices for hop in hops.get(pair, ())]
    for choice in choices:
        yield Path(tuple(nodes[each] for each in way), tuple(hop.relationship for hop in choice))


# --- the match ----------------------------------------------------------------------------------


def find_search(
    query: Query, parameters: Mapping[str, Value]
) -> tuple[_Search, tuple[str, ...]] | None:
    """Return the search of the query and what its columns say of a path; None for others."""
    match query.root:
        case Project(
            source=Match(source=Unit(), pattern=pattern, predicate=None, optional=False),
            items=items,
        ) if query.shape is ResultShape.OBJECT:
            search = _find_pattern(pattern, parameters)
        case _:
            return None
    if search is None:
        return None
    told = {name: _find_told(each, search.path) for name, each in items}
    columns = [told.get(name) for name in query.columns]
    known = tuple(each for each in columns if each is not None)
    return (search, known) if len(known) == len(columns) else None


def _find_pattern(pattern: GraphPattern, parameters: Mapping[str, Value]) -> _Search | None:
    if (len(pattern.nodes), len(pattern.relationships), len(pattern.paths)) != (2, 1, 1):
        return None
    (relationship,), (path,) = pattern.relationships, pattern.paths
    length = relationship.length
    if path.kind is PathKind.ALL or length is None or relationship.properties:
        return None
    if length.minimum > 1 or length.maximum is None or not 0 < length.maximum <= LONGEST:
        return None
    nodes = {node.variable: node for node in pattern.nodes}
    if len(nodes) != 2:
        return None
    ends = [_find_id(nodes[name], parameters) for name in (relationship.left, relationship.right)]
    if ends[0] is None or ends[1] is None:
        return None
    finds_all = path.kind is PathKind.ALL_SHORTEST
    return _Search((ends[0], ends[1]), relationship, path.variable, finds_all, length.maximum)


def _find_id(node: NodePattern, parameters: Mapping[str, Value]) -> Source | None:
    if node.labels not in (None, LabelName(TWIN_LABEL)):
        return None
    match node.properties:
        case (("$dtId", Literal(value=str(value))),):
            return Source(None, value)
        case (("$dtId", Parameter(name=name)),) if isinstance(parameters.get(name), str):
            return Source(name)
        case _:
            return None


def _find_told(expression: Expression, path: str | None) -> str | None:
    match expression:
        case Variable(name=name) if name == path:
            return ""
        case FunctionCall(name=name, arguments=(Variable(name=of),)) if of == path:
            return name if name in _TOLD else None
        case _:
            return None


def _read_id(source: Source, parameters: Mapping[str, Value]) -> str:
    value = source.value if source.name is None else parameters.get(source.name)
    if not isinstance(value, str):
        raise CannotRun("An id that is no string.")
    return value


def _render_step(names: GraphNames, pattern: RelationshipPattern, *, backwards: bool) -> str:
    """Render the SELECT of the twins `?y` that relationships lead to from others, `?x`."""
    ways = [
        pattern.direction is not Direction.INCOMING,
        pattern.direction is not Direction.OUTGOING,
    ]
    if backwards:
        ways.reverse()
    arms = []
    if pattern.types:
        edges = [render_iri(v.build_edge_iri(name)) for name in dict.fromkeys(pattern.types)]
        forth, back = ([f"?x {edge} ?y ." for edge in edges], [f"?y {edge} ?x ." for edge in edges])
    else:
        forth = [f"?r {_SOURCE} ?x . ?r {_TARGET} ?y ."]
        back = [f"?r {_TARGET} ?x . ?r {_SOURCE} ?y ."]
    for is_wanted, patterns in zip(ways, (forth, back), strict=True):
        if is_wanted:
            arms += [f"{{ VALUES{NARROW} ?x {{ {_PLACE} }} {each} }}" for each in patterns]
    group = f"{{ {' UNION '.join(arms)} }}"
    return f"SELECT ?x ?y FROM {render_iri(names.data)} WHERE {group}"
