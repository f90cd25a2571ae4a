"""The use case of neighbourhoods: the twins near one twin, hop by hop, in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, cast

from twinframe.errors import TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.paging import Continuation
from twinframe.model.ids import parse_twin_id
from twinframe.model.values import JsonValue, Node, Relationship
from twinframe.query.algebra import Direction
from twinframe.query.evaluate.member_typing import read_model_id
from twinframe.query.reader import Hop
from twinframe.storage.base import GraphSession

_TWINS_AT_ONCE: Final = 200
_OPERATION: Final = "neighborhood"
MOST_RELATIONSHIPS: Final = 20_000
"""The number of relationships after which a walk stops and reports that it is incomplete."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The parameters of a walk; empty `names` and `model_ids` mean any.

    Twins of other models than `model_ids` and their descendants are walked through, but not listed.
    `limit` is of listed twins; `token` continues after those of the answer that gave it.
    """

    twin_id: str
    hops: int
    direction: Direction = Direction.BOTH
    names: tuple[str, ...] = ()
    model_ids: tuple[str, ...] = ()
    limit: int = 50
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Twins by hop and id, with the relationships that lead to them from the start.

    `token`: where to continue when more twins follow, else None. `complete`: the walk followed
    everything within its hops; else it stopped at `MOST_RELATIONSHIPS`, and what is beyond is
    unknown.
    """

    twins: tuple[tuple[int, Node], ...]
    relationships: tuple[Relationship, ...]
    token: str | None
    complete: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """A neighbourhood without its token, which is made if there is `more`."""

    twins: tuple[tuple[int, Node], ...]
    relationships: tuple[Relationship, ...]
    more: bool
    complete: bool


@dataclass(slots=True)
class _State:
    """The state of a walk: hops of twins, relationships by key, and how each was reached."""

    hops: dict[str, int]
    crossed: dict[tuple[str, str], Relationship] = field(default_factory=dict)
    reached_by: dict[str, Hop] = field(default_factory=dict)
    complete: bool = True


class Neighborhoods:
    """Walks from a twin."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def walk(self, walk: Walk) -> Neighborhood:
        """Return the twins near one.

        Errors: `InvalidArgument`, `InvalidContinuationToken`, `TwinNotFound`, `QueryTimeout`.
        """
        parse_twin_id(walk.twin_id)
        signer = await self._context.read_signer()
        bound: JsonValue = [
            walk.twin_id, walk.hops, walk.direction.value, [*walk.names], [*walk.model_ids]
        ]  # fmt: skip
        after: tuple[int, str] | None = None
        if walk.token is not None:
            state = signer.parse(_OPERATION, bound, walk.token).state
            hop, twin_id = cast("tuple[int, str]", state)  # only signed state comes this far
            after = hop, twin_id

        def read(session: GraphSession) -> _Found:
            return _read_neighborhood(session, walk, after)

        found = await self._context.runner.scan(read, self._context.settings.query.timeout)
        token = None
        if found.more:
            hop, last = found.twins[-1]
            token = signer.render(_OPERATION, bound, Continuation([hop, last.id], walk.limit))
        return Neighborhood(found.twins, found.relationships, token, found.complete)


def _read_neighborhood(session: GraphSession, walk: Walk, after: tuple[int, str] | None) -> _Found:
    if not session.has_twin(walk.twin_id):
        raise TwinNotFound(walk.twin_id)
    state = _cross(session, walk)
    is_wanted = _build_filter(session, walk.model_ids)
    order = sorted((hop, twin_id) for twin_id, hop in state.hops.items() if hop)
    if after is not None:
        order = [one for one in order if one > after]
    found = list(islice(_read_twins(session, order, is_wanted), walk.limit + 1))
    listed = found[: walk.limit]
    return _Found(
        tuple(listed),
        _list_relationships(state, walk.twin_id, [node.id for _, node in listed]),
        len(found) > walk.limit,
        state.complete,
    )


def _read_twins(
    session: GraphSession, order: Sequence[tuple[int, str]], is_wanted: Callable[[Node], bool]
) -> Iterator[tuple[int, Node]]:
    for start in range(0, len(order), _TWINS_AT_ONCE):
        part = order[start : start + _TWINS_AT_ONCE]
        nodes = session.read_nodes([twin_id for _, twin_id in part])
        for hop, twin_id in part:
            if twin_id in nodes and is_wanted(nodes[twin_id]):
                yield hop, nodes[twin_id]
        session.check_deadline()


def _cross(session: GraphSession, walk: Walk) -> _State:
    state = _State({walk.twin_id: 0})
    frontier: Sequence[str] = [walk.twin_id]
    for hop in range(1, walk.hops + 1):
        following: dict[str, None] = {}
        for step in session.read_hops(frontier, walk.direction, walk.names):
            if len(state.crossed) >= MOST_RELATIONSHIPS:
                state.complete = False
                return state
            state.crossed[step.relationship.source, step.relationship.id] = step.relationship
            if step.reached not in state.hops:
                state.hops[step.reached] = hop
                state.reached_by[step.reached] = step
                following[step.reached] = None
        session.check_deadline()
        frontier = sorted(following)  # sorted, so that the walk is the same for each page
    return state


def _list_relationships(
    state: _State, start: str, listed: Sequence[str]
) -> tuple[Relationship, ...]:
    """List those between the start and listed twins, and those on the way to a listed twin."""
    ends = {start, *listed}
    shown = {
        key: one for key, one in state.crossed.items() if one.source in ends and one.target in ends
    }
    for twin_id in listed:
        step = state.reached_by.get(twin_id)
        while step is not None:
            shown[step.relationship.source, step.relationship.id] = step.relationship
            step = state.reached_by.get(step.origin)
    return tuple(shown[key] for key in sorted(shown))


def _build_filter(session: GraphSession, model_ids: Sequence[str]) -> Callable[[Node], bool]:
    if not model_ids:
        return lambda _: True
    wanted = frozenset[str]().union(*map(session.read_descendants, model_ids))
    return lambda node: read_model_id(node) in wanted
