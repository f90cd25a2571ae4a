"""Builder of the OpenAPI 3.1 document from the route table and the shapes of the bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from twinframe.http.graph.schemas import ErrorResponse, Problem
from twinframe.http.operations import SIGNED_IN, Answer, Body, Route
from twinframe.settings import AuthenticationSettings

Json = dict[str, Any]

_REFERENCE = "#/components/schemas/{model}"
_CODE = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The description of a plane as a whole, and how it answers errors.

    `error` is the shape of its errors. If `vendor` is set, errors also have a code in a header and
    a problem document for some patches, and operations take an `api-version`.
    """

    title: str
    description: str
    error: type
    vendor: bool = False


DATA_PLANE = Dialect(
    "twinframe",
    "A digital-twin graph service, compatible with the Azure Digital Twins data plane. "
    "Any `api-version`, or none, is accepted.",
    ErrorResponse,
    vendor=True,
)


def build_document(
    routes: Sequence[Route],
    *,
    version: str,
    base: str,
    access: AuthenticationSettings | None = None,
    dialect: Dialect = DATA_PLANE,
) -> Json:
    """Return the document as served under `base`, the base path as called (empty at the root).

    `access` gives the required credentials; None means that none are required.
    """
    schemes = build_schemes(access)
    schemas = _Schemas(routes, dialect)
    paths: dict[str, Json] = {}
    for route in routes:
        operations = paths.setdefault(route.path, {})
        operations[route.method.lower()] = _build_operation(route, schemas, tuple(schemes))
    return {
        "openapi": "3.1.0",
        "info": {"title": dialect.title, "version": version, "description": dialect.description},
        "servers": [{"url": base or "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        # NOTE: Swagger UI offers to authorize even where the object of schemes is empty.
        "components": {"schemas": schemas.definitions}
        | ({"securitySchemes": schemes} if schemes else {}),
    }


def build_schemes(access: AuthenticationSettings | None) -> Json:
    """Return the security schemes of the required credentials by name."""
    schemes: Json = {}
    if access is not None and access.asks and access.takes_tokens:
        schemes["bearer"] = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    if access is not None and access.asks and access.takes_api_keys:
        schemes["apiKey"] = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return schemes


class _Schemas:
    """JSON Schemas of all types that the routes name, and the definitions they share."""

    def __init__(self, routes: Sequence[Route], dialect: Dialect) -> None:
        self.dialect = dialect
        kinds: list[tuple[Any, JsonSchemaMode]] = [(dialect.error, "serialization")]
        if dialect.vendor:
            kinds.append((Problem, "serialization"))
        for route in routes:
            kinds.append((route.answer.kind, "serialization"))
            if route.body is not None:
                kinds.append((route.body.kind, "validation"))
            kinds += [(parameter.kind, "validation") for parameter in route.parameters]
        wanted = {_key(kind, mode): (kind, mode) for kind, mode in kinds}
        found, shared = TypeAdapter.json_schemas(
            [(key, mode, TypeAdapter(kind)) for key, (kind, mode) in wanted.items()],
            ref_template=_REFERENCE,
        )
        self._found = {key: schema for (key, _), schema in found.items()}
        self.definitions: Json = shared.get("$defs", {})

    def of(self, kind: Any, mode: JsonSchemaMode) -> Json:
        return self._found[_key(kind, mode)]


def _key(kind: Any, mode: JsonSchemaMode) -> str:
    return f"{kind!r} {mode}"


def _build_operation(route: Route, schemas: _Schemas, schemes: tuple[str, ...]) -> Json:
    operation: Json = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": _build_parameters(route, schemas),
        "responses": _build_responses(route, schemas),
    }
    if route.permission is not None:
        operation["x-permission"] = route.permission
        if schemes:
            operation["security"] = [{scheme: []} for scheme in schemes]
            operation["responses"] = {
                "401": {"description": "No valid credentials."},
                "403": {"description": _render_missing(route.permission)},
                **operation["responses"],
            }
    if route.body is not None:
        operation["requestBody"] = _build_body(route.body, schemas)
    return operation


def _render_missing(permission: str) -> str:
    if permission == SIGNED_IN:
        return "A scope is missing."
    return f"The permission {permission} is missing."


def _build_parameters(route: Route, schemas: _Schemas) -> list[Json]:
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in route.path_parameters
    ]
    found += [
        {
            "name": parameter.name,
            "in": parameter.position,
            "description": parameter.description,
            "schema": schemas.of(parameter.kind, "validation"),
            **({"required": True} if parameter.required else {}),
        }
        for parameter in route.parameters
    ]
    if route.permission is not None and schemas.dialect.vendor:
        found.append({"name": "api-version", "in": "query", "schema": {"type": "string"}})
    return found


def _build_body(body: Body, schemas: _Schemas) -> Json:
    schema = schemas.of(body.kind, "validation")
    return {"required": True, "content": {kind: {"schema": schema} for kind in body.media_types}}


def _build_responses(route: Route, schemas: _Schemas) -> Json:
    responses: Json = {str(route.answer.status): _build_answer(route.answer, schemas)}
    for status, codes in sorted(route.errors.items()):
        responses[str(status)] = _build_error(codes, schemas)
        if "JsonPatchInvalid" in codes and schemas.dialect.vendor:
            problem = {"schema": schemas.of(Problem, "serialization")}
            responses[str(status)]["content"]["application/problem+json"] = problem
    if route.permission is not None:
        responses["default"] = _build_error("", schemas)
    return responses


def _build_answer(answer: Answer, schemas: _Schemas) -> Json:
    built: Json = {"description": answer.description}
    if answer.kind is not None:
        schema = schemas.of(answer.kind, "serialization")
        built["content"] = {answer.media_type: {"schema": schema}}
    if answer.headers:
        built["headers"] = {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in answer.headers.items()
        }
    return built


def _build_error(codes: str, schemas: _Schemas) -> Json:
    built: Json = {
        "description": codes or "An error.",
        "content": {
            "application/json": {"schema": schemas.of(schemas.dialect.error, "serialization")}
        },
    }
    if codes and schemas.dialect.vendor:
        header = {"schema": {"type": "string", "enum": _CODE.findall(codes)}}
        built["headers"] = {"x-ms-error-code": header}
    return built
