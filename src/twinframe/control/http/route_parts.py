"""Paths, parameters, answers and errors that several routes of the control plane share."""

from __future__ import annotations

from typing import Final

from twinframe.http.operations import Answer, Parameter

PREFIX: Final = "/api/v1"

ORGANIZATION: Final = PREFIX + "/organizations/{organization_id}"
PROJECT: Final = PREFIX + "/projects/{project_id}"
RESOURCE: Final = PROJECT + "/resources/{resource_id}"

PAGE: Final = (
    Parameter("limit", "query", "Most items of the page.", int),
    Parameter("offset", "query", "Items to pass over.", int),
)
KEY: Final = Parameter(
    "Idempotency-Key", "header", "A repeated request with the same key has one effect."
)
LOCATION_HEADER: Final = {"Location": "Where it is from now on."}
NO_CONTENT: Final = Answer(204, "Done.")

INVALID: Final = "Something in the request is wrong; `details` says what."
FORBIDDEN: Final = "The caller sees it, but may not do this."
MISSING: Final = "It does not exist, or the caller may not see it."
READ: Final = {400: INVALID, 403: FORBIDDEN, 404: MISSING}
CHANGE: Final = {**READ, 409: "The present state does not allow it."}
CREATE: Final = {
    **READ,
    409: "The id or name is taken, or the Idempotency-Key came with another request.",
}
