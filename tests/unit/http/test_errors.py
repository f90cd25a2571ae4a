"""The error tree as HTTP answers."""

from __future__ import annotations

import orjson
import pytest

from tests.house.pages.http import render_errors_page
from twinframe import errors
from twinframe.errors import ErrorDetail
from twinframe.http.errors import (
    build_answer,
    build_http_answer,
    find_status,
    render_envelope,
)
from twinframe.http.server.framing import BODY_LARGE, BUSY, HEAD_LARGE, TIMED_OUT, URL_LONG

ANSWERS = [
    (errors.InvalidArgument("m"), 400, "InvalidArgument"),
    (errors.LimitExceeded("m"), 400, "LimitExceeded"),
    (errors.JsonPatchInvalid("m"), 400, "JsonPatchInvalid"),
    (errors.ModelParsingFailed("m"), 400, "DTDLParserError"),
    (errors.QueryInvalid("m"), 400, "SqlQueryError"),
    (errors.QueryTimeout("m"), 400, "TimeoutError"),
    (errors.RelationshipsNotDeleted("m"), 400, "RelationshipsNotDeleted"),
    (errors.TwinNotFound("t"), 404, "DigitalTwinNotFound"),
    (errors.ComponentNotFound("t", "c"), 404, "ComponentNotFound"),
    (errors.ModelNotFound("m"), 404, "ModelNotFound"),
    (errors.ModelAlreadyExists("m"), 409, "ModelIdAlreadyExists"),
    (errors.ModelReferenced("m", ("n",)), 409, "ModelReferencesNotDeleted"),
    (errors.PreconditionFailed("m"), 412, "PreconditionFailed"),
    (errors.QuotaExceeded("m", quota="twins", limit=1, used=1), 403, "QuotaExceeded"),
    (
        errors.QuotaExceeded("m", quota="operations_per_day", limit=1, used=1, retry_after=7),
        429,
        "QuotaExceeded",
    ),
    (errors.StorageBusy("m"), 503, "StorageBusy"),
    (errors.StorageFull("m"), 507, "InsufficientStorage"),
    (errors.StorageDamaged("m"), 500, "StorageDamaged"),
    (errors.ConfigurationError("m"), 500, "ConfigurationError"),
]


@pytest.mark.parametrize(
    ("error", "status", "code"), ANSWERS, ids=[f"{a[1]}-{a[2]}" for a in ANSWERS]
)
def test_an_error_has_its_status_and_code(
    error: errors.TwinframeError, status: int, code: str
) -> None:
    answer = build_answer(error)
    headers = dict(answer.headers)
    assert answer.status == status
    assert headers["x-ms-error-code"] == code
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert orjson.loads(answer.body) == {"error": {"code": code, "message": error.public}}


def test_a_rate_that_is_used_up_tells_when_to_come_again() -> None:
    def read_headers(retry_after: int | None) -> dict[str, str]:
        error = errors.QuotaExceeded("m", quota="q", limit=1, used=1, retry_after=retry_after)
        return dict(build_answer(error).headers)

    assert read_headers(86_000)["retry-after"] == "86000"
    assert "retry-after" not in read_headers(None)
    assert dict(build_answer(errors.StorageBusy("m")).headers)["retry-after"] == "1"


def test_every_error_of_the_tree_has_a_client_or_a_server_status() -> None:
    pending: list[type[errors.TwinframeError]] = [errors.TwinframeError]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        assert 400 <= find_status(kind) <= 599


def test_errors_of_the_web_framework_get_the_envelope() -> None:
    answer = build_http_answer(400, "Invalid header", None)
    assert answer.status == 400
    assert dict(answer.headers)["x-ms-error-code"] == "BadRequest"
    assert orjson.loads(answer.body) == {
        "error": {"code": "BadRequest", "message": "Invalid header"}
    }


def test_an_empty_body_has_no_code_header() -> None:
    answer = build_answer(errors.EmptyBody("A non-empty request body is required."))
    assert answer.status == 400
    assert "x-ms-error-code" not in dict(answer.headers)
    assert orjson.loads(answer.body)["error"]["code"] == "BadRequest"


def test_the_reasons_of_a_failed_validation_stand_in_the_details() -> None:
    one = ErrorDetail("ValidationFailed", "x does not appear on the DTDL for Twin.")
    body = orjson.loads(build_answer(errors.ValidationFailed("many", details=(one,))).body)
    assert body["error"] == {
        "code": "ValidationFailed",
        "message": "Invalid twin specified",
        "details": [{"code": one.code, "message": one.message}],
    }
    alone = orjson.loads(build_answer(errors.ValidationFailed("why")).body)
    assert alone["error"]["details"] == [{"code": "ValidationFailed", "message": "why"}]


def test_a_busy_store_says_when_to_try_again() -> None:
    assert dict(build_answer(errors.StorageBusy("m")).headers)["retry-after"] == "1"


@pytest.mark.parametrize("patches_twin", [True, False])
def test_a_patch_of_non_objects_is_a_problem_document(patches_twin: bool) -> None:
    error = errors.PatchNotObjects("not an object", positions=(0, 2))
    answer = build_answer(error, patches_twin=patches_twin)
    body = orjson.loads(answer.body)
    assert dict(answer.headers) == {"content-type": "application/problem+json; charset=utf-8"}
    assert (body["status"], body["title"]) == (400, "One or more validation errors occurred.")
    assert ("jsonPatchDocument" in body["errors"]) is patches_twin
    assert {"[0]", "[2]"} <= body["errors"].keys()


def test_a_lone_surrogate_in_a_message_does_not_break_the_answer() -> None:
    assert orjson.loads(render_envelope("C", "id \ud800"))["error"]["message"] == "id ?"


def test_the_page_of_errors_names_those_of_framing_and_of_defects() -> None:
    page = render_errors_page()
    for row in (
        "| 408 | `RequestTimeout` |",
        "| 431 | `RequestHeadTooLarge` |",
        "| 500 | `InternalE",
    ):
        assert row in page
    assert "| 400 | `InvalidArgument` | An id, header, parameter or body has a form" in page
    assert "ConfigurationError" not in page


def test_an_answer_of_framing_names_the_setting_that_was_passed() -> None:
    for fault in (BODY_LARGE, URL_LONG, HEAD_LARGE, BUSY, TIMED_OUT):
        assert (
            "Server__" in orjson.loads(fault.answer.partition(b"\r\n\r\n")[2])["error"]["message"]
        )
