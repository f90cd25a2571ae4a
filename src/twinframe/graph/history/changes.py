"""The use cases of changes: those of one twin or relationship, and those of the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from twinframe.errors import RelationshipNotFound, TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.paging import Listing
from twinframe.graph.history.comparison import compare_documents, select_changes
from twinframe.graph.history.graph_changes import EntityType, iterate_graph_changes
from twinframe.graph.history.history import History, Range
from twinframe.graph.history.versions import Version, iterate_versions
from twinframe.model.clock import render_update_time
from twinframe.model.ids import parse_relationship_id, parse_twin_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.paths import parse_path
from twinframe.storage.base import ChangeKind, EntityKey, GraphSession

_MOST_SEARCHED: Final = 10_000
"""Rows after which a page ends, whatever was found: a part of a second."""

_ACTIONS: Final = {
    ChangeKind.TWIN_CREATED: "created",
    ChangeKind.TWIN_UPDATED: "updated",
    ChangeKind.TWIN_DELETED: "deleted",
    ChangeKind.RELATIONSHIP_CREATED: "created",
    ChangeKind.RELATIONSHIP_UPDATED: "updated",
    ChangeKind.RELATIONSHIP_DELETED: "deleted",
}

_Found = Iterable[tuple[int, bytes | None]]
"""Positions that were looked at, with the item there, if there is one."""


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """What is asked of the history of an entity.

    `start` and `end` are texts of moments or positions, as `History.build_range` takes them. `path`
    is that of a property, as of a series: only its changes are returned.
    """

    start: str | None = None
    end: str | None = None
    path: str | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes as JSON texts, and the positions between which they are."""

    page: Page[bytes]
    within: Range


class Changes:
    """Lists what changed."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)

    async def list_of_twin(
        self, twin_id: str, question: HistoryQuestion, page: PageRequest = FIRST_PAGE
    ) -> ChangePage:
        """Return a page of the changes of a twin, also of one that was deleted.

        Errors: `InvalidArgument`, `TwinNotFound`, `HistoryNotKept`, `Unsupported`,
        `InvalidContinuationToken`.
        """
        parse_twin_id(twin_id)
        return await self._list((twin_id, ""), question, page)

    async def list_of_relationship(
        self,
        source_id: str,
        relationship_id: str,
        question: HistoryQuestion,
        page: PageRequest = FIRST_PAGE,
    ) -> ChangePage:
        """Return a page of the changes of a relationship.

        Errors: as `list_of_twin`, and `RelationshipNotFound`.
        """
        parse_twin_id(source_id)
        parse_relationship_id(relationship_id)
        return await self._list((source_id, relationship_id), question, page)

    async def list_of_graph(
        self,
        start: str,
        end: str | None = None,
        types: Collection[EntityType] = tuple(EntityType),
        page: PageRequest = FIRST_PAGE,
    ) -> ChangePage:
        """Return a page of the differences between two states of the graph.

        What was changed and changed back is none. Errors: `InvalidArgument`, `HistoryNotKept`,
        `Unsupported`, `InvalidContinuationToken`.
        """
        within = await self._history.find_range(start, end)
        names = sorted(one.value for one in types)
        bounds = within.after, None if end is None else within.end
        listing = await self._context.open_listing("changes", *bounds, *names)
        token, size = listing.start(page)
        after = within.after
        if token is not None:  # all pages compare with the later state of the first one
            until, after = map(int, str(token).split("-"))
            within = within._replace(end=until)

        def read(session: GraphSession) -> Page[bytes]:
            self._history.check(session, within.after)
            found = iterate_graph_changes(session, within, types, after)
            return _build_page(listing, found, size, lambda at: f"{within.end}-{at}")

        return ChangePage(await self._scan(read), within)

    async def _list(
        self, key: EntityKey, question: HistoryQuestion, page: PageRequest
    ) -> ChangePage:
        path = None if question.path is None else parse_path(question.path)
        within = await self._history.find_range(question.start, question.end)
        bounds = [
            None if question.start is None else within.after,
            None if question.end is None else within.end,
        ]
        listing = await self._context.open_listing(
            "history", *key, *bounds, path, question.newest_first
        )
        token, size = listing.start(page)

        def read(session: GraphSession) -> Page[bytes]:
            if question.start is not None:
                self._history.check(session, within.after)
            rest = within
            if token is not None:
                at = int(token)
                newest = question.newest_first
                rest = within._replace(end=at - 1) if newest else within._replace(after=at)
            else:
                _require_entity(session, key)
            versions = iterate_versions(session, key, rest, newest_first=question.newest_first)
            return _build_page(listing, _render_versions(versions, path), size)

        return ChangePage(await self._scan(read), within)

    async def _scan(self, read: Callable[[GraphSession], Page[bytes]]) -> Page[bytes]:
        return await self._context.runner.scan(read, self._context.settings.query.timeout)


def _build_page(
    listing: Listing, found: _Found, size: int, render_key: Callable[[int], str] = str
) -> Page[bytes]:
    """Build a page of what is found, until it is full or much was looked at.

    `render_key` renders a position for the token.
    """
    items: list[tuple[str, bytes]] = []
    room = listing.sizes.bytes
    for searched, (position, item) in enumerate(found, 1):
        if item is not None:
            items.append((render_key(position), item))
            room -= len(item)
        if len(items) > size or room < 0 or searched >= _MOST_SEARCHED:
            return listing.page(items, size, len, render_key(position))
    return listing.page(items, size, len)


def _require_entity(session: GraphSession, key: EntityKey) -> None:
    """Raise an error for an entity that does not exist, and of which no change is kept."""
    kept = session.read_entity_changes(key, after=0, before=None, limit=1, newest_first=True)
    if kept:
        return
    twin_id, relationship_id = key
    if relationship_id and session.read_relationship(twin_id, relationship_id) is None:
        if session.has_twin(twin_id):
            raise RelationshipNotFound(twin_id, relationship_id)
        raise TwinNotFound(twin_id)
    if not relationship_id and not session.has_twin(twin_id):
        raise TwinNotFound(twin_id)


def _render_versions(
    versions: Iterable[Version], path: str | None
) -> Iterator[tuple[int, bytes | None]]:
    for version in versions:
        yield version.position, _render_version(version, path)


def _render_version(version: Version, path: str | None) -> bytes | None:
    """Render a change; None if it does not concern the path."""
    item = build_item(version, path)
    return orjson.dumps(item) if item["changes"] or path is None else None


def build_item(version: Version, path: str | None = None) -> dict[str, Any]:
    """Build the form in which a change is sent, with the changes of a path, or all."""
    changes = compare_documents(_load(version.before), _load(version.after))
    if path is not None:
        changes = select_changes(changes, path)
    document: dict[str, Any] = {
        "position": version.position,
        "time": render_update_time(version.moment),
        "action": _ACTIONS[version.kind],
    }
    if version.row.who:
        document["who"] = version.row.who
    return {**document, "changes": [change.render() for change in changes]}


def _load(body: bytes | None) -> dict[str, Any] | None:
    return None if body is None else orjson.loads(body)
