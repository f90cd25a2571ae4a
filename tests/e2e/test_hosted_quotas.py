"""What a sku allows is held by all workers of the graph service, and changes with sku and list."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.control_plane import SCOPE, ControlClient, ControlProcess
from tests.e2e.server import Server
from tests.e2e.test_hosted_graphs import Caller, Reply
from tests.e2e.token_server import TokenProcess
from tests.waiting import Threads

GRAPH = "/projects/campus/resources/tower"
MODEL = "dtmi:test:Thing;1"
DAILY, TWINS = 300, 20


def render_list(**pro: int) -> str:
    """A price list: `free` is small, `pro` is as told."""
    limits = {"free": {"operations_per_day": DAILY, "twins": TWINS}, "pro": pro}
    return json.dumps(
        {
            "quotas": [
                {"type": "Platform.Graph", "sku": sku, "quota": quota, "limit": limit}
                for sku, quotas in limits.items()
                for quota, limit in quotas.items()
            ]
        }
    )


@dataclass(frozen=True)
class World:
    """A control plane with its price list, and a graph service of two workers beside it."""

    prices: Path
    control: ControlProcess
    owner: ControlClient
    graph: Caller

    def put(self, name: str) -> Reply:
        """Put a twin into the graph."""
        return self.graph("PUT", f"/digitaltwins/{name}", {"$metadata": {"$model": MODEL}})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    prices = tmp_path / "prices.json"
    prices.write_text(render_list())
    with TokenProcess(tmp_path) as tokens:
        client = tokens.add_client("owner", scope=SCOPE)
        more = {"Billing__PriceList": str(prices), "Control__HealthInterval": "1"}
        control = ControlProcess(tmp_path, tokens, more)
        subject = f"{client.client_id}@clients"
        done = control.run("control", "init", "--owner", subject, "--organization", "acme")
        assert done.exit_code == 0, done.output
        shared = {
            name: control.settings[name]
            for name in ("Hosting__Directory", "Storage__Sqlite__Directory")
        }
        server = Server(tmp_path, workers=2, environment={**shared, "Hosting__Enabled": "true"})
        with control, server:
            owner = control.sign_in(client)
            project = {"id": "campus", "organization_id": "acme", "name": "Campus"}
            owner.do("POST", "/projects", project, 201)
            body = {"id": "tower", "name": "Tower", "type": "Platform.Graph"}
            owner.do("POST", "/projects/campus/resources", body, 201)
            owner.wait_for(GRAPH, "running")
            yield World(prices, control, owner, Caller(server.port, "/graphs/tower"))
        for log in (control.log, server.log):
            text = log.read_text(encoding="utf-8")
            assert "Traceback" not in text, text[-4000:]


def test_a_limit_is_reached_by_all_workers_together_and_lifted_by_an_upgrade(world: World) -> None:
    model = {"@id": MODEL, "@type": "Interface", "@context": "dtmi:dtdl:context;3"}
    assert world.graph("POST", "/models", [model]).status == 201
    with Threads(12) as pool:
        written = list(pool.map(world.put, [f"t{number}" for number in range(40)]))
        assert sorted(reply.status for reply in written) == [200] * TWINS + [403] * (40 - TWINS)
        refused = next(reply for reply in written if reply.status == 403)
        assert refused.code == refused.headers["x-ms-error-code"] == "QuotaExceeded"
        assert f"allows {TWINS} twins; {TWINS} are used" in refused.json["error"]["message"]

        read = list(pool.map(lambda _: world.graph("GET", "/models"), range(DAILY)))
    # NOTE: at the limit, those that come at once may be refused together, and one later let in.
    while (last := world.graph("GET", "/models")).status == 200:
        read.append(last)
    allowed = sum(reply.status == 200 for reply in read)
    assert 1 + len(written) + allowed == DAILY
    assert last.status == 429
    assert last.code == "QuotaExceeded"
    assert f"allows {DAILY} operations per day" in last.json["error"]["message"]
    assert 0 < int(last.headers["retry-after"]) <= 86_400

    shown = world.owner.do("GET", f"{GRAPH}/quotas")["quotas"]
    assert {each["quota"]: each["limit"] for each in shown} == {
        "twins": TWINS,
        "operations_per_day": DAILY,
    }

    world.owner.do("PUT", GRAPH, {"sku": "pro"})
    world.owner.wait_for(GRAPH, "running")
    assert [world.put(f"more{number}").status for number in range(10)] == [200] * 10
    assert world.owner.do("GET", f"{GRAPH}/quotas")["quotas"] == []

    assert world.put("last").status == 200
    world.prices.write_text(render_list(twins=TWINS + 11))
    assert world.control.process is not None
    world.control.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 120
    while (reply := world.put("late")).status == 200:
        assert time.monotonic() < end
        assert world.graph("DELETE", "/digitaltwins/late").status == 204
        time.sleep(0.1)
    assert reply.status == 403
    assert f"allows {TWINS + 11} twins; {TWINS + 11} are used" in reply.json["error"]["message"]
