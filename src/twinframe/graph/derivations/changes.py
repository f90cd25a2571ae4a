"""Reads changes from the outbox, and finds the twins whose derived values they concern."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from twinframe.graph.derivations.footprint import Keys, walk_back
from twinframe.graph.derivations.order import Understood
from twinframe.graph.documents.derivations import Derivation
from twinframe.graph.events.rows import parse_row
from twinframe.query.algebra import Direction
from twinframe.storage.base import ChangeKind, GraphSession, OutboxEvent

_MODEL_PATH: Final = "/$metadata/$model"

OwnWrite = Callable[[int], Derivation | None]
"""Returns the derivation whose own write the row at a position is."""


class TwinChange(NamedTuple):
    """Which members of a twin changed; all of them where its model did, or where it is unknown.

    `model` is the twin's, None if it is unknown. `by` is the derivation that wrote it, empty for a
    caller.
    """

    twin_id: str
    keys: Keys
    model: str | None
    by: str


class RelationshipChange(NamedTuple):
    """A relationship that came, went, or (`is_update`) got other properties."""

    type: str
    source: str
    target: str
    is_update: bool


@dataclass(slots=True)
class Changes:
    """The changes after a position up to `position`, read from `count` rows.

    `created` are new twins with their models. `models` are those that were uploaded: twins of such
    a model that had been deleted may have other labels now. `is_complete` is False if some changes
    are no longer kept, or not known: all values must be computed.
    """

    position: int
    count: int = 0
    is_complete: bool = True
    created: dict[str, str] = field(default_factory=dict)
    updated: list[TwinChange] = field(default_factory=list)
    relationships: list[RelationshipChange] = field(default_factory=list)
    models: set[str] = field(default_factory=set)


def read_changes(session: GraphSession, after: int, limit: int, find_own: OwnWrite) -> Changes:
    """Read at most `limit` rows after a position, in a snapshot that the caller holds."""
    first, last = session.read_event_bounds()
    if not first - 1 <= after <= last:
        return Changes(last, is_complete=False)
    found = Changes(after)
    standing: dict[tuple[str, str], bool] = {}
    created: list[str] = []
    for position, event in session.read_events(after=after, limit=limit):
        found.position = position
        found.count += 1
        if event.kind == ChangeKind.TWIN_CREATED:
            created.append(event.subject)
        elif not _add_row(found, position, event, standing, find_own):
            found.is_complete = False
    _add_standing(session, found, standing)
    if created:
        found.created.update(session.read_twin_models(created))
    return found


def _add_row(
    found: Changes,
    position: int,
    event: OutboxEvent,
    standing: dict[tuple[str, str], bool],
    find_own: OwnWrite,
) -> bool:
    """Add the change of a row; return whether it is known what it was."""
    match event.kind:
        case None:
            return False
        case ChangeKind.TWIN_UPDATED:
            own = find_own(position)
            change = _read_update(event)
            if own is not None:
                change = TwinChange(event.subject, frozenset((own.property_name,)), None, own.id)
            found.updated.append(change)
        case ChangeKind.RELATIONSHIP_CREATED:
            standing[event.subject, event.relationship_id] = False
        case ChangeKind.RELATIONSHIP_UPDATED:
            standing.setdefault((event.subject, event.relationship_id), True)
        case ChangeKind.RELATIONSHIP_DELETED:
            row = parse_row(event.body)
            document = orjson.loads(event.body)["data"] if row is None else orjson.loads(row.data)
            found.relationships.append(_build_change(document, is_update=False))
        case ChangeKind.MODEL_CREATED:
            found.models.add(event.subject)
        case _:  # twins of a deleted model keep its labels
            pass
    return True


def _read_update(event: OutboxEvent) -> TwinChange:
    """Return which members an update changed, by its patch."""
    row = parse_row(event.body)
    if row is None or not row.data:
        return TwinChange(event.subject, None, None, "")
    data = orjson.loads(row.data)
    paths = [operation["path"] for operation in data["patch"]]
    if _MODEL_PATH in paths:
        return TwinChange(event.subject, None, None, "")
    names = (path.split("/", 2)[1].replace("~1", "/").replace("~0", "~") for path in paths)
    return TwinChange(event.subject, frozenset(names), data["modelId"], "")


def _add_standing(
    session: GraphSession, found: Changes, standing: Mapping[tuple[str, str], bool]
) -> None:
    """Add relationships that came or changed.

    Of one that is no longer there, its deletion is among the changes, or will be.
    """
    keys, most = [*standing], session.most_at_once
    for start in range(0, len(keys), most):
        documents = session.read_relationship_documents(keys[start : start + most])
        for key, stored in documents.items():
            document = orjson.loads(stored.body)
            found.relationships.append(_build_change(document, is_update=standing[key]))


def _build_change(document: Mapping[str, Any], *, is_update: bool) -> RelationshipChange:
    return RelationshipChange(
        document["$relationshipName"], document["$sourceId"], document["$targetId"], is_update
    )


def find_concerned(session: GraphSession, changes: Changes, one: Understood) -> set[str]:
    """Return the ids of the twins whose values may have changed, and of some others.

    Read in a snapshot that the caller holds, in which all of the changes have happened.
    """
    footprint, name = one.footprint, frozenset((one.derivation.property_name,))
    concerned = {twin_id for twin_id, model in changes.created.items() if model in one.models}
    for change in changes.updated:
        # What another one writes to the property is overwritten: an import does that.
        is_own = change.by == one.derivation.id
        if _meets(change, footprint.own.keys, one.models) or (
            not is_own and _meets(change, name, one.models)
        ):
            concerned.add(change.twin_id)
    for node, models in zip(footprint.nodes, one.node_models, strict=True):
        ids = {each.twin_id for each in changes.updated if _meets(each, node.keys, models)}
        concerned |= walk_back(session, ids, node.way)
    for read in footprint.relationships:
        ids = set(_list_ends(changes.relationships, read.types, read.near, reads=read.reads))
        concerned |= walk_back(session, ids, read.way)
    return concerned


def _meets(change: TwinChange, read: Keys, models: frozenset[str]) -> bool:
    """Return whether a twin with one of these models changed in what is read of it.

    A twin that got another model has other labels too.
    """
    if change.keys is None:
        return True
    if change.model is not None and change.model not in models:
        return False
    return read is None or not change.keys.isdisjoint(read)


def _list_ends(
    changes: Sequence[RelationshipChange],
    types: Collection[str],
    near: Direction,
    *,
    reads: bool,
) -> Iterator[str]:
    for change in changes:
        if (types and change.type not in types) or (change.is_update and not reads):
            continue
        if near is not Direction.INCOMING:
            yield change.source
        if near is not Direction.OUTGOING:
            yield change.target
