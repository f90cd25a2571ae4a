"""Named paths of a pattern: their parts are kept apart until something reads them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from twinframe.query.algebra import PathPattern
from twinframe.query.engine import CannotRun
from twinframe_columns.frame import Run
from twinframe_columns.kinds import Bools, Integers, Rows
from twinframe_columns.lists import concatenate, find_owners
from twinframe_columns.members import number_entities, read_end
from twinframe_columns.merging import list_items, read_lists
from twinframe_columns.vectors import (
    NULL,
    Entities,
    Lists,
    Numbers,
    Paths,
    Vector,
    read_rows,
)


def build_path(path: PathPattern, variables: Mapping[str, Vector]) -> Paths:
    """Return the paths whose parts the variables are."""
    return Paths(tuple(variables[name] for name in path.elements))


def read_paths(vector: Vector) -> Paths:
    """Return the vector as paths; a value of another type would be an error."""
    if not isinstance(vector, Paths):
        raise CannotRun("A path function of what is no path.")
    return vector


def measure_paths(paths: Paths, count: int) -> Numbers:
    """`length(paths)`."""
    total: Integers = np.zeros(count, np.int64)
    for one in paths.elements[1::2]:
        total = total + (one.sizes if isinstance(one, Lists) else 1)
    return Numbers(total.astype(np.float64), True, paths.valid)


def list_relationships(run: Run, paths: Paths, count: int) -> Lists:
    """`relationships(paths)`."""
    steps = paths.elements[1::2]
    names = {find_edges(one) for one in steps}
    found = _build_none(count)
    for one in steps:
        found = _append(found, one if len(names) == 1 else number_entities(run, one), count)
    return _blank(found, paths.valid)


def list_nodes(run: Run, paths: Paths, count: int) -> Lists:
    """`nodes(paths)`."""
    found = _append(_build_none(count), paths.elements[0], count)
    before = paths.elements[0]
    for step, node in zip(paths.elements[1::2], paths.elements[2::2], strict=True):
        inner = _list_reached(run, before, step) if isinstance(step, Lists) else node
        found = _append(found, inner, count)
        before = node
    return _blank(found, paths.valid)


def _list_reached(run: Run, origin: Vector, steps: Lists) -> Lists:
    """Return the nodes that a walk reaches one after the other."""
    if not isinstance(origin, Entities):
        raise CannotRun("A path from what is no twin.")
    items = list_items(steps)
    owners = find_owners(steps)
    starts = np.cumsum(steps.sizes) - steps.sizes
    if not len(owners):
        return Lists(starts, steps.sizes, NULL, steps.valid)
    assert isinstance(items, Entities)  # noqa: S101  # relationships
    sources, targets = (_read_end_rows(run, items, is_source=one) for one in (True, False))
    reached = np.zeros(len(owners), np.int32)
    here = read_rows(origin.rows).copy()
    for at in range(int(steps.sizes.max())):
        rows = np.flatnonzero(steps.sizes > at)
        places = starts[rows] + at
        here[rows] = np.where(sources[places] == here[rows], targets[places], sources[places])
        reached[places] = here[rows]
    return Lists(starts, steps.sizes, Entities(reached), steps.valid)


def _read_end_rows(run: Run, items: Entities, *, is_source: bool) -> Rows:
    ends = read_end(run, items, is_source=is_source)
    assert isinstance(ends, Entities)  # noqa: S101  # twins
    return read_rows(ends.rows)


def find_edges(step: Vector) -> str | None:
    """Return the name of relationships, or of those in lists."""
    items = step.items if isinstance(step, Lists) else step
    return items.edges if isinstance(items, Entities) else None


def _build_none(count: int) -> Lists:
    none = np.zeros(count, np.int64)
    return Lists(none, none, NULL)


def _append(lists: Lists, step: Vector, count: int) -> Lists:
    return read_lists(concatenate(lists, step, count), count)


def _blank(lists: Lists, valid: Bools | None) -> Lists:
    if valid is None:
        return lists
    return Lists(lists.starts, np.where(valid, lists.sizes, 0), lists.items, valid)
