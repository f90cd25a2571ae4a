"""Brings a projection to a later position by the changes since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson

from twinframe.storage.base import ChangeKind, GraphSession
from twinframe_columns import kinds as k
from twinframe_columns.build import DEEPEST, MOST_COLUMNS, batch, order_labels
from twinframe_columns.column import Column, build_column, build_no_strings
from twinframe_columns.edges import Edges, build_edges
from twinframe_columns.hops import expand
from twinframe_columns.kinds import Rows
from twinframe_columns.projection import ID, RELATIONSHIP_ID, Path, Projection

_AT_ONCE: Final = 200
_PAGE: Final = 2_000
_MOST_TIMES: Final = 10
_TWINS: Final = frozenset(
    (ChangeKind.TWIN_CREATED, ChangeKind.TWIN_UPDATED, ChangeKind.TWIN_DELETED)
)
_MODELS: Final = frozenset(
    (ChangeKind.MODEL_CREATED, ChangeKind.MODEL_DECOMMISSIONED, ChangeKind.MODEL_DELETED)
)


class Outgrown(Exception):
    """The projection has no room for the changes; it is to be built anew."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed up to a position: the entities, each once however often it changed."""

    position: int
    twins: Mapping[str, None]
    edges: Mapping[tuple[str, str], None]
    has_models: bool

    @property
    def count(self) -> int:
        """How many twins and relationships changed."""
        return len(self.twins) + len(self.edges)


def read_changes(session: GraphSession, after: int, most: int) -> Changes | None:
    """Return what changed after a position; None if that is no longer known.

    After `most` entities, or many more changes of fewer, it is not read further.
    """
    twins: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}
    has_models = False
    position, count = after, 0
    while len(twins) + len(edges) <= most and count <= _MOST_TIMES * most:
        page = session.read_changes(after=position, limit=_PAGE)
        if not page.is_complete:
            return None
        for change in page.changes:
            if change.kind in _TWINS:
                twins[change.subject] = None
            elif change.kind in _MODELS:
                has_models = True
            elif change.relationship_id:
                edges[change.subject, change.relationship_id] = None
        if page.position == position:
            break
        count += page.position - position
        position = page.position
    return Changes(position, twins, edges, has_models)


def apply_changes(projection: Projection, session: GraphSession, changes: Changes) -> None:
    """Apply changes up to the position at which `session` has its snapshot.

    Raises `Outgrown`. After that and any other error the projection is of no use.
    """
    if projection.is_worn_out:
        raise Outgrown
    if changes.has_models:
        _read_models(projection, session)
    for some in batch(changes.twins, _AT_ONCE):
        found = session.read_twin_documents(some)
        for twin_id in some:
            stored = found.get(twin_id)
            _apply_twin(projection, twin_id, None if stored is None else orjson.loads(stored.body))
    for keys in batch(changes.edges, _AT_ONCE):
        stored_edges = session.read_relationship_documents(keys)
        for key in keys:
            edge = stored_edges.get(key)
            _apply_edge(projection, key, None if edge is None else orjson.loads(edge.body))
    projection.changed += changes.count
    projection.position = changes.position


def _read_models(projection: Projection, session: GraphSession) -> None:
    labels = order_labels(session)
    for number, dtmi in enumerate(projection.models):
        projection.labels[number] = labels.pop(dtmi, projection.labels[number])
    projection.models += labels
    projection.labels += labels.values()
    projection.forget_selections()


# --- twins ----------------------------------------------------------------------------------------


def _apply_twin(projection: Projection, twin_id: str, document: Mapping[str, Any] | None) -> None:
    row = projection.find_row(twin_id)
    if document is None:
        if row >= 0:
            _remove_row(projection, row)
            _remove_edges_at(projection, row)
            projection.rows[projection.columns[ID].strings.find(twin_id)] = -1  # type: ignore[union-attr]
        return
    number = projection.find_model(document["$metadata"]["$model"])
    if number < 0:
        raise Outgrown  # a change is missing
    if row < 0:
        row = _add_row(projection, twin_id, number)
    elif projection.numbers[row] != number:
        moved = _add_row(projection, twin_id, number)
        _remove_row(projection, row)
        _move_edges(projection, row, moved)
        row = moved
    values: dict[Path, Any] = {}
    projection.is_complete &= _flatten(document, (), values, projection.left_out)
    _set_members(projection.columns, row, values, projection.members.setdefault(number, set()))


def _flatten(
    document: Mapping[str, Any], above: Path, found: dict[Path, Any], left_out: set[Path]
) -> bool:
    """Collect the members by path; return whether there is none deeper."""
    is_complete = True
    for key, value in document.items():
        if key[:1] == "$":
            continue
        path = (*above, key)
        if len(path) > DEEPEST or path in left_out:
            is_complete = False
            continue
        found[path] = value
        if type(value) is dict:
            is_complete &= _flatten(value, path, found, left_out)
    return is_complete


def _set_members(
    columns: dict[Path, Column], row: int, values: Mapping[Path, Any], members: set[Path]
) -> None:
    for path in members - values.keys():
        columns[path].kinds[row] = k.NULL
    for path, value in values.items():
        column = columns.get(path)
        if column is None:
            if len(columns) >= MOST_COLUMNS:
                raise Outgrown
            column = columns[path] = build_column(_find_room(columns))
        members.add(path)
        column.set(row, k.find_kind(value), value)


def _find_room(columns: Mapping[Path, Column]) -> int:
    return len(next(iter(columns.values())).kinds)


def _add_row(projection: Projection, twin_id: str, number: int) -> int:
    row = projection.count
    ids = projection.columns[ID]
    if row >= len(projection.numbers) or ids.strings is None or ids.codes is None:
        raise Outgrown
    ids.set(row, k.STRING, twin_id)
    code = int(ids.codes[row])
    if code >= len(projection.rows):
        raise Outgrown
    projection.rows[code] = row
    projection.numbers[row] = number
    projection.count = row + 1
    return row


def _remove_row(projection: Projection, row: int) -> None:
    for path in projection.members.get(int(projection.numbers[row]), ()):
        projection.columns[path].kinds[row] = k.NULL
    projection.columns[ID].kinds[row] = k.NULL
    projection.numbers[row] = -1
    projection.deleted += 1


# --- relationships --------------------------------------------------------------------------------


def _apply_edge(
    projection: Projection, key: tuple[str, str], document: Mapping[str, Any] | None
) -> None:
    source_id, relationship_id = key
    source = projection.find_row(source_id)
    found = None if source < 0 else _find_edge(projection, source, relationship_id)
    if document is None:
        if found is not None:
            found[0].remove(found[1])
        return
    name, target = document["$relationshipName"], projection.find_row(document["$targetId"])
    edges = projection.edges.get(name)
    if found is not None and (found[0] is not edges or edges.all_targets[found[1]] != target):
        found[0].remove(found[1])
        found = None
    if source < 0 or target < 0:
        raise Outgrown  # a change is missing
    if edges is None:
        edges = projection.edges[name] = _build_no_edges(projection.count)
    if found is None:
        number = edges.add(source, target)
        edges.columns[(RELATIONSHIP_ID,)].set(number, k.STRING, relationship_id)
    else:
        number = found[1]
    values: dict[Path, Any] = {}
    edges.is_complete &= _flatten(document, (), values, edges.left_out)
    members = {path for path in edges.columns if path != (RELATIONSHIP_ID,)}
    _set_members(edges.columns, number, values, members)


def _build_no_edges(rows: int) -> Edges:
    none = np.empty(0, np.int32)
    columns: dict[Path, Column] = {
        (RELATIONSHIP_ID,): Column(np.zeros(0, np.uint8), None, none, build_no_strings())
    }
    return build_edges(none, none, columns, rows)


def _find_edge(
    projection: Projection, source: int, relationship_id: str
) -> tuple[Edges, int] | None:
    row = np.array([source], np.int32)
    for edges in projection.edges.values():
        ids = edges.columns[(RELATIONSHIP_ID,)]
        if ids.strings is None or ids.codes is None:
            continue
        code = ids.strings.find(relationship_id)
        if code < 0:
            continue
        numbers = expand(edges, row, outgoing=True).numbers
        same = numbers[ids.codes[numbers] == code]
        if len(same):
            return edges, int(same[0])
    return None


def _find_edges_at(projection: Projection, row: int) -> Iterator[tuple[Edges, Rows]]:
    rows = np.array([row], np.int32)
    for edges in projection.edges.values():
        for outgoing in (True, False):
            numbers = expand(edges, rows, outgoing=outgoing).numbers
            if len(numbers):
                yield edges, numbers.astype(np.int32)


def _remove_edges_at(projection: Projection, row: int) -> None:
    for edges, numbers in _find_edges_at(projection, row):
        for number in numbers.tolist():
            edges.remove(number)


def _move_edges(projection: Projection, row: int, moved: int) -> None:
    """Let the relationships of one row start and end at another."""
    for edges, numbers in list(_find_edges_at(projection, row)):
        for number in numbers.tolist():
            if edges.is_alive is not None and not edges.is_alive[number]:
                continue
            source, target = int(edges.all_sources[number]), int(edges.all_targets[number])
            ends = [moved if end == row else end for end in (source, target)]
            edges.copy(number, edges.add(*ends))
            edges.remove(number)
