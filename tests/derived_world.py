"""A graph with derived properties, random writes to it, and their values computed anew."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Coroutine
from contextlib import suppress
from random import Random
from typing import Any, Final, TypeVar

import orjson

from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.graph import Graph
from twinframe.graph.background.leases import LeaseManager
from twinframe.graph.context.context import GraphRunner
from twinframe.graph.derivations.background import DerivationKind
from twinframe.query.engine import QueryEngine
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction, WriteFunction

T = TypeVar("T")

PLACE: Final = "dtmi:test:Place;1"
AREA: Final = "dtmi:test:Area;1"
ROOM: Final = "dtmi:test:Room;1"
SENSOR: Final = "dtmi:test:Sensor;1"


def _model(model_id: str, properties: dict[str, str], *more: Any, extends: str = "") -> Any:
    contents = [{"@type": "Property", "name": n, "schema": s} for n, s in properties.items()]
    return {
        "@id": model_id,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        **({"extends": extends} if extends else {}),
        "contents": [*contents, *more],
    }


def _relationship(name: str, **properties: str) -> Any:
    given = [{"@type": "Property", "name": n, "schema": s} for n, s in properties.items()]
    return {
        "@type": "Relationship",
        "name": name,
        **({"properties": given} if given else {}),
    }


MODELS: Final = [
    _model(
        PLACE,
        {
            "own": "double",
            "size": "integer",
            "parts": "integer",
            "weight": "integer",
            "nearest": "double",
            "ratio": "integer",
        },
        _relationship("contains", main="boolean", share="integer"),
        _relationship("near"),
    ),
    _model(
        AREA,
        {"mean": "double", "total": "double", "places": "integer", "alarm": "boolean"},
        extends=PLACE,
    ),
    _model(ROOM, {"reading": "double"}, _relationship("marks"), extends=PLACE),
    _model(SENSOR, {"value": "integer", "active": "boolean"}, _relationship("locatedIn")),
]

DERIVATIONS: Final[dict[str, dict[str, str]]] = {
    # Each of the first three reads the one before it.
    "reading": {
        "model": ROOM,
        "property": "reading",
        "match": "(this)<-[:locatedIn]-(s:Sensor) WHERE s.active",
        "value": "sum(s.value)",
    },
    "mean": {
        "model": AREA,
        "property": "mean",
        "match": "(this)-[:contains*1..2]->(r:Room)",
        "value": "avg(r.reading)",
    },
    "total": {"model": AREA, "property": "total", "value": "this.own + this.mean * 2"},
    "places": {
        "model": AREA,
        "property": "places",
        "match": "(this)-[:contains*1..3]->(p:Place)",
        "value": "count(DISTINCT p)",
    },
    "alarm": {
        "model": AREA,
        "property": "alarm",
        "match": "(this)-[:contains]->(:Area)-[:contains]->(r:Room)<-[:locatedIn]-(s:Sensor) "
        "WHERE s.value > this.size AND NOT r:Area",
        "value": "count(s) > 0",
    },
    "weight": {
        "model": PLACE,
        "property": "weight",
        "match": "(this)-[c:contains {main: true}]->(p)",
        "value": "sum(c.share)",
    },
    "nearest": {
        "model": PLACE,
        "property": "nearest",
        "match": "(this)-[:near]-(n:Place), (n)<-[:contains*0..1]-(a)",
        "value": "min(a.own)",
    },
    # A division by zero is an error, whose value is null.
    "ratio": {"model": PLACE, "property": "ratio", "value": "this.size / this.parts"},
}
IDS: Final = tuple("abcdefgh")
_PROPERTIES: Final = {
    PLACE: ("own", "size", "parts"),
    AREA: ("own", "size", "parts"),
    ROOM: ("own", "size", "parts"),
    SENSOR: ("value", "active"),
}


_OWN: Final[dict[str, set[str]]] = {
    PLACE: set(),
    AREA: {"mean", "total", "places", "alarm"},
    ROOM: {"reading"},
}


class Stopped(Exception):
    """The process ended here."""


class StoppingRunner:
    """A runner that stops after so many writes of the keeper, before or after a commit."""

    def __init__(self, runner: GraphRunner) -> None:
        self._runner = runner
        self.left: float = float("inf")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Stop before the last half write, or after it."""
        self.left -= 0.5
        if self.left <= 0:
            raise Stopped
        result = await self._runner.write(function, alone=alone)
        self.left -= 0.5
        if self.left <= 0:
            raise Stopped
        return result


class DerivedWorld:
    """A graph with the models and derivations above.

    Random writes are to `groups` of eight twins; one in a hundred relationships goes from one group
    to another.
    """

    def __init__(
        self,
        runner: GraphRunner,
        engine: QueryEngine | None,
        settings: Settings | None = None,
        groups: int = 1,
    ) -> None:
        self._groups = groups
        self.runner: Any = StoppingRunner(runner)
        settings = settings or Settings.model_validate({"Derivations": {"SettleSeconds": 0}})
        self.graph = Graph(self.runner, settings, engine=engine)
        self._loop = asyncio.Runner()
        self.do(self.graph.models.create_models(MODELS))

    def close(self) -> None:
        self._loop.close()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(coroutine)

    def define(self, derivation_id: str, **changed: Any) -> Any:
        document = {**DERIVATIONS.get(derivation_id, {}), **changed}
        return self.do(self.graph.derivations.put(derivation_id, document))

    # --- following ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let a keeper begin as after a start, and end when it has nothing to do."""
        self.do(self._settle())

    def stop_after(self, writes: float) -> None:
        """Let a keeper begin, and end the process after so many writes."""
        self.runner.left = writes
        with suppress(Stopped):
            self.do(self._settle())
        self.runner.left = float("inf")

    async def _settle(self) -> None:
        kind = self.graph.deriving
        assert isinstance(kind, DerivationKind)
        kind.idle_seconds = 0.0
        # A lease of a holder that is gone is over at once.
        manager = LeaseManager(self.runner, 0.0)
        lease = None
        while lease is None:
            lease = await manager.claim("derivations/values")
        async with asyncio.timeout(60):
            await kind.run("values", lease)

    # --- random writes --------------------------------------------------------------------------

    def write(self, random: Random, count: int = 1) -> None:
        """Make random writes; one that is refused changes nothing."""
        self.do(self._write(random, count))

    async def _write(self, random: Random, count: int) -> None:
        writes: list[Callable[[Random], Coroutine[Any, Any, Any]]] = [
            *[self._patch] * 6,
            *[self._put] * 3,
            *[self._relate] * 12,
            *[self._patch_relationship] * 2,
            *[self._separate] * 2,
            self._delete,
            self._move,
            self._import,
        ]
        for _ in range(count):
            with suppress(TwinframeError):
                await random.choice(writes)(random)

    def _choose(self, random: Random) -> str:
        group = random.randrange(self._groups)
        return f"{random.choice(IDS)}{group or ''}"

    def _build(self, random: Random) -> dict[str, Any]:
        model = random.choice([AREA, AREA, ROOM, ROOM, SENSOR])
        names = [name for name in _PROPERTIES[model] if random.random() < 0.8]
        values = {name: _choose_value(name, random) for name in names}
        return {"$metadata": {"$model": model}, **values}

    async def _put(self, random: Random) -> None:
        await self.graph.twins.put_twin(self._choose(random), self._build(random))

    async def _patch(self, random: Random) -> None:
        twin_id = self._choose(random)
        stored = orjson.loads((await self.graph.twins.read_twin(twin_id)).body)
        name = random.choice(_PROPERTIES[stored["$metadata"]["$model"]])
        operation: dict[str, Any] = {"op": "remove", "path": f"/{name}"}
        if name not in stored or random.random() < 0.8:
            operation = {"op": "add", "path": f"/{name}", "value": _choose_value(name, random)}
        await self.graph.twins.patch_twin(twin_id, [operation])

    async def _move(self, random: Random) -> None:
        model, twin_id = random.choice([AREA, ROOM, PLACE]), self._choose(random)
        stored = orjson.loads((await self.graph.twins.read_twin(twin_id)).body)
        lost = {"mean", "total", "places", "alarm", "reading"} & stored.keys() - _OWN[model]
        await self.graph.twins.patch_twin(
            twin_id,
            [
                {"op": "replace", "path": "/$metadata/$model", "value": model},
                *({"op": "remove", "path": f"/{name}"} for name in sorted(lost)),
            ],
        )

    async def _delete(self, random: Random) -> None:
        twin_id = self._choose(random)
        await self.graph.observation.run(
            lambda _session: None, lambda cases: cases.removal.remove_twin(twin_id), keep=True
        )

    async def _relate(self, random: Random) -> None:
        source = self._choose(random)
        target = f"{random.choice(IDS)}{source[1:]}"
        if random.random() < 0.01:
            target = self._choose(random)
        name = random.choice(["contains", "contains", "near", "locatedIn"])
        body: dict[str, Any] = {"$relationshipName": name, "$targetId": target}
        if name == "contains":
            body |= {"main": random.random() < 0.7, "share": random.randrange(5)}
        await self.graph.relationships.put_relationship(source, random.choice("xyz"), body)

    async def _patch_relationship(self, random: Random) -> None:
        name, value = random.choice([("main", True), ("main", False), ("share", 7)])
        operation = {"op": "add", "path": f"/{name}", "value": value}
        await self.graph.relationships.patch_relationship(
            self._choose(random), random.choice("xyz"), [operation]
        )

    async def _separate(self, random: Random) -> None:
        relationships = self.graph.relationships
        await relationships.delete_relationship(self._choose(random), random.choice("xyz"))

    async def _import(self, random: Random) -> None:
        """Import a twin with derived values of another time."""
        document = {"$dtId": self._choose(random), **self._build(random)}
        if document["$metadata"]["$model"] == AREA:
            document |= {"mean": 99.5, "places": 99}
        lines = [{"Section": "Header"}, {"fileVersion": "1.0.0"}, {"Section": "Twins"}, document]
        text = b"\n".join(map(orjson.dumps, lines))
        await self.graph.portable.import_graph(io.BytesIO(text))

    # --- comparing ------------------------------------------------------------------------------

    def read_values(self) -> dict[tuple[str, str], Any]:
        """Return the stored values by derivation and twin."""
        return self.do(self._read_values())

    async def _read_values(self) -> dict[tuple[str, str], Any]:
        found: dict[tuple[str, str], Any] = {}
        for derivation_id, one in DERIVATIONS.items():
            text = (
                f"MATCH (t:`{one['model']}`) RETURN t.`$dtId` AS id, t.{one['property']} AS value"
            )
            for row in await self._query(text, {}):
                found[derivation_id, row["id"]] = row["value"]
        return found

    def compute_values(self) -> dict[tuple[str, str], Any]:
        """Return what the values must be, each from those that are stored before it."""
        return self.do(self._compute_values())

    async def _compute_values(self) -> dict[tuple[str, str], Any]:
        found: dict[tuple[str, str], Any] = {}
        for derivation_id, one in DERIVATIONS.items():
            text = (await self.graph.derivations.read(derivation_id)).query
            rows = await self._query(f"MATCH (t:`{one['model']}`) RETURN t.`$dtId` AS id", {})
            parts = [[row["id"] for row in rows]]
            while parts:  # where one cannot be computed, it is looked for
                ids = parts.pop()
                try:
                    for row in await self._query(text, {"ids": ids}):
                        found[derivation_id, row["id"]] = row["value"]
                except QueryInvalid:
                    if len(ids) == 1:
                        found[derivation_id, ids[0]] = None
                    else:
                        parts += ids[: len(ids) // 2], ids[len(ids) // 2 :]
        return found

    async def _query(self, text: str, parameters: dict[str, Any]) -> list[Any]:
        rows: list[Any] = []
        token = None
        while True:
            page = await self.graph.queries.run(text, parameters, continuation_token=token)
            rows += map(orjson.loads, page.rows)
            token = page.continuation_token
            if token is None:
                return rows

    def check(self) -> None:
        """Settle, and compare all values with those computed anew."""
        self.settle()
        stored, computed = self.read_values(), self.compute_values()
        wrong = {
            key: (stored[key], value) for key, value in computed.items() if stored[key] != value
        }
        assert not wrong
        for derivation_id in DERIVATIONS:
            state = self.do(self.graph.derivations.read(derivation_id))
            assert (state.name, state.behind) == ("current", 0), state

    def count_rows(self) -> int:
        """Return the position of the last change."""
        return self.do(self.runner.read(lambda session: session.read_event_bounds()[1]))

    def run_transaction(self, function: Callable[[GraphTransaction], Any]) -> Any:
        return self.do(self.runner.write(function))


def _choose_value(name: str, random: Random) -> Any:
    if name == "active":
        return random.random() < 0.6
    # Halves have no rounding: sums do not depend on their order.
    return random.randrange(-8, 9) / 2 if name == "own" else random.randrange(-2, 5)
