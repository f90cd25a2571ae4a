"""Reads the vectors of a result as values of the query languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import orjson

from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.engine import CannotRun
from twinframe.storage.base import GraphSession
from twinframe_columns.frame import Frame, Run
from twinframe_columns.members import read_member
from twinframe_columns.merging import list_items, measure_items
from twinframe_columns.paths import list_nodes, list_relationships
from twinframe_columns.projection import ID, RELATIONSHIP_ID
from twinframe_columns.values import blank, read_scalars
from twinframe_columns.vectors import Entities, Lists, Maps, Paths, Vector, read_rows

_FEW: Final = 1_000
_PART: Final = 20
"""The part of all twins whose documents are read by their ids."""


def read_values(run: Run, frame: Frame, vector: Vector) -> Sequence[Value]:
    """Return the values of a vector."""
    match vector:
        case Entities():
            return _read_entities(run, vector)
        case Lists():
            return _read_lists(run, vector)
        case Maps():
            return _read_maps(run, frame, vector)
        case Paths():
            return _read_paths(run, frame, vector)
        case _:
            return read_scalars(vector, frame.count)


def _read_lists(run: Run, vector: Lists) -> Sequence[Value]:
    total = measure_items(vector, run.most_rows)
    items = read_values(run, Frame(total, {}), list_items(vector))
    sizes = vector.sizes.tolist()
    starts = np.cumsum([0, *sizes]).tolist()
    found = [[*items[at : at + size]] for at, size in zip(starts, sizes, strict=False)]
    return blank(found, vector.valid)


def _read_paths(run: Run, frame: Frame, vector: Paths) -> Sequence[Value]:
    steps = list_relationships(run, vector, frame.count), list_nodes(run, vector, frame.count)
    relationships, nodes = (_read_lists(run, one) for one in steps)
    found: list[Value] = [
        None if one is None else Path(tuple(one), tuple(other))  # type: ignore[arg-type]  # read so
        for one, other in zip(nodes, relationships, strict=True)
    ]
    return found


def _read_maps(run: Run, frame: Frame, vector: Maps) -> Sequence[Value]:
    if vector.is_partial:
        raise CannotRun("Maps with different keys.")
    columns = [read_values(run, frame, one) for one in vector.members.values()]
    rows = zip(*columns, strict=True) if columns else [()] * frame.count
    return blank([dict(zip(vector.members, row, strict=True)) for row in rows], vector.valid)


def _read_entities(run: Run, vector: Entities) -> Sequence[Value]:
    if run.reader.is_short:
        raise CannotRun("Documents for a reader that is short.")
    rows = read_rows(vector.rows)
    if vector.valid is not None:
        rows = np.where(vector.valid, rows, -1)
    distinct, inverse = np.unique(rows, return_inverse=True)
    present = distinct[distinct >= 0].astype(np.int32)
    _check_few(run, len(present))
    own = Entities(present, vector.edges)
    found: list[Value] = [None] * (len(distinct) - len(present))
    found += _read_nodes(run, own) if vector.edges is None else _read_relationships(run, own)
    return [found[at] for at in inverse.tolist()]


def _check_few(run: Run, count: int) -> None:
    """PERF: a store reads many documents one after the other ten times faster than by their ids."""
    if count > max(_FEW, run.projection.count // _PART):
        raise CannotRun("Many whole documents.")


def read_bodies(run: Run, session: GraphSession, vector: Entities) -> list[bytes]:
    """Return the documents of twins as they are stored."""
    if session.is_short:
        raise CannotRun("Documents for a reader that is short.")
    _check_few(run, len(read_rows(vector.rows)))
    names = _read_texts(run, vector, ID)
    found: dict[str, bytes] = {}
    for some in _batch(list(dict.fromkeys(names)), run):
        documents = session.read_twin_documents(some)
        found.update((name, stored.body) for name, stored in documents.items())
    if any(name not in found for name in names):
        raise CannotRun("A twin that is not there.")
    return [found[name] for name in names]


def _read_nodes(run: Run, vector: Entities) -> list[Node]:
    names = _read_texts(run, vector, ID)
    found: dict[str, Node] = {}
    for some in _batch(names, run):
        found.update(run.reader.read_nodes(some))
    if len(found) < len(names):
        raise CannotRun("A twin that is not there.")
    return [found[name] for name in names]


def _read_relationships(run: Run, vector: Entities) -> list[Relationship]:
    if not isinstance(run.reader, GraphSession):
        raise CannotRun("Relationships of a reader that does not keep them.")
    members = ("$sourceId",), (RELATIONSHIP_ID,), ("$targetId",), ("$relationshipName",)
    rows = list(zip(*(_read_texts(run, vector, member) for member in members), strict=True))
    found: list[Relationship] = []
    for some in _batch(rows, run):
        documents = run.reader.read_relationship_documents([(row[0], row[1]) for row in some])
        for source, own_id, target, name in some:
            stored = documents.get((source, own_id))
            if stored is None:
                raise CannotRun("A relationship that is not there.")
            document = orjson.loads(stored.body)
            found.append(Relationship(source, own_id, target, name, document))
    return found


def _read_texts(run: Run, vector: Entities, path: tuple[str, ...]) -> list[str]:
    return read_scalars(read_member(run, vector, path), len(read_rows(vector.rows)))


def _batch(items: Sequence[Any], run: Run) -> Iterator[list[Any]]:
    rest = iter(items)
    while some := list(islice(rest, run.reader.most_at_once)):
        run.reader.check_deadline()
        yield some
