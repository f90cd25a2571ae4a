"""Completes ids in resource templates and arguments of prompts."""

from __future__ import annotations

from typing import Final

import orjson
from mcp_types import CompleteRequestParams, CompleteResult, Completion, ResourceTemplateReference

from twinframe.mcp.resources import MODEL, TWIN
from twinframe.mcp.tool import Toolbox
from twinframe.model.ids import build_model_name

_MOST: Final = 100
_TWINS: Final = (
    "MATCH (t:Twin) WHERE t.`$dtId` STARTS WITH $begin RETURN t.`$dtId` AS id ORDER BY id LIMIT 101"
)


async def complete(box: Toolbox, params: CompleteRequestParams) -> CompleteResult:
    """Return ids that begin with the typed text, and for models also names that do; at most 100.

    SEC: a caller that may not read twins or models gets none of their ids: an empty result, not an
    error, since clients ask while their user types.
    """
    found = await _find(box, params)
    return CompleteResult(
        completion=Completion(
            values=found[:_MOST],
            total=len(found) if len(found) <= _MOST else None,
            has_more=len(found) > _MOST,
        )
    )


async def _find(box: Toolbox, params: CompleteRequestParams) -> list[str]:
    typed = params.argument.value
    if not typed.isprintable():
        return []  # no id has this form
    if isinstance(params.ref, ResourceTemplateReference):
        if params.ref.uri.startswith(TWIN):
            return await _find_twins(box, typed)
        if params.ref.uri.startswith(MODEL):
            return await _find_models(box, typed)
    elif params.argument.name == "focus":
        return [build_model_name(one) for one in await _find_models(box, typed)]
    return []


async def _find_twins(box: Toolbox, typed: str) -> list[str]:
    # SEC: finding ids by their beginning is a query: a caller that may not query gets none, as of
    # advice.
    for permission in ("digitaltwins/read", "query/read"):
        if not await box.access.holds(permission):
            return []
    page = await box.graph.queries.run(_TWINS, {"begin": typed})
    return [orjson.loads(row)["id"] for row in page.rows]


async def _find_models(box: Toolbox, typed: str) -> list[str]:
    if not await box.access.holds("models/read"):
        return []
    outlines = await box.graph.overview.read_outlines()
    folded = typed.lower()
    return sorted(
        model_id
        for model_id in outlines.interfaces
        if model_id.lower().startswith(folded)
        or build_model_name(model_id).lower().startswith(folded)
    )
