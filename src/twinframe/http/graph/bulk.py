"""Responders for bulk writes and transactions.

A bulk request that could be parsed is answered with 200 and a result for each item. A refused
transaction is answered as the single call of the operation at fault would be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

import orjson
from falcon.asgi import Request, Response

from twinframe.errors import StorageError, TwinframeError
from twinframe.graph.twins.bulk import ItemResult
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import BodyLimit
from twinframe.http.errors import build_answer, build_single
from twinframe.http.messages import read_conditions, read_exchange, read_json
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings

logger = logging.getLogger(__name__)

PERMISSIONS: Final[Mapping[str, str]] = {
    "putTwin": "digitaltwins/write",
    "patchTwin": "digitaltwins/write",
    "deleteTwin": "digitaltwins/delete",
    "patchComponent": "digitaltwins/write",
    "putRelationship": "digitaltwins/relationships/write",
    "patchRelationship": "digitaltwins/relationships/write",
    "deleteRelationship": "digitaltwins/relationships/delete",
}
"""The permission that each operation of a transaction needs: that of its single call."""

_STATUS: Final[Mapping[str, int]] = {"putTwin": 200, "putRelationship": 200}
_TWIN: Final = ("digitalTwinId",)
_RELATIONSHIP: Final = ("sourceId", "relationshipId")


async def put_twins(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: create or replace twins; 200 with a result for each."""
    bulk = api.graph.bulk
    documents = await _read_body(api, request, bulk.limits)
    if_match, if_none_match = read_conditions(request)
    results = await bulk.put_twins(documents, if_none_match, if_match)
    response.data = _render_results(results, _TWIN)


async def put_relationships(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: create or replace relationships; 200 with a result for each."""
    bulk = api.graph.bulk
    documents = await _read_body(api, request, bulk.limits)
    if_match, if_none_match = read_conditions(request)
    results = await bulk.put_relationships(documents, if_none_match, if_match)
    response.data = _render_results(results, _RELATIONSHIP)


async def run_transaction(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: apply the operations; 200 with the new etag of each."""
    transactions = api.graph.transactions
    operations = await transactions.parse(await _read_body(api, request, transactions.limits))
    needed = dict.fromkeys(PERMISSIONS[operation.name] for operation in operations)
    await authorize_parts(read_exchange(request), needed)
    etags = await transactions.run(operations)
    results = [
        {"status": _STATUS.get(operation.name, 204), "etag": etag}
        for operation, etag in zip(operations, etags, strict=True)
    ]
    response.data = orjson.dumps({"results": results})


async def _read_body(api: GraphApiContext, request: Request, limits: BulkSettings) -> JsonValue:
    return await read_json(api, request, BodyLimit(limits.max_body_bytes, "Bulk__MaxBodyBytes"))


def _render_results(results: Sequence[ItemResult], names: tuple[str, ...]) -> bytes:
    failed = [result.error for result in results if result.error is not None]
    stopped = next((error for error in failed if isinstance(error, StorageError)), None)
    if stopped is not None:
        logger.warning("A bulk write ended early: %s: %s", stopped.code, stopped.message)
    return orjson.dumps(
        {
            "results": [
                dict(zip(names, result.key, strict=True)) | _build_outcome(result)
                for result in results
            ],
            "successCount": len(results) - len(failed),
            "failureCount": len(failed),
            "hasFailures": bool(failed),
        }
    )


def _build_outcome(result: ItemResult) -> dict[str, object]:
    status, error = 200, None
    if result.error is not None:
        status, error = _build_error(result.error)
    return {
        "isSuccess": error is None,
        "status": status,
        "etag": result.etag,
        "errorMessage": None if error is None else error["message"],
        "error": error,
    }


def _build_error(error: TwinframeError) -> tuple[int, dict[str, object]]:
    answer = build_answer(build_single(error))
    body: dict[str, dict[str, object]] = orjson.loads(answer.body)
    return answer.status, body["error"]
