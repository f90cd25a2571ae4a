"""Responders for `/models`."""

from __future__ import annotations

from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument
from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import (
    PATCH_TYPES,
    keep_as_of,
    read_as_of,
    read_flag,
    read_json,
    read_list,
    read_page_request,
    render_array,
    write_no_content,
    write_page,
)


async def create_models(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: 201 with the ModelData of all models, in the order of the request."""
    documents = await read_json(api, request, api.bodies.limits.models)
    if not isinstance(documents, list):
        raise InvalidArgument("Payload is invalid: the body must be an array of DTDL interfaces.")
    response.status = 201
    response.data = render_array(await api.graph.models.create_models(documents))


async def list_models(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of models; `dependenciesFor` may be repeated, or name several with commas."""
    dependencies_for = read_list(request, "dependenciesFor")
    definition = read_flag(request, "includeModelDefinition")
    as_of = await read_as_of(api, request)
    page = await api.graph.models.list_models(
        dependencies_for, definition, read_page_request(request), as_of
    )
    kept: dict[str, str | list[str]] = {
        "includeModelDefinition": str(definition),
        **keep_as_of(as_of),
    }
    if dependencies_for:
        kept["dependenciesFor"] = dependencies_for
    write_page(api, request, response, page, page.items, kept)


async def read_model(
    api: GraphApiContext, request: Request, response: Response, model_id: str
) -> None:
    """GET: ModelData, with the definition if `includeModelDefinition` is true.

    SPEC: Konnektr's `includeBaseModelContents` merges in what the model inherits.
    """
    definition, as_of = read_flag(request, "includeModelDefinition"), await read_as_of(api, request)
    if read_flag(request, "includeBaseModelContents"):
        response.data = await api.graph.models.read_whole_model(model_id, as_of)
    else:
        response.data = await api.graph.models.read_model(model_id, definition, as_of)


async def decommission_model(
    api: GraphApiContext, request: Request, response: Response, model_id: str
) -> None:
    """PATCH: 204; the only patch replaces `/decommissioned`."""
    patch = await read_json(api, request, api.bodies.limits.query, PATCH_TYPES)
    await api.graph.models.decommission_model(model_id, patch)
    write_no_content(response)


async def delete_model(
    api: GraphApiContext, _request: Request, response: Response, model_id: str
) -> None:
    """DELETE: 204."""
    await api.graph.models.delete_model(model_id)
    write_no_content(response)


async def delete_all_models(api: GraphApiContext, _request: Request, response: Response) -> None:
    """DELETE of the collection: 204; all models are deleted."""
    await api.graph.models.delete_all_models()
    write_no_content(response)
