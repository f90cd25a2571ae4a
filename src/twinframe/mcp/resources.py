"""The read-only MCP resources: the digest of the graph, and each twin and model by its id.

Ids are percent-encoded in the URIs, `twin://room%207`; characters that are valid in a URI need not
be encoded.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

import orjson
from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from twinframe.mcp.describing import read_digest
from twinframe.mcp.errors import UnknownResource
from twinframe.mcp.tool import Toolbox

SCHEMA: Final = "graph://schema"
TWIN: Final = "twin://"
MODEL: Final = "model://"
_JSON: Final = "application/json"
_SCHEMA_TOKENS: Final = 4000


def list_resources() -> ListResourcesResult:
    """List the resource that always exists; twins and models are found by their templates."""
    return ListResourcesResult(
        resources=[
            Resource(
                name="schema",
                title="The graph in short",
                uri=SCHEMA,
                description="Interfaces with counts, relationships, properties, example queries.",
                mime_type="text/plain",
            )
        ]
    )


def list_templates() -> ListResourceTemplatesResult:
    """List the URI templates of twins and models."""
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                name="twin",
                title="A digital twin",
                uri_template=f"{TWIN}{{+id}}",
                description="The document of the twin with this $dtId.",
                mime_type=_JSON,
            ),
            ResourceTemplate(
                name="model",
                title="A model",
                uri_template=f"{MODEL}{{+id}}",
                description="The DTDL interface with this DTMI, as it was uploaded.",
                mime_type=_JSON,
            ),
        ]
    )


async def read_resource(box: Toolbox, uri: str) -> ReadResourceResult:
    """Read the resource of a URI. Errors: as reading a twin or model; `UnknownResource`."""
    action = f"resources/read {uri[:200]}"
    if uri == SCHEMA:
        text, mime_type = await _read_schema(box, action), "text/plain"
    elif uri.startswith(TWIN):
        await box.access.check("digitaltwins/read", action)
        stored = await box.graph.twins.read_twin(unquote(uri.removeprefix(TWIN)))
        text, mime_type = _render(box, stored.body), _JSON
    elif uri.startswith(MODEL):
        await box.access.check("models/read", action)
        body = await box.graph.models.read_model(
            unquote(uri.removeprefix(MODEL)), include_definition=True
        )
        text, mime_type = _render(box, orjson.dumps(orjson.loads(body)["model"])), _JSON
    else:
        raise UnknownResource(
            f"There is no resource {uri[:200]!r}. There are {SCHEMA}, {TWIN}ID and {MODEL}DTMI."
        )
    contents = TextResourceContents(uri=uri, text=text, mime_type=mime_type)
    return ReadResourceResult(contents=[contents])


async def _read_schema(box: Toolbox, action: str) -> str:
    await box.access.check("models/read", action)
    await box.access.check("query/read", action)
    digest, _ = await read_digest(box, _SCHEMA_TOKENS)
    return digest.text


def _render(box: Toolbox, body: bytes) -> str:
    """Render the stored document; shortened only when it is larger than an answer may be."""
    if len(body) <= box.limits.max_bytes:
        return body.decode()
    return orjson.dumps(box.open_budget(1, full=True).cut(orjson.loads(body))).decode()
