"""Building blocks for model documents in tests, and the findings of parsing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from twinframe.dtdl import SPECIFICATION, ModelFinding, ParserLimits, Resolver, parse_models
from twinframe.errors import ModelParsingFailed


def model(
    name: str, contents: Sequence[object] = (), *, version: int = 3, **rest: Any
) -> dict[str, Any]:
    """Return an interface document called `dtmi:com:example:<name>;1`."""
    return {
        "@context": f"dtmi:dtdl:context;{version}",
        "@id": f"dtmi:com:example:{name};1",
        "@type": "Interface",
        "contents": list(contents),
        **rest,
    }


def prop(name: str, schema: object = "string", **rest: Any) -> dict[str, Any]:
    """Return a property."""
    return {"@type": "Property", "name": name, "schema": schema, **rest}


def find_all(
    *documents: object, resolve: Resolver | None = None, limits: ParserLimits = SPECIFICATION
) -> list[ModelFinding]:
    """Return the findings of documents that must not parse."""
    with pytest.raises(ModelParsingFailed) as caught:
        parse_models(documents, resolve=resolve, limits=limits)
    findings = [detail for detail in caught.value.details if isinstance(detail, ModelFinding)]
    assert len(findings) == len(caught.value.details)
    return findings


def find_rules(*documents: object, limits: ParserLimits = SPECIFICATION) -> list[str]:
    """Return the rules that documents break."""
    return [finding.code for finding in find_all(*documents, limits=limits)]
