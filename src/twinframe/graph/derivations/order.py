"""Orders derivations so that each comes after those whose properties it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, assert_never

from twinframe.graph.derivations.footprint import Footprint, ReadNode
from twinframe.graph.documents.derivations import Derivation
from twinframe.model.ids import TWIN_LABEL, build_model_name
from twinframe.query.algebra import (
    LabelAnd,
    LabelExpression,
    LabelName,
    LabelNot,
    LabelOr,
    Query,
)
from twinframe.query.reader import GraphReader


class Understood(NamedTuple):
    """A derivation and what its values depend on.

    `models` are those of its twins; `node_models` those that twins may have which the nodes of its
    footprint match, in their order.
    """

    derivation: Derivation
    footprint: Footprint
    models: frozenset[str]
    node_models: tuple[frozenset[str], ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Order:
    """The derivations in the order in which they settle, and why others are halted, by id."""

    settling: Sequence[Understood]
    halted: Mapping[str, str]


class Models:
    """Which models the twins of a label may have, in one state of the graph."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._descendants: dict[str, frozenset[str]] = {}

    @cached_property
    def _all(self) -> frozenset[str]:
        return self._reader.read_model_ids()

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Return a model and all that extend it."""
        found = self._descendants.get(model_id)
        if found is None:
            found = self._reader.read_descendants(model_id) | {model_id}
            self._descendants[model_id] = found
        return found

    def find(self, node: ReadNode) -> frozenset[str]:
        """Return the models that a twin may have which a node of a pattern matches."""
        found = self._all
        for labels in node.labels:
            found &= self._find(labels)
        return found

    def _find(self, labels: LabelExpression) -> frozenset[str]:
        match labels:
            case LabelName(name=name):
                if name == TWIN_LABEL:
                    return self._all
                own = [one for one in self._all if name in (one, build_model_name(one))]
                return frozenset[str]().union(*map(self.read_descendants, own))
            case LabelNot():
                return self._all  # what a derived value decides may also be that a twin is left out
            case LabelAnd(left=left, right=right):
                return self._find(left) & self._find(right)
            case LabelOr(left=left, right=right):
                return self._find(left) | self._find(right)
            case _:
                assert_never(labels)


def order(derivations: Sequence[Understood]) -> Order:
    """Order derivations; those of a property that another one derives too, or of a cycle, halt."""
    halted: dict[str, str] = {}
    sound: list[Understood] = []
    for one in derivations:
        rival = next((x for x in sound if _is_rival(one, x)), None)
        if rival is None:
            sound.append(one)
        else:
            name, other = one.derivation.property_name, rival.derivation.id
            halted[one.derivation.id] = f"{name} of these twins is derived by {other} already."
    before = {
        one.derivation.id: [x.derivation.id for x in sound if _reads(one, x)] for one in sound
    }
    settling: list[Understood] = []
    done: set[str] = set()
    waiting = sound
    while ready := [one for one in waiting if done.issuperset(before[one.derivation.id])]:
        settling += ready
        done.update(one.derivation.id for one in ready)
        waiting = [one for one in waiting if one.derivation.id not in done]
    for one in waiting:
        cycle = " <- ".join(_find_cycle(one.derivation.id, before, done))
        halted[one.derivation.id] = (
            f"It depends on its own values: {cycle}. Each derivation may only read properties that "
            "do not depend on it."
        )
    return Order(settling, halted)


def _is_rival(one: Understood, other: Understood) -> bool:
    same = one.derivation.property_name == other.derivation.property_name
    return same and not one.models.isdisjoint(other.models)


def _reads(one: Understood, other: Understood) -> bool:
    """Return whether a derivation reads the property of another one."""
    name = other.derivation.property_name
    reads = zip(one.footprint.all_nodes, (one.models, *one.node_models), strict=True)
    return any(
        (node.keys is None or name in node.keys) and not models.isdisjoint(other.models)
        for node, models in reads
    )


def _find_cycle(start: str, before: Mapping[str, Sequence[str]], done: set[str]) -> list[str]:
    """Return ids each of which reads the next one, until one recurs."""
    path = [start]
    while True:
        following = next(one for one in before[path[-1]] if one not in done)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)
