"""Writers that keep a model of what they wrote and ask for it, for tests of columns."""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.wire import Wire

Json = Any
Twin = Mapping[str, Any]
Edge = tuple[str, str, str, int]  # source, name, target, weight
BROKEN = (OSError, http.client.HTTPException)


def build_interface(name: str, *contents: Json, extends: str = "") -> Json:
    """A model of the world."""
    above = {"extends": find_dtmi(extends)} if extends else {}
    return {
        "@context": "dtmi:dtdl:context;3",
        "@id": find_dtmi(name),
        "@type": "Interface",
        **above,
        "contents": list(contents),
    }


def build_property(name: str, schema: Json) -> Json:
    return {"@type": "Property", "name": name, "schema": schema, "writable": True}


def find_dtmi(name: str) -> str:
    return f"dtmi:com:example:columns:{name};1"


PLACE = {
    "@type": "Object",
    "fields": [{"name": "floor", "schema": "integer"}, {"name": "wing", "schema": "string"}],
}
WEIGHT = [build_property("weight", "integer")]
MODELS = [
    build_interface(
        "Thing",
        build_property("kind", "string"),
        build_property("place", PLACE),
        *(
            {"@type": "Relationship", "name": name, "properties": WEIGHT}
            for name in ("feeds", "has")
        ),
    ),
    build_interface("Meter", build_property("value", "double"), extends="Thing"),
    build_interface("Sign", build_property("value", "string"), extends="Thing"),
    build_interface("Switch", build_property("value", "boolean"), extends="Thing"),
]
KINDS = ("old", "new", "é", "")
WINGS = ("east", "west")


@dataclass
class Contents:
    """What one writer knows to be stored: nobody else writes twins of its prefix."""

    twins: dict[str, Twin] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)

    def select(self, model: str) -> dict[str, Twin]:
        return {key: twin for key, twin in self.twins.items() if twin["model"] == model}


def build_twin(random_: random.Random) -> Twin:
    """A twin in which everything but the model may be missing."""
    model = random_.choice(("Meter", "Meter", "Sign", "Switch", "Thing"))
    twin: dict[str, Any] = {"model": model}
    if random_.random() < 0.8:
        twin["kind"] = random_.choice(KINDS)
    if random_.random() < 0.6:
        twin["place"] = {"floor": random_.randrange(5)}
        if random_.random() < 0.5:
            twin["place"]["wing"] = random_.choice(WINGS)
    if random_.random() < 0.8 and model != "Thing":
        twin["value"] = build_value(random_, model)
    return twin


def build_value(random_: random.Random, model: str) -> Json:
    if model == "Meter":
        return random_.choice((random_.randrange(-50, 50), random_.randrange(-99, 99) / 4))
    return f"text {random_.randrange(1000)}" if model == "Sign" else random_.random() < 0.5


def build_body(twin: Twin) -> Json:
    members = {key: value for key, value in twin.items() if key != "model"}
    return {"$metadata": {"$model": find_dtmi(twin["model"])}, **members}


# --- what is asked --------------------------------------------------------------------------------


def _agree(left: Sequence[Json], right: Sequence[Json]) -> bool:
    return sorted(map(_render, left)) == sorted(map(_render, right))


def _render(row: Sequence[Json]) -> str:
    """NOTE: 3 and 3.0 are one number, of which an aggregate may give either."""
    return repr([float(one) if type(one) is int else one for one in row])


def _count(held: Contents) -> list[Json]:
    return [[len(held.twins)]]


def _meters(held: Contents) -> list[Json]:
    values = [one["value"] for one in held.select("Meter").values() if "value" in one]
    least, most = (min(values), max(values)) if values else (None, None)
    return [[len(held.select("Meter")), len(values), sum(values), least, most]]


def _groups(held: Contents) -> list[Json]:
    return [[kind, n] for kind, n in Counter(t.get("kind") for t in held.twins.values()).items()]


def _floors(held: Contents) -> list[Json]:
    found: defaultdict[Json, list[int]] = defaultdict(list)
    for one in held.twins.values():
        place = one.get("place", {})
        if place.get("floor", -1) >= 1:
            found[place.get("wing")].append(place["floor"])
    return [[wing, sum(floors)] for wing, floors in found.items()]


def _distinct(held: Contents) -> list[Json]:
    values = {one["value"] for one in held.twins.values() if isinstance(one.get("value"), str)}
    return [[value] for value in values]


def _switches(held: Contents) -> list[Json]:
    return [[sum(one.get("value") is True for one in held.twins.values())]]


def _missing(held: Contents) -> list[Json]:
    return [[key] for key, one in held.twins.items() if "kind" not in one and "value" not in one]


def _joined(held: Contents) -> list[Json]:
    return [[e[0], e[2], e[3]] for e in held.edges.values() if e[1] == "feeds"]


def _hops(held: Contents) -> list[Json]:
    into = Counter(e[0] for e in held.edges.values() if e[1] == "has")
    ends: Counter[str] = Counter()
    for source, name, target, _ in held.edges.values():
        if name == "feeds" and into[target]:
            ends[source] += into[target]
    return [[source, n] for source, n in ends.items()]


def _exists(held: Contents) -> list[Json]:
    fed = {e[2] for e in held.edges.values() if e[1] == "feeds"}
    return [[len(fed)]]


def _top(held: Contents) -> list[Json]:
    values = [(-v["value"], k) for k, v in held.select("Meter").items() if "value" in v]
    return [[key] for _, key in sorted(values)[:5]]


OWN = "WHERE t.`$dtId` STARTS WITH $p"
QUESTIONS: Mapping[str, Callable[[Contents], list[Json]]] = {
    f"MATCH (t) {OWN} RETURN count(*) AS n": _count,
    f"MATCH (t:Meter) {OWN} RETURN count(*) AS n, count(t.value) AS v, sum(t.value) AS s, "
    "min(t.value) AS a, max(t.value) AS b": _meters,
    f"MATCH (t:Thing) {OWN} RETURN t.kind AS k, count(*) AS n": _groups,
    f"MATCH (t) {OWN} AND t.place.floor >= 1 "
    "RETURN t.place.wing AS w, sum(t.place.floor) AS s": _floors,
    f"MATCH (t:Sign) {OWN} AND t.value IS NOT NULL RETURN DISTINCT t.value AS v": _distinct,
    f"MATCH (t) {OWN} AND t.value = true RETURN count(*) AS n": _switches,
    f"MATCH (t) {OWN} AND t.kind IS NULL AND t.value IS NULL RETURN t.`$dtId` AS i": _missing,
    f"MATCH (t)-[r:feeds]->(u) {OWN} RETURN t.`$dtId` AS i, u.`$dtId` AS j, r.weight AS w": _joined,
    f"MATCH (t)-[:feeds]->()-[:has]->() {OWN} RETURN t.`$dtId` AS i, count(*) AS n": _hops,
    f"MATCH (t) {OWN} AND EXISTS {{ (t)<-[:feeds]-() }} RETURN count(*) AS n": _exists,
    f"MATCH (t:Meter) {OWN} AND t.value IS NOT NULL RETURN t.`$dtId` AS i "
    "ORDER BY t.value DESC, i LIMIT 5": _top,
}


def ask(wire: Wire, text: str, **parameters: Json) -> list[list[Json]]:
    """All rows of a query, page after page."""
    body: Json = {"query": text, "parameters": parameters}
    rows: list[list[Json]] = []
    while True:
        status, _, answer = wire.call("POST", "/query", body)
        assert status == 200, (text, answer)
        rows += [list(row.values()) for row in answer["value"]]
        if not answer.get("continuationToken"):
            return rows
        body = {"continuationToken": answer["continuationToken"]}


def has_columns(wire: Wire, text: str = "MATCH (t) RETURN count(t.kind) AS n") -> bool:
    """Whether columns would answer a query now, on the worker of this connection."""
    (row,) = ask(wire, f"EXPLAIN {text}", p="w")
    return any("columns" in part["indexes"] for part in row[1])


def check(wire: Wire, prefix: str, held: Contents, some: Sequence[str] = ()) -> None:
    """Every question has the answer of the model."""
    for text in some or QUESTIONS:
        found, expected = ask(wire, text, p=prefix), QUESTIONS[text](held)
        if "LIMIT" in text:
            assert found == expected, (prefix, text)
        else:
            assert _agree(found, expected), (prefix, text, found, expected)


# --- who writes -----------------------------------------------------------------------------------


class Writer:
    """Writes at random below its prefix, and asks after each write for what it knows."""

    def __init__(self, port: int, prefix: str, seed: int, connections: int = 5) -> None:
        self.prefix = prefix
        self.held = Contents()
        self.random = random.Random(seed)
        self.rounds = 0
        self._connections = connections
        self.connect(port)

    def connect(self, port: int) -> None:
        """NOTE: several connections, so that several workers answer."""
        self.port = port
        self.wires = [Wire(port) for _ in range(self._connections)]

    @property
    def wire(self) -> Wire:
        """A connection to any worker."""
        return self.random.choice(self.wires)

    def close(self) -> None:
        for wire in self.wires:
            wire.close()

    def run(self, rounds: int) -> None:
        """Write and check, so many times."""
        for _ in range(rounds):
            self.step()

    def run_until_broken(self) -> None:
        """Write and check until the service is gone; then what is stored is not known."""
        try:
            while True:
                self.step()
        except BROKEN:
            self.close()

    def run_until(self, has_ended: threading.Event) -> None:
        """Write and check; when a worker dies, learn from another what is stored."""
        port, is_sure = self.port, True
        while not has_ended.is_set() or not is_sure:
            try:
                if not is_sure:
                    self.close()
                    self.connect(port)
                    self.learn()
                    is_sure = True
                self.step()
            except BROKEN:
                is_sure = False

    def step(self) -> None:
        """One write, then some of the questions."""
        self.write()
        texts = self.random.sample(list(QUESTIONS), 3)
        check(self.wire, self.prefix, self.held, texts)
        self.rounds += 1

    def write(self) -> None:
        self.random.choices(
            (self._put, self._patch, self._delete, self._link, self._unlink, self._put_many),
            (6, 5, 2, 6, 2, 1),
        )[0]()

    def _call(self, method: str, path: str, body: Json = None) -> Json:
        status, _, answer = self.wire.call(method, path, body)
        assert status in (200, 204), (method, path, body, status, answer)
        return answer

    def _choose_id(self) -> str:
        return f"{self.prefix}{self.random.randrange(40)}"

    def _put(self) -> None:
        key, twin = self._choose_id(), build_twin(self.random)
        self._call("PUT", f"/digitaltwins/{key}", build_body(twin))
        self.held.twins[key] = twin

    def _put_many(self) -> None:
        twins = {self._choose_id(): build_twin(self.random) for _ in range(30)}
        bodies = [{"$dtId": key, **build_body(twin)} for key, twin in twins.items()]
        answer = self._call("POST", "/digitaltwins", bodies)
        assert answer["failureCount"] == 0, answer
        self.held.twins |= twins

    def _patch(self) -> None:
        if not self.held.twins:
            return
        key = self.random.choice(list(self.held.twins))
        twin = dict(self.held.twins[key])
        if "kind" in twin and self.random.random() < 0.4:
            del twin["kind"]
            patch = [{"op": "remove", "path": "/kind"}]
        else:
            twin["kind"] = self.random.choice((*KINDS, f"kind {self.random.randrange(10**6)}"))
            patch = [{"op": "add", "path": "/kind", "value": twin["kind"]}]
        if twin["model"] != "Thing":
            twin["value"] = build_value(self.random, twin["model"])
            patch.append({"op": "add", "path": "/value", "value": twin["value"]})
        self._call("PATCH", f"/digitaltwins/{key}", patch)
        self.held.twins[key] = twin

    def _delete(self) -> None:
        if not self.held.twins:
            return
        key = self.random.choice(list(self.held.twins))
        for source, edge in [k for k, e in self.held.edges.items() if key in (e[0], e[2])]:
            self._remove_edge(source, edge)
        self._call("DELETE", f"/digitaltwins/{key}")
        del self.held.twins[key]

    def _link(self) -> None:
        if len(self.held.twins) < 2:
            return
        source, target = self.random.sample(list(self.held.twins), k=2)
        edge, weight = f"r{self.random.randrange(3)}", self.random.randrange(9)
        old = self.held.edges.get((source, edge))
        name = self.random.choice(("feeds", "has"))
        body = {"$relationshipName": name, "$targetId": target, "weight": weight}
        if old is not None and self.random.random() < 0.3:
            self._remove_edge(source, edge)
        self._call("PUT", f"/digitaltwins/{source}/relationships/{edge}", body)
        self.held.edges[source, edge] = source, name, target, weight

    def _unlink(self) -> None:
        if self.held.edges:
            self._remove_edge(*self.random.choice(list(self.held.edges)))

    def _remove_edge(self, source: str, edge: str) -> None:
        self._call("DELETE", f"/digitaltwins/{source}/relationships/{edge}")
        del self.held.edges[source, edge]

    def learn(self) -> None:
        """Read by single requests what is stored, after the service died in a write."""
        keys = {f"{self.prefix}{at}" for at in range(40)}
        self.held = Contents()
        for key in sorted(keys):
            status, _, document = self.wire.call("GET", f"/digitaltwins/{key}")
            if status == 404:
                continue
            assert status == 200, document
            model = document["$metadata"]["$model"].split(":")[-1].split(";")[0]
            own = {name: value for name, value in document.items() if name[0] != "$"}
            self.held.twins[key] = {"model": model, **own}
            for edge in self._list_edges(key):
                found = key, edge["$relationshipName"], edge["$targetId"], edge.get("weight")
                self.held.edges[key, edge["$relationshipId"]] = found

    def _list_edges(self, key: str) -> Iterator[Json]:
        status, _, page = self.wire.call("GET", f"/digitaltwins/{key}/relationships")
        assert status == 200, page
        assert not page.get("nextLink")
        yield from page["value"]
