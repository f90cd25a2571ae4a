"""Responders for relationships, outgoing and incoming."""

from __future__ import annotations

import orjson
from falcon.asgi import Request, Response

from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import (
    PATCH_TYPES,
    build_next_link,
    keep_as_of,
    read_api_version,
    read_as_of,
    read_conditions,
    read_exchange,
    read_json,
    read_page_request,
    render_array,
    render_listing,
    write_document,
    write_no_content,
)
from twinframe.model.etags import parse_condition, parse_put_condition


async def read_relationship(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, relationship_id: str
) -> None:
    """GET: the relationship and its ETag."""
    as_of = await read_as_of(api, request)
    found = await api.graph.relationships.read_relationship(twin_id, relationship_id, as_of)
    write_document(response, found)


async def put_relationship(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, relationship_id: str
) -> None:
    """PUT: create or replace; always 200 with the stored relationship."""
    document = await read_json(api, request, api.bodies.limits.document)
    condition = parse_put_condition(*read_conditions(request))
    stored = await api.graph.relationships.put_relationship(
        twin_id, relationship_id, document, condition
    )
    write_document(response, stored)


async def patch_relationship(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, relationship_id: str
) -> None:
    """PATCH: 204 and the new ETag."""
    patch = await read_json(api, request, api.bodies.limits.document, PATCH_TYPES)
    etag = await api.graph.relationships.patch_relationship(
        twin_id, relationship_id, patch, parse_condition(*read_conditions(request))
    )
    write_no_content(response, etag)


async def delete_relationship(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, relationship_id: str
) -> None:
    """DELETE: 204."""
    await api.graph.relationships.delete_relationship(
        twin_id, relationship_id, parse_condition(*read_conditions(request))
    )
    write_no_content(response)


async def list_relationships(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """GET: a page of outgoing relationships, of one `relationshipName` when it is given."""
    name = request.get_param("relationshipName") or None  # empty means no filter
    as_of = await read_as_of(api, request)
    page = await api.graph.relationships.list_relationships(
        twin_id, name, read_page_request(request), as_of
    )
    kept = {} if name is None else {"relationshipName": name}
    kept |= keep_as_of(as_of)
    next_link = build_next_link(api, request, page, kept)
    # SPEC: recorded key order of both relationship lists: nextLink, then value.
    response.data = render_listing(b'{"nextLink":%b,"value":[' % next_link, page.items, b"]}")


async def list_incoming(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """GET: a page of incoming relationships, four keys each, with absolute links."""
    as_of = await read_as_of(api, request)
    page = await api.graph.relationships.list_incoming(twin_id, read_page_request(request), as_of)
    prefix = api.links.build_relationship_prefix(read_exchange(request))
    version = read_api_version(request)
    items = [
        orjson.dumps(
            {
                "$relationshipId": item.relationship_id,
                "$sourceId": item.source_id,
                "$relationshipName": item.name,
                "$relationshipLink": api.links.build_relationship(prefix, item, version),
            }
        )
        for item in page.items
    ]
    next_link = build_next_link(api, request, page, keep_as_of(as_of))
    response.data = b'{"nextLink":%b,"value":%b}' % (next_link, render_array(items))
