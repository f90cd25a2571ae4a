"""Measures depth, cycles and totals of a directed graph, iteratively and in linear time.

`twinframe.dtdl.structure` defines the nodes and steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Node = TypeVar("Node")


@dataclass(slots=True)
class Depths:
    """The results: longest chain from each node, nodes on or above a cycle, and an order.

    In `order` every node comes after the nodes it leads to, cycles aside.
    """

    depth: dict[str, int] = field(default_factory=dict)
    cyclic: set[str] = field(default_factory=set)
    order: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Frame(Generic[Node]):
    node: Node
    steps: Iterator[Node]
    below: int = 0
    cyclic: bool = False


def measure_depths(
    starts: Iterable[Node],
    steps: Callable[[Node], Iterable[Node]],
    weight: Callable[[Node], int],
    key: Callable[[Node], str],
) -> Depths:
    """Measure every node that is reachable from `starts`.

    `steps` gives the next nodes, `weight` what a node adds to a chain, `key` identifies it.
    """
    result = Depths()
    open_keys: set[str] = set()
    for start in starts:
        if key(start) in result.depth:
            continue
        stack = [_Frame(start, iter(steps(start)))]
        open_keys.add(key(start))
        while stack:
            frame = stack[-1]
            following = next(frame.steps, None)
            if following is None:
                stack.pop()
                _close(frame, stack, open_keys, result, key(frame.node), weight(frame.node))
                continue
            node = following
            name = key(node)
            if name in open_keys:
                frame.cyclic = True
            elif name in result.depth:
                frame.below = max(frame.below, result.depth[name])
                frame.cyclic = frame.cyclic or name in result.cyclic
            else:
                open_keys.add(name)
                stack.append(_Frame(node, iter(steps(node))))
    return result


def _close(
    frame: _Frame[Node],
    stack: list[_Frame[Node]],
    open_keys: set[str],
    result: Depths,
    name: str,
    weight: int,
) -> None:
    open_keys.discard(name)
    result.depth[name] = depth = weight + frame.below
    result.order.append(name)
    if frame.cyclic:
        result.cyclic.add(name)
    if stack:
        above = stack[-1]
        above.below = max(above.below, depth)
        above.cyclic = above.cyclic or frame.cyclic


@dataclass(slots=True)
class _Sum(Generic[Node]):
    node: Node
    steps: Iterator[Node]
    total: int


def sum_below(
    starts: Iterable[Node],
    steps: Callable[[Node], Iterable[Node]],
    weight: Callable[[Node], int],
    key: Callable[[Node], str],
) -> dict[str, int]:
    """Return how much is below each node that is reachable from `starts`, counting each path.

    A node adds one to the node above and everything below itself; `weight` is what a node adds
    besides. A cycle is not followed again.
    """
    totals: dict[str, int] = {}
    open_keys: set[str] = set()
    for start in starts:
        if key(start) in totals:
            continue
        stack = [_Sum(start, iter(steps(start)), weight(start))]
        open_keys.add(key(start))
        while stack:
            frame = stack[-1]
            following = next(frame.steps, None)
            if following is None:
                stack.pop()
                name = key(frame.node)
                open_keys.discard(name)
                totals[name] = frame.total
                if stack:
                    stack[-1].total += 1 + frame.total
                continue
            node = following
            name = key(node)
            if name in open_keys or name in totals:
                frame.total += 1 + totals.get(name, 0)
            else:
                open_keys.add(name)
                stack.append(_Sum(node, iter(steps(node)), weight(node)))
    return totals
