"""Errors of uploads."""

from __future__ import annotations

from twinframe.errors.base import Conflict, NotFound


class UploadNotFound(NotFound):
    """No upload has this id."""

    code = "UploadNotFound"

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"There is no upload with the ID {upload_id}. It may have been imported, or deleted "
            "because nobody went on with it (Jobs__KeepUploadSeconds)."
        )
        self.upload_id = upload_id


class UploadAlreadyExists(Conflict):
    """An upload with this id is there already, and is of another file."""

    code = "UploadAlreadyExists"

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"An upload with the ID {upload_id} exists already, of another file. Delete it first, "
            "or choose another ID."
        )
        self.upload_id = upload_id


class UploadPieceRefused(Conflict):
    """A piece of an upload is not the next one, or has another length than it must have."""

    code = "UploadPieceRefused"


class UploadIncomplete(Conflict):
    """An import names an upload of which only `received` of `size` bytes are there."""

    code = "UploadIncomplete"

    def __init__(self, upload_id: str, received: int, size: int) -> None:
        super().__init__(
            f"The upload {upload_id} is not complete: {received} of {size} bytes are there."
        )
        self.upload_id = upload_id
        self.received = received
        self.size = size
