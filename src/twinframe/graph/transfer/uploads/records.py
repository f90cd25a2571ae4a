"""Uploads as values and as entries of the graph: finds, stores, lists and deletes them.

They are in the store, not in a folder: every worker of every node has them, they last as long as
the graph does, and those of a hosted graph are its own.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, unquote

import orjson

from twinframe.errors import InvalidArgument, UploadIncomplete, UploadNotFound
from twinframe.model.clock import render_update_time
from twinframe.storage.base import GraphSession, GraphTransaction

SCHEME: Final = "upload"
PIECE_BYTES: Final = 1 << 20
"""The bytes of each piece but the last. PERF: a piece is held in memory while it is stored."""
MOST_UPLOADS: Final = 100

_UPLOADS: Final = "upload"
_LONGEST_ID: Final = 128
_ID: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_ID - 1}}}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that is handed over: `size` bytes in all, of which `received` are there.

    Times are nanoseconds since 1970; `acted` is that of the last piece. `job` is the import job
    that reads it, empty until there is one. `is_done`: nobody needs it any more.
    """

    id: str
    name: str
    size: int
    piece: int
    acted: int
    received: int = 0
    pieces: int = 0
    job: str = ""
    is_done: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all of it is there."""
        return self.received == self.size

    def is_expired(self, now: int, kept: int) -> bool:
        """Return whether nobody has gone on with it, nor imported it, for `kept` nanoseconds."""
        return self.is_done or (not self.job and now - self.acted >= kept)

    def render(self) -> dict[str, Any]:
        """Render its form on the wire."""
        return {
            "id": self.id,
            "name": self.name,
            "bytes": self.size,
            "receivedBytes": self.received,
            "receivedPieces": self.pieces,
            "pieceBytes": self.piece,
            "lastActionDateTime": render_update_time(self.acted),
            "inputBlobUri": build_url(self.id),
            "jobId": self.job or None,
        }


def parse_upload_id(text: str) -> str:
    """Check the id and return it; `InvalidArgument`."""
    if _ID.fullmatch(text) is None:
        raise InvalidArgument(
            f"The id of an upload has 1 to {_LONGEST_ID} letters, digits, dots, hyphens and "
            f"underscores, and begins with a letter or digit; it is {text[:100]!a}."
        )
    return text


def build_url(upload_id: str) -> str:
    """Return what an import job names as its input."""
    return f"{SCHEME}:{quote(upload_id)}"


def find_upload_id(url: str) -> str | None:
    """Return the id of the upload that a URL names, or None for another URL; `InvalidArgument`."""
    scheme, _, rest = url.partition(":")
    return parse_upload_id(unquote(rest)) if scheme.lower() == SCHEME else None


def find_upload(session: GraphSession, upload_id: str) -> Upload | None:
    """The upload, or None if there is none that anybody needs."""
    body = session.read_entry(_UPLOADS, upload_id)
    upload = None if body is None else _load(body)
    return None if upload is None or upload.is_done else upload


def require_upload(session: GraphSession, upload_id: str) -> Upload:
    """The upload, or `UploadNotFound`."""
    upload = find_upload(session, upload_id)
    if upload is None:
        raise UploadNotFound(upload_id)
    return upload


def list_uploads(session: GraphSession) -> list[Upload]:
    """All uploads by id, also those that nobody needs any more."""
    some = session.read_entries(_UPLOADS, after=None, limit=MOST_UPLOADS)
    return [_load(listed.item) for listed in some]


def put_upload(transaction: GraphTransaction, upload: Upload) -> None:
    """Store it, without its pieces."""
    body = orjson.dumps({name: getattr(upload, name) for name in _MEMBERS})
    transaction.put_entry(_UPLOADS, upload.id, body)


def put_piece(transaction: GraphTransaction, upload: Upload, piece: bytes) -> None:
    """Store its next piece. NOTE: as base64, since some stores keep entries as text."""
    transaction.put_entry(_name_pieces(upload.id), f"{upload.pieces:08}", b64encode(piece))


def read_piece(session: GraphSession, upload_id: str, number: int) -> bytes | None:
    """The piece, counted from 0, or None."""
    found = session.read_entry(_name_pieces(upload_id), f"{number:08}")
    return None if found is None else b64decode(found)


def assign_upload(transaction: GraphTransaction, url: str, job_id: str) -> None:
    """Note which job reads the upload of `url`, if it is that of one.

    Errors: `InvalidArgument`, `UploadNotFound`, `UploadIncomplete`.
    """
    upload_id = find_upload_id(url)
    if upload_id is None:
        return
    upload = require_upload(transaction, upload_id)
    if not upload.is_complete:
        raise UploadIncomplete(upload_id, upload.received, upload.size)
    put_upload(transaction, replace(upload, job=job_id))


def release_upload(transaction: GraphTransaction, url: str, job_id: str) -> None:
    """Let the upload of `url` be deleted, unless another job than this one is to read it."""
    upload_id = find_upload_id(url)
    upload = None if upload_id is None else find_upload(transaction, upload_id)
    if upload is not None and upload.job == job_id:
        put_upload(transaction, replace(upload, is_done=True))


def delete_upload(transaction: GraphTransaction, upload_id: str, most_pieces: int) -> bool:
    """Delete some of its pieces, at last itself; return whether there may be more.

    PERF: a gigabyte in one transaction would keep other writes waiting.
    """
    kind = _name_pieces(upload_id)
    page = transaction.read_entries(kind, after=None, limit=most_pieces)
    for listed in page:
        transaction.delete_entry(kind, listed.key)
    if len(page) == most_pieces:
        return True
    transaction.delete_entry(_UPLOADS, upload_id)
    return False


_MEMBERS: Final = (
    "id", "name", "size", "piece", "acted", "received", "pieces", "job", "is_done",
)  # fmt: skip


def _load(body: bytes) -> Upload:
    return Upload(**orjson.loads(body))


def _name_pieces(upload_id: str) -> str:
    return f"upload-piece/{upload_id}"
