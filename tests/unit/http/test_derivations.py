"""Derived properties over HTTP: forms of bodies and answers, who may."""

from __future__ import annotations

from typing import Any

import pytest

from tests.derived_world import AREA, MODELS
from tests.unit.http.test_events import World, call

MEAN = {
    "model": AREA,
    "property": "mean",
    "match": "(this)-[:contains]->(r:Room)",
    "value": "avg(r.own)",
}


@pytest.fixture
def world(connect: Any) -> World:
    world = World()
    assert call(world, connect, "POST", "/models", MODELS).status == 201
    return world


def test_a_derivation_is_answered_with_its_state(world: World, connect: Any) -> None:
    body = {**MEAN, "settleSeconds": 0.5}
    answer = call(world, connect, "PUT", "/derivations/a%2Fb", body)
    assert answer.status == 200
    shown = {
        "id": "a/b",
        **body,
        "state": "computing",
        "halted": None,
        "position": 10,
        "lastPosition": 10,
        "behind": 0,
        "time": None,
        "done": 0,
        "total": 0,
        "computed": 0,
        "written": 0,
        "errors": 0,
        "lastError": None,
        "query": f"MATCH (this:`{AREA}`) WHERE this.`$dtId` IN $ids\nOPTIONAL MATCH\n"
        "(this)-[:contains]->(r:Room)\nWITH this,\navg(r.own)\n"
        "AS value RETURN this.`$dtId` AS id, value",
    }
    assert answer.json == shown
    assert call(world, connect, "GET", "/derivations/a%2Fb").json == shown
    listed = call(world, connect, "GET", "/derivations")
    assert listed.json == {"value": [shown], "nextLink": None}
    assert call(world, connect, "DELETE", "/derivations/a%2Fb").status == 204
    answer = call(world, connect, "DELETE", "/derivations/a%2Fb")
    assert (answer.status, answer.code) == (404, "DerivationNotFound")


def test_errors_have_codes_of_their_own(world: World, connect: Any) -> None:
    answer = call(world, connect, "PUT", "/derivations/x", {**MEAN, "property": "maen"})
    assert (answer.status, answer.code) == (400, "DerivationInvalid")
    assert "Did you mean mean?" in answer.json["error"]["message"]
    answer = call(world, connect, "PUT", "/derivations/x", [])
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    answer = call(world, connect, "GET", "/derivations?pageSize=1")
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert call(world, connect, "PUT", "/derivations/x", MEAN).status == 200
    twin = {"$metadata": {"$model": AREA}, "mean": 3}
    answer = call(world, connect, "PUT", "/digitaltwins/a", twin)
    assert (answer.status, answer.code) == (400, "DerivedPropertyReadOnly")
    assert "derived by x" in answer.json["error"]["message"]
