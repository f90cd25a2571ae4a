"""How much memory parsing takes and keeps: counted in bytes an interface, not in time."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.unit.dtdl.documents import model, prop
from twinframe.dtdl import SERVICE, compile_validator, parse_models

COUNT = 400
# What an interface like `build_document` takes, in bytes, and a quarter more: CPython 3.11 needs
# 7,500 beyond the decoded documents at the height of parsing, keeps 3,700, a validator 1,100.
MOST_AT_ONCE, MOST_KEPT, MOST_COMPILED = 9_400, 4_700, 1_400


def build_document(number: int) -> str:
    kinds = [{"name": name, "enumValue": name} for name in ("a", "b")]
    contents = [
        prop("serial", displayName="Serial"),
        prop("area", "double", writable=True),
        prop("kind", {"@type": "Enum", "valueSchema": "string", "enumValues": kinds}),
        {"@type": "Telemetry", "name": "t", "schema": "double"},
        {"@type": "Relationship", "name": "feeds", "target": "dtmi:com:example:m0;1"},
    ]
    texts = {"displayName": f"Model {number}", "description": "some text for the model"}
    return json.dumps(model(f"m{number}", contents, **texts))


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_an_interface_takes_and_keeps_few_bytes() -> None:
    texts = [build_document(number) for number in range(COUNT)]
    parse_models([json.loads(text) for text in texts[:2]], limits=SERVICE)
    gc.collect()
    start = tracemalloc.get_traced_memory()[0]
    documents = [json.loads(text) for text in texts]
    decoded = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    models = parse_models(documents, limits=SERVICE)
    peak = tracemalloc.get_traced_memory()[1]
    del documents
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    validators = [
        compile_validator(interface, models.interfaces.__getitem__)
        for interface in models.interfaces.values()
    ]
    compiled = tracemalloc.get_traced_memory()[0]
    assert len(validators) == COUNT
    assert (peak - decoded) / COUNT < MOST_AT_ONCE
    assert (kept - start) / COUNT < MOST_KEPT
    assert (compiled - kept) / COUNT < MOST_COMPILED


@pytest.mark.usefixtures("traced")
def test_what_heirs_inherit_is_kept_once() -> None:
    links = [{"@type": "Relationship", "name": f"r{n}"} for n in range(20)]
    kinds = [{"name": f"k{n}", "enumValue": n} for n in range(50)]
    schema = {"@type": "Enum", "valueSchema": "integer", "enumValues": kinds}
    base = model("Base", [prop("kind", schema), *links])
    heirs = [model(f"Heir{n}", extends=base["@id"]) for n in range(COUNT)]
    models = parse_models([base, *heirs], limits=SERVICE)
    gc.collect()
    start = tracemalloc.get_traced_memory()[0]
    validators = [
        compile_validator(interface, models.interfaces.__getitem__)
        for interface in models.interfaces.values()
    ]
    size = (tracemalloc.get_traced_memory()[0] - start) / len(validators)
    assert size < 3_000, "an enum of 50 values and 20 relationships for each heir"
