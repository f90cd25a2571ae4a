"""RealEstateCore's 767 interfaces: loaded in one POST, and read back as they were."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.shared import find_shared
from tests.storages import SERVED


@pytest.fixture(scope="module")
def ontology() -> list[dict[str, object]]:
    file = find_shared("TWINFRAME_REC_MODELS", "data/rec-building-models.jsonl.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_whole_ontology_loads_at_once_and_comes_back_unchanged(
    storage: str, tmp_path: Path, ontology: list[dict[str, object]]
) -> None:
    with Server(tmp_path, workers=2, environment=SERVED[storage](tmp_path)) as server:
        wire = Wire(server.port)
        status, _, created = wire.call("POST", "/models", ontology)
        assert status == 201, created
        assert [model["id"] for model in created] == [model["@id"] for model in ontology]
        found: dict[str, object] = {}
        path = "/models?includeModelDefinition=true"
        while path:
            status, _, page = wire.call("GET", path, max_items_per_page="100")
            assert status == 200
            assert 0 < len(page["value"]) <= 100
            found |= {item["id"]: item["model"] for item in page["value"]}
            link = page["nextLink"]
            path = link[link.lower().index("/models") :] if link else ""
        assert found == {model["@id"]: model for model in ontology}
        room = "dtmi:digitaltwins:rec_3_3:core:Room;1"
        if room in found:
            status, _, document = wire.call("GET", f"/models/{quote(room, safe='')}")
            assert (status, document["id"]) == (200, room)
        assert wire.call("DELETE", "/models")[0] == 204
        assert wire.call("GET", "/models")[2] == {"value": [], "nextLink": None}
        wire.close()
