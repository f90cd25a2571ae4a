"""Reads members of twins and relationships, their models, types and ends, for all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from twinframe.query.algebra import LabelExpression
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.labels import compile_labels
from twinframe_columns import kinds as k
from twinframe_columns.edges import Edges
from twinframe_columns.frame import Run
from twinframe_columns.kinds import Bools, Integers, Rows
from twinframe_columns.merging import build_vector, merge
from twinframe_columns.projection import ID, RELATIONSHIP_ID, Path
from twinframe_columns.schemas import MemberSchemas
from twinframe_columns.times import read_part, read_times
from twinframe_columns.vectors import (
    ANY,
    NULL,
    Constant,
    Entities,
    Lists,
    Texts,
    Truths,
    Vector,
    read_column,
    read_rows,
    simplify,
)

_MODEL: Path = ("$metadata", "$model")


def read_member(run: Run, vector: Entities, path: Path) -> Vector:
    """Return a member of twins or relationships."""
    if not isinstance(vector.rows, slice) or vector.valid is not None:
        return _read_anew(run, vector, path)
    key = vector.edges, vector.rows.start, vector.rows.stop, path
    found = run.members.get(key)
    if found is None:
        found = run.members[key] = _read_anew(run, vector, path)
    return found


def _read_anew(run: Run, vector: Entities, path: Path) -> Vector:
    if vector.edges == ANY:
        return _read_any(run, vector, lambda name, part: read_member(run, part, path))
    if run.schemas is not None and path[0] in run.schemas.names:
        return _read_typed(run, run.schemas, vector, path)
    return _read_stored(run, vector, path)


def _read_typed(run: Run, schemas: MemberSchemas, vector: Entities, path: Path) -> Vector:
    """Return a member that a model may declare as temporal, or a component of one."""
    for size in range(1, len(path) + 1):
        schema = schemas.find(run.reader, run.projection, vector.edges, path[:size])
        if schema is None:
            continue
        found = simplify(_read_stored(run, vector, path[:size]))
        if found == NULL:
            return NULL
        if not isinstance(found, Texts):
            raise CannotRun("A time that is no text.")
        times = read_times(found, schema)
        if size == len(path):
            return times
        if size + 1 < len(path):
            raise CannotRun("A member of a component of a time.")
        return read_part(times, path[-1])
    return _read_stored(run, vector, path)


def _read_stored(run: Run, vector: Entities, path: Path) -> Vector:
    if vector.edges is None:
        if path == _MODEL:
            return _read_model(run, vector)
        if path[0][:1] == "$" and path != ID:
            raise CannotRun(f"The member {path[0]} in columns.")
        columns, is_complete = run.projection.columns, run.projection.is_complete
    else:
        edges = run.projection.edges[vector.edges]
        if path[0][:1] == "$" and path != (RELATIONSHIP_ID,):
            return _read_end_member(run, edges, vector, path)
        columns, is_complete = edges.columns, edges.is_complete
    for size in range(1, len(path)):
        above = columns.get(path[:size])
        if above is None:
            continue
        own = above.kinds[vector.rows]
        if ((own != k.NULL) & (own != k.MAP)).any():
            raise CannotRun("A member of what is no map.")
    column = columns.get(path)
    if column is not None:
        return read_column(column, vector.rows, vector.valid)
    if not is_complete:
        raise CannotRun("A member without a column.")
    return NULL


def may_be_null(run: Run, vector: Entities, path: Path) -> bool:
    """Whether a member that is null may be there all the same, with JSON's null."""
    if vector.edges == ANY:
        names: list[str | None] = list(run.projection.edges)
    else:
        names = [vector.edges]
    for name in names:
        columns = run.projection.columns if name is None else run.projection.edges[name].columns
        column = columns.get(path)
        if column is not None and column.has_null:
            return True
    return False


def _read_model(run: Run, vector: Entities) -> Vector:
    return _read_names(run.projection.models, run.projection.numbers[vector.rows], vector.valid)


def _read_names(names: list[str], numbers: k.Codes | Integers, valid: Bools | None) -> Vector:
    """Return the name of each number."""
    if not len(numbers):
        return NULL
    used = np.flatnonzero(np.bincount(np.maximum(numbers, 0)))
    table = build_vector([names[at] for at in used.tolist()])
    assert isinstance(table, Texts)  # noqa: S101  # names are texts
    codes = np.zeros(int(used[-1]) + 1, np.int32)
    codes[used] = table.codes
    return Texts(codes[np.maximum(numbers, 0)], table.strings, valid)


def _read_end_member(run: Run, edges: Edges, vector: Entities, path: Path) -> Vector:
    match path:
        case ("$sourceId",):
            rows = edges.sources[vector.rows]
        case ("$targetId",):
            rows = edges.targets[vector.rows]
        case ("$relationshipName",):
            return read_type(run, vector)
        case _:
            raise CannotRun(f"The member {path[0]} in columns.")
    return read_column(run.projection.columns[ID], rows, vector.valid)


def read_labels(run: Run, vector: Entities) -> Vector:
    """Return the labels of twins in alphabetical order."""
    if vector.edges is not None:
        raise CannotRun("The labels of a relationship.")
    labels = [sorted(own) for own in run.projection.labels]
    numbers = run.projection.numbers[vector.rows]
    if not len(numbers):
        return NULL
    if vector.valid is not None:
        numbers = np.where(vector.valid, numbers, 0)
    sizes = np.array([len(own) for own in labels], np.int64)
    starts = np.cumsum(sizes) - sizes
    items = build_vector([one for own in labels for one in own])
    return Lists(starts[numbers], sizes[numbers], items, vector.valid)


def read_type(run: Run, vector: Entities) -> Vector:
    """Return the names of relationships."""
    if vector.edges is None:
        raise CannotRun("The type of a twin.")
    if vector.edges == ANY:
        names = list(run.projection.edges)
        return _read_names(names, _find_names(run, vector), vector.valid)
    if vector.valid is None:
        return Constant(vector.edges)
    found = build_vector([vector.edges])
    assert isinstance(found, Texts)  # noqa: S101  # a name is a text
    return Texts(np.zeros(len(vector.valid), np.int32), found.strings, vector.valid)


def read_end(run: Run, vector: Entities, *, is_source: bool) -> Vector:
    """Return the twins at one end of relationships."""
    if vector.edges is None:
        raise CannotRun("An end of a twin.")
    if vector.edges == ANY:
        return _read_any(run, vector, lambda _, part: read_end(run, part, is_source=is_source))
    edges = run.projection.edges[vector.edges]
    ends = edges.sources if is_source else edges.targets
    return Entities(ends[vector.rows], None, vector.valid)


# --- relationships of any name -----------------------------------------------------------------


def find_bases(run: Run) -> Integers:
    """Return for each name the number of its first relationship among those of all names."""
    counts = [edges.count for edges in run.projection.edges.values()]
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))))


def number_any(run: Run, name: str, numbers: Rows | Integers) -> Integers:
    """Return the numbers of relationships of one name among those of all names."""
    at = list(run.projection.edges).index(name)
    found: Integers = numbers + find_bases(run)[at]
    return found


def number_entities(run: Run, vector: Vector) -> Vector:
    """Return relationships of one name, or lists of them, as such of any name."""
    if isinstance(vector, Lists):
        return replace(vector, items=number_entities(run, vector.items))
    if not isinstance(vector, Entities) or vector.edges is None or vector.edges == ANY:
        return vector
    numbers = number_any(run, vector.edges, read_rows(vector.rows))
    return Entities(numbers.astype(np.int32), ANY, vector.valid)


def _find_names(run: Run, vector: Entities) -> Integers:
    """Return the place of the name of each relationship of any name."""
    found: Integers = np.searchsorted(find_bases(run), read_rows(vector.rows), "right") - 1
    return found


def _read_any(run: Run, vector: Entities, read: Callable[[str, Entities], Vector]) -> Vector:
    """Read relationships of any name name by name."""
    rows = read_rows(vector.rows)
    bases, numbers = find_bases(run), _find_names(run, vector)
    if vector.valid is not None:
        numbers = np.where(vector.valid, numbers, -1)
    parts = []
    for at, name in enumerate(run.projection.edges):
        places = np.flatnonzero(numbers == at)
        if len(places):
            own = Entities((rows[places] - bases[at]).astype(np.int32), name)
            parts.append((places, read(name, own)))
    return merge(parts, len(rows))


# --- labels -----------------------------------------------------------------------------------


def test_labels(run: Run, vector: Vector, labels: LabelExpression) -> Vector:
    """Return whether twins or relationships have labels; null for null."""
    if vector == NULL:
        return NULL
    if not isinstance(vector, Entities):
        raise CannotRun("Labels of what is no twin.")
    if vector.edges is None:
        return test_models(run, vector, run.projection.select_models(labels))
    holds = compile_labels(labels)
    if vector.edges == ANY:
        names = np.array([holds(frozenset((name,))) for name in run.projection.edges], np.bool_)
        true = names[np.clip(_find_names(run, vector), 0, len(names) - 1)]
    else:
        true = np.full(len(read_rows(vector.rows)), holds(frozenset((vector.edges,))))
    return Truths(true if vector.valid is None else true & vector.valid, vector.valid)


def test_models(run: Run, vector: Entities, models: Sequence[int] | None) -> Truths:
    """Return whether twins are of models of these numbers; null for null."""
    table = np.zeros(len(run.projection.models) + 1, np.bool_)  # the last one for no model
    table[slice(-1) if models is None else list(models)] = True
    true = table[run.projection.numbers[vector.rows]]
    return Truths(true if vector.valid is None else true & vector.valid, vector.valid)


def read_ids(run: Run, vector: Entities) -> Vector:
    """Return what `id()` gives for twins."""
    if vector.edges is not None:
        raise CannotRun("The id of a relationship.")
    return read_member(run, vector, ID)
