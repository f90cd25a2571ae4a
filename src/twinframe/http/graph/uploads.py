"""Whole graphs to and from clients, which the vendor does not have: uploads for import jobs at
`/jobs/uploads`, and the export as lines at `/export/graph`.
"""

from __future__ import annotations

import re
from typing import Final

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.errors import InvalidArgument
from twinframe.graph.transfer.uploads.records import Upload as KeptUpload
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph.history import NDJSON
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import (
    check_media_type,
    read_exchange,
    read_flag,
    read_json,
    write_no_content,
)
from twinframe.http.operations import Answer, Body, Parameter, Route
from twinframe.http.streaming import leave_out_stream, stream_answer

BYTES: Final = "application/octet-stream"
_BYTE_TYPES: Final = frozenset((BYTES,))
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_WITH_HISTORY: Final = ("digitaltwins/read", "digitaltwins/relationships/read", "models/read")
"""SEC: the permissions for what a history has, as of `GET /changes`."""


class NewUpload(Shape):
    """A file that is to be handed over."""

    name: str = Field(examples=["campus.ndjson.gz"])
    bytes: int = Field(description="How long it is.", examples=[2048])


class Upload(NewUpload):
    """An upload, and how far it is."""

    id: str
    received_bytes: int = Field(alias="receivedBytes")
    received_pieces: int = Field(alias="receivedPieces", description="The number of the next one.")
    piece_bytes: int = Field(alias="pieceBytes", description="Of each piece but the last.")
    last_action_date_time: str = Field(alias="lastActionDateTime")
    input_blob_uri: str = Field(
        alias="inputBlobUri", description="What an import job names.", examples=["upload:campus"]
    )
    job_id: str | None = Field(alias="jobId", description="The import job that reads it.")


class UploadList(Shape):
    """All uploads, and what they may have."""

    value: list[Upload]
    most_bytes: int = Field(alias="mostBytes", description="Of all together; 0 is none.")
    piece_bytes: int = Field(alias="pieceBytes", description="Of each piece but the last.")


async def put_upload(
    api: GraphApiContext, request: Request, response: Response, upload_id: str
) -> None:
    """PUT: 200 with the upload, new or as it stands."""
    document = await read_json(api, request, api.bodies.limits.query)
    _write(response, await api.graph.uploads.begin(upload_id, document))


async def put_piece(
    api: GraphApiContext, request: Request, response: Response, upload_id: str, number: str
) -> None:
    """PUT: 200 with the upload, which has the piece."""
    if _NUMBER.fullmatch(number) is None:
        raise InvalidArgument(f"The number of a piece counts from 0; it is {number[:20]!a}.")
    check_media_type(request.content_type, _BYTE_TYPES)
    uploads = api.graph.uploads
    exchange = read_exchange(request)
    exchange.limit_body(uploads.piece_bytes, f"pieceBytes, {uploads.piece_bytes} bytes a piece")
    piece = bytes(await exchange.read_body())
    _write(response, await uploads.put_piece(upload_id, int(number), piece))


async def read_upload(
    api: GraphApiContext, _request: Request, response: Response, upload_id: str
) -> None:
    """GET: the upload."""
    _write(response, await api.graph.uploads.read(upload_id))


async def list_uploads(api: GraphApiContext, _request: Request, response: Response) -> None:
    """GET: all uploads."""
    found = await api.graph.uploads.list_all()
    response.data = orjson.dumps(
        {
            "value": [upload.render() for upload in found.uploads],
            "mostBytes": found.most,
            "pieceBytes": api.graph.uploads.piece_bytes,
        }
    )


async def delete_upload(
    api: GraphApiContext, _request: Request, response: Response, upload_id: str
) -> None:
    """DELETE: 204; what was received is deleted."""
    await api.graph.uploads.delete(upload_id)
    write_no_content(response)


async def export_graph(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: the graph of one moment as lines, in the form of imports."""
    history, plain = read_flag(request, "history"), read_flag(request, "plain")
    exchange = read_exchange(request)
    if history:
        await authorize_parts(exchange, _WITH_HISTORY)
    if history and plain:
        raise InvalidArgument("plain leaves out what other services do not know: also history.")
    response.content_type = NDJSON
    response.set_header("content-disposition", 'attachment; filename="graph.ndjson"')
    if request.method == "HEAD":
        leave_out_stream(response)
        return
    await exchange.read_body()
    stream = await api.graph.portable.stream_graph(exact=not plain, history=history)
    response.stream = stream_answer(exchange, stream)


def _write(response: Response, upload: KeptUpload) -> None:
    response.data = orjson.dumps(upload.render())


_TAG: Final = "Jobs"
_UPLOADS: Final = "/jobs/uploads"
_UPLOAD: Final = f"{_UPLOADS}/{{upload_id}}"
_PERMISSION: Final = "jobs/imports/write"
_ANSWER: Final = Answer(200, "The upload.", Upload)
_MISSING: Final = {400: "InvalidArgument", 404: "UploadNotFound"}

UPLOAD_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        f"GET {_UPLOADS}",
        "Uploads_List",
        "List uploads, and what they may have",
        _PERMISSION,
        list_uploads,
        Answer(200, "All of them.", UploadList),
        _TAG,
        is_strict=True,
    ),
    Route(
        f"GET {_UPLOAD}",
        "Uploads_Read",
        "Read how far an upload is",
        _PERMISSION,
        read_upload,
        _ANSWER,
        _TAG,
        errors=_MISSING,
        is_strict=True,
    ),
    Route(
        f"PUT {_UPLOAD}",
        "Uploads_Begin",
        "Begin to upload a file for an import, or go on",
        _PERMISSION,
        put_upload,
        _ANSWER,
        _TAG,
        body=Body(NewUpload),
        errors={400: "InvalidArgument, LimitExceeded", 409: "UploadAlreadyExists"},
        is_strict=True,
    ),
    Route(
        f"PUT {_UPLOAD}/pieces/{{number}}",
        "Uploads_PutPiece",
        "Send the next piece of an upload",
        _PERMISSION,
        put_piece,
        _ANSWER,
        _TAG,
        body=Body(bytes, (BYTES,)),
        errors={**_MISSING, 409: "UploadPieceRefused"},
        is_strict=True,
    ),
    Route(
        f"DELETE {_UPLOAD}",
        "Uploads_Delete",
        "Delete an upload",
        _PERMISSION,
        delete_upload,
        Answer(204, "Done."),
        _TAG,
        errors=_MISSING,
        is_strict=True,
    ),
    Route(
        "GET /export/graph",
        "Graph_ExportLines",
        "The graph as lines, as imports take them",
        "query/read",
        export_graph,
        Answer(200, "The lines of one state.", str, media_type=NDJSON),
        _TAG,
        (
            Parameter("history", "query", "Also the history and the values over time.", bool),
            Parameter("plain", "query", "Without etags and times, for other services.", bool),
        ),
        errors={400: "InvalidArgument", 403: "Forbidden"},
        is_strict=True,
    ),
)
