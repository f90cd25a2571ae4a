"""The use cases of workspaces: put, read, list and delete.

A workspace is a named JSON document that a page keeps in the graph: a picture with its style,
filters and queries. The service knows no more of it than its name, and the ``kind`` that its
content gives itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from twinframe.errors import InvalidArgument, LimitExceeded, WorkspaceNotFound
from twinframe.errors.nearest import render_hint
from twinframe.graph.context.context import GraphContext
from twinframe.model.clock import stamp_after
from twinframe.model.etags import UNCONDITIONED, Condition, build_etag
from twinframe.model.ids import parse_entry_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, StoredDocument

# NOTE: in two entries, so that a listing reads no content.
_HEAD: Final = "workspace"
_CONTENT: Final = "workspace-content"
_LONGEST_NAME: Final = 200
_LONGEST_KIND: Final = 64
_MEMBERS: Final = ("name", "content")


@dataclass(frozen=True, slots=True)
class WorkspaceHead:
    """A workspace without its content.

    Times are in the wire's form. Who created and last changed it is empty where callers are unknown
    or not kept (`History__Who`); the kind is where the content gives none.
    """

    id: str
    name: str
    etag: str
    created: str
    created_by: str
    updated: str
    updated_by: str
    kind: str = ""

    def render(self) -> bytes:
        """Render it as JSON text."""
        return orjson.dumps(
            {
                "id": self.id,
                "name": self.name,
                "kind": self.kind or None,
                "etag": self.etag,
                "createdTime": self.created,
                "createdBy": self.created_by or None,
                "lastUpdateTime": self.updated,
                "lastUpdateBy": self.updated_by or None,
            }
        )


class Workspaces:
    """Reading and changing the workspaces of a graph."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def put(
        self, workspace_id: str, document: JsonValue, condition: Condition = UNCONDITIONED
    ) -> StoredDocument:
        """Create or replace a workspace; returns it.

        Errors: `InvalidArgument`, `LimitExceeded`, `PreconditionFailed`.
        """
        parse_entry_id("workspace", workspace_id)
        name, kind, content = self._parse(document)
        who, clock = self._context.read_who(), self._context.clock
        most = self._context.settings.graph.max_workspaces

        def apply(transaction: GraphTransaction) -> WorkspaceHead:
            old = _read_head(transaction, workspace_id)
            condition.check(old.etag if old else None, f"a workspace with the id {workspace_id}")
            if old is None and len(transaction.read_entries(_HEAD, after=None, limit=most)) >= most:
                raise LimitExceeded(
                    f"There are {most} workspaces, which is as many as may be "
                    "(Graph__MaxWorkspaces). Delete one first."
                )
            now = stamp_after(clock(), old.updated if old else None)
            created, creator = (old.created, old.created_by) if old else (now, who)
            head = WorkspaceHead(workspace_id, name, build_etag(), created, creator, now, who, kind)
            fields = asdict(head)
            del fields["id"]
            transaction.put_entry(_HEAD, workspace_id, orjson.dumps(fields))
            transaction.put_entry(_CONTENT, workspace_id, content)
            return head

        return _join(await self._context.runner.write(apply), content)

    async def read(self, workspace_id: str) -> StoredDocument:
        """Return the workspace. Raises `WorkspaceNotFound`."""

        def read(session: GraphSession) -> StoredDocument:
            with session.snapshot():
                head = _require(session, workspace_id)
                content = session.read_entry(_CONTENT, workspace_id)
            return _join(head, content or b"{}")

        return await self._context.runner.read(read)

    async def list_all(self, page: PageRequest = FIRST_PAGE) -> Page[WorkspaceHead]:
        """List workspaces by id, without contents. Raises `InvalidContinuationToken`."""
        listing = await self._context.open_listing("workspaces")
        after, size = listing.start(page)
        key = None if after is None else str(after)

        def read(session: GraphSession) -> Sequence[tuple[str, WorkspaceHead]]:
            def fetch(after: str | None, limit: int) -> Sequence[tuple[str, WorkspaceHead]]:
                found = session.read_entries(_HEAD, after=after, limit=limit)
                return [(each.key, _parse_head(each.key, each.item)) for each in found]

            return listing.gather(fetch, key, size, _measure)

        found = await self._context.runner.read(read)
        return listing.page(found, size, _measure)

    async def delete(self, workspace_id: str, condition: Condition = UNCONDITIONED) -> None:
        """Delete a workspace. Raises `WorkspaceNotFound`, `PreconditionFailed`."""

        def apply(transaction: GraphTransaction) -> None:
            head = _require(transaction, workspace_id)
            condition.check(head.etag, f"a workspace with the id {workspace_id}")
            transaction.delete_entry(_HEAD, workspace_id)
            transaction.delete_entry(_CONTENT, workspace_id)

        await self._context.runner.write(apply)

    def _parse(self, document: JsonValue) -> tuple[str, str, bytes]:
        """Return name, kind and content."""
        if not isinstance(document, dict):
            raise InvalidArgument("A workspace must be an object with name and content.")
        for member in document:
            if member not in _MEMBERS:
                hint = render_hint(member, _MEMBERS)
                raise InvalidArgument(f"A workspace has no member {member[:100]!a}.{hint}")
        name, content = document.get("name"), document.get("content")
        if not isinstance(name, str) or not 0 < len(name.strip()) <= _LONGEST_NAME:
            raise InvalidArgument(
                f"The name of a workspace must be a text of 1 to {_LONGEST_NAME} characters."
            )
        if not isinstance(content, dict):
            raise InvalidArgument("The content of a workspace must be an object.")
        body, most = orjson.dumps(content), self._context.settings.graph.max_workspace_bytes
        if len(body) > most:
            raise LimitExceeded(
                f"The content has {len(body):,} bytes; at most {most:,} may be kept "
                "(Graph__MaxWorkspaceBytes)."
            )
        return name.strip(), _find_kind(content), body


def _find_kind(content: Mapping[str, JsonValue]) -> str:
    """Return what the content says it is, so that pages find their own in a listing."""
    kind = content.get("kind")
    return kind if isinstance(kind, str) and len(kind) <= _LONGEST_KIND else ""


def _require(session: GraphSession, workspace_id: str) -> WorkspaceHead:
    head = _read_head(session, workspace_id)
    if head is None:
        raise WorkspaceNotFound(workspace_id)
    return head


def _read_head(session: GraphSession, workspace_id: str) -> WorkspaceHead | None:
    body = session.read_entry(_HEAD, workspace_id)
    return None if body is None else _parse_head(workspace_id, body)


def _parse_head(workspace_id: str, body: bytes) -> WorkspaceHead:
    return WorkspaceHead(workspace_id, **orjson.loads(body))


def _join(head: WorkspaceHead, content: bytes) -> StoredDocument:
    return StoredDocument(head.etag, head.render()[:-1] + b',"content":' + content + b"}")


def _measure(head: WorkspaceHead) -> int:
    return len(head.render())
