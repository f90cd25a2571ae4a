"""Concurrent statements equal some serial order, over each storage; faults are found."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import runpy
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.judging import SEEDED
from tests.reliability.registers import (
    KEYS,
    MODELS,
    PREPARE,
    READ,
    READ_MARKERS,
    Request,
    Requests,
    WrongAnswer,
)
from tests.reliability.serial_orders import Operation, State, check_order
from tests.storages import choose
from tests.unit.graph.conftest import build_postgres, build_rdf, build_sqlite, find_engine
from twinframe.graph import Graph
from twinframe.model.rendering import build_json
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.runner import StoreRunner

FAULTS = runpy.run_path(str(SEEDED / "faults.py"))["FAULTS"]
CLIENTS = 6
TIMES = int(os.environ.get("TWINFRAME_STATEMENTS", "12"))
"""The requests of each client. R36 to R38 send tens of thousands, and kill services meanwhile."""
START = {key: State(0, "start ", 100) for key in KEYS}


@pytest.fixture(params=choose("sqlite", "oxigraph", "postgres"))
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[GraphStore]]:
    """Two open stores of one graph, as two processes have it."""
    builds: dict[str, Any] = {
        "sqlite": build_sqlite,
        "oxigraph": lambda place: build_rdf("oxigraph", place),
        "postgres": build_postgres,
    }
    with ExitStack() as ending:
        opened: list[GraphStore] = []
        for _ in range(2):
            store = builds[request.param](tmp_path)
            store.scratch = tmp_path / "results"
            store.open()
            ending.callback(store.close)
            opened.append(store)
        yield opened


class Client:
    """Sends statements to one of the graphs, and notes what it saw."""

    def __init__(self, name: str, graph: Graph, requests: Requests) -> None:
        self.operations: list[Operation] = []
        self._graph = graph
        self._name = name
        self._requests = requests

    async def run(self) -> None:
        for _ in range(TIMES):
            await self.send(self._requests.make())

    async def send(self, request: Request) -> None:
        statements = self._graph.statements
        begun = time.monotonic()
        found = await statements.run(statements.prepare(request.text, request.parameters))
        ended = time.monotonic()
        rows: Any = [[build_json(one) for one in row] for row in found.rows]
        before, after = request.take(rows)
        self.operations.append(Operation(request.tag, begun, ended, before, after))


async def contend(stores: list[GraphStore]) -> list[Operation]:
    """What all clients did, and at the end a read of everything."""
    settings = Settings()
    runners = [StoreRunner(store, settings.storage) for store in stores]
    try:
        graphs = [
            Graph(runner, settings, engine=find_engine(store))
            for runner, store in zip(runners, stores, strict=True)
        ]
        await graphs[0].models.create_models([*MODELS])
        statements = graphs[0].statements
        await statements.run(statements.prepare(PREPARE, {"keys": [*KEYS]}))
        marks = itertools.count()
        clients = []
        for number in range(CLIENTS):
            requests = Requests(f"c{number}", random.Random(number), lambda: next(marks) // 10)
            clients.append(Client(f"c{number}", graphs[number % len(graphs)], requests))
        await asyncio.gather(*(client.run() for client in clients))
        for at, text in enumerate((READ, READ_MARKERS)):
            await clients[0].send(Request(text, f"end-{at}"))
        done = [one for client in clients for one in client.operations]
        return [Operation("start", 0.0, 0.0, {}, START), *done]
    finally:
        for runner in runners:
            await runner.close()


def test_concurrent_statements_equal_some_serial_order(stores: list[GraphStore]) -> None:
    operations = asyncio.run(contend(stores))
    assert len(operations) == CLIENTS * TIMES + 3
    assert check_order(operations).list_all() == []


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("fault", "name"),
    [("two-transactions", "Statements.run"), ("merge-remembers", "compile_find")],
)
def test_a_fault_of_the_isolation_is_found(
    stores: list[GraphStore], fault: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((place, patch),) = FAULTS[fault]
    module = import_module(place)
    *way, member = name.split(".")
    owner = reduce(getattr, way, module)
    # NOTE: set to what it is, so that it is set back at the end.
    monkeypatch.setattr(owner, member, getattr(owner, member))
    patch(module)
    try:
        found = check_order(asyncio.run(contend(stores))).list_all()
    except WrongAnswer:
        return
    assert found
