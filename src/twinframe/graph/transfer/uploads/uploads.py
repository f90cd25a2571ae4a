"""The use cases of uploads: begin, send pieces, list, delete; and their upkeep.

A file comes in pieces, each a request of its own: no request is larger than others may be, an
interrupted upload goes on with the next piece, and no more than a piece is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    UploadAlreadyExists,
    UploadPieceRefused,
)
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.transfer.uploads.records import (
    MOST_UPLOADS,
    PIECE_BYTES,
    Upload,
    delete_upload,
    find_upload,
    list_uploads,
    parse_upload_id,
    put_piece,
    put_upload,
    read_piece,
    require_upload,
)
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

_NANO: Final = 1_000_000_000
_LONGEST_NAME: Final = 255
_LARGEST: Final = (1 << 53) - 1
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class UploadList:
    """All uploads, and how many bytes they may have together."""

    uploads: tuple[Upload, ...]
    most: int


class Uploads:
    """Uploads of a graph."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    @property
    def piece_bytes(self) -> int:
        """The bytes of each piece but the last."""
        return min(PIECE_BYTES, self._context.settings.server.max_body_bytes)

    async def begin(self, upload_id: str, document: JsonValue) -> Upload:
        """Begin an upload, or return the one of this id as it stands if it is of the same file.

        Errors: `InvalidArgument`, `LimitExceeded`, `UploadAlreadyExists`.
        """
        parse_upload_id(upload_id)
        name, size = _parse_body(document)
        most = self._context.settings.jobs.max_upload_bytes
        new = Upload(
            id=upload_id, name=name, size=size, piece=self.piece_bytes, acted=self._context.clock()
        )

        def apply(transaction: GraphTransaction) -> Upload:
            found = find_upload(transaction, upload_id)
            if found is not None:
                if (found.name, found.size) != (name, size):
                    raise UploadAlreadyExists(upload_id)
                return found
            others = list_uploads(transaction)
            if any(other.id == upload_id for other in others):
                raise UploadAlreadyExists(upload_id)  # it is still being deleted
            _check_room(others, size, most)
            put_upload(transaction, new)
            return new

        return await self._context.write(apply)

    async def put_piece(self, upload_id: str, number: int, piece: bytes) -> Upload:
        """Store a piece, counted from 0; one that was stored before is left as it is.

        Errors: `InvalidArgument`, `UploadNotFound`, `UploadPieceRefused`.
        """
        parse_upload_id(upload_id)

        def apply(transaction: GraphTransaction) -> Upload:
            upload = require_upload(transaction, upload_id)
            if number < upload.pieces and read_piece(transaction, upload_id, number) == piece:
                return upload  # the answer to it was lost
            if number != upload.pieces or upload.is_complete:
                raise UploadPieceRefused(
                    f"The upload {upload_id} has {upload.pieces} pieces: "
                    + ("it is complete." if upload.is_complete else f"{upload.pieces} is next.")
                )
            wanted = min(upload.piece, upload.size - upload.received)
            if len(piece) != wanted:
                raise UploadPieceRefused(
                    f"The piece {number} of the upload {upload_id} must have {wanted} bytes; it "
                    f"has {len(piece)}."
                )
            put_piece(transaction, upload, piece)
            upload = replace(
                upload,
                received=upload.received + len(piece),
                pieces=upload.pieces + 1,
                acted=self._context.clock(),
            )
            put_upload(transaction, upload)
            return upload

        return await self._context.write(apply)

    async def read(self, upload_id: str) -> Upload:
        """The upload; `InvalidArgument`, `UploadNotFound`."""
        parse_upload_id(upload_id)
        return await self._context.runner.read(lambda session: require_upload(session, upload_id))

    async def list_all(self) -> UploadList:
        """All uploads that are needed, by id."""
        found = await self._context.runner.read(list_uploads)
        kept = tuple(upload for upload in found if not upload.is_done)
        return UploadList(kept, self._context.settings.jobs.max_upload_bytes)

    async def delete(self, upload_id: str) -> None:
        """Delete it; errors: `InvalidArgument`, `UploadNotFound`.

        A job that reads it fails. Its pieces are deleted in the background.
        """
        parse_upload_id(upload_id)

        def apply(transaction: GraphTransaction) -> None:
            put_upload(transaction, replace(require_upload(transaction, upload_id), is_done=True))

        await self._context.write(apply)


def _check_room(others: Iterable[Upload], size: int, most: int) -> None:
    """Raise `LimitExceeded` if there is no room for another upload of this size."""
    others = list(others)
    if not most:
        raise LimitExceeded("The operator allows no uploads (Jobs__MaxUploadBytes=0).")
    if len(others) >= MOST_UPLOADS:
        raise LimitExceeded(f"There are {MOST_UPLOADS} uploads, as many as may be. Delete one.")
    taken = sum(other.size for other in others)
    if taken + size > most:
        beside = f", beside uploads of {taken}" if taken else ""
        raise LimitExceeded(
            f"The file has {size} bytes{beside}: all uploads together may have {most} "
            "(Jobs__MaxUploadBytes). Compress it with gzip, or let the operator run "
            "`twinframe import`."
        )


def _parse_body(document: JsonValue) -> tuple[str, int]:
    body: Mapping[str, Any] = document if isinstance(document, dict) else {}
    name, size = body.get("name"), body.get("bytes")
    if (
        not isinstance(name, str)
        or not isinstance(size, int)
        or isinstance(size, bool)
        or not 0 < size <= _LARGEST
        or set(body) - {"name", "bytes"}
    ):
        raise InvalidArgument(
            'An upload begins with an object such as {"name": "campus.ndjson", "bytes": 2048}: '
            "the name of the file, and how long it is."
        )
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidArgument(
            f"The name of the file has 1 to {_LONGEST_NAME} characters, none of them a control."
        )
    return name, size


class UploadKind:
    """Deletes uploads that nobody needs any more, as background work."""

    name = "uploads"

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List the uploads to delete."""
        now = self._context.clock()
        kept = int(self._context.settings.jobs.keep_upload_seconds * _NANO)
        return [each.id for each in list_uploads(session) if each.is_expired(now, kept)]

    async def run(self, key: str, lease: Lease) -> None:
        """Delete the upload, some of its pieces at a time."""
        while await self._context.runner.write(
            ServiceWrite(lease.guard(partial(_delete_some, key)))
        ):
            continue


def _delete_some(upload_id: str, transaction: GraphTransaction) -> bool:
    return delete_upload(transaction, upload_id, _AT_ONCE)
