"""Random statements that write, on each engine: rows and graph are those of the evaluator."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.tck.engines import ENGINES, POSTGRES, Engine, open_engine
from twinframe.errors import QueryInvalid

STATEMENTS = 40 * int(os.environ.get("TWINFRAME_LAW_TIMES", "1"))
SET_UP = (
    "UNWIND range(1, 6) AS i CREATE (a:A {`$dtId`: 'a' + i, x: i % 4, g: i % 2}) "
    "CREATE (b:B {`$dtId`: 'b' + i, x: i, s: 'b' + i % 3}) CREATE (a)-[:R {w: i}]->(b) "
    "WITH a WHERE a.g = 0 CREATE (a)-[:S]->(:A:C {x: 9, l: [1, a.x]})"
)
LABELS = (":A", ":B", ":C", ":A|C", "")


class StatementWriter:
    """Writes statements whose outcome does not depend on the order of rows."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._nodes: list[str] = []
        self._relationships: list[str] = []
        self._values: list[str] = []
        self._count = 0

    def write(self) -> str:
        """Write a statement of a few clauses."""
        self._nodes, self._relationships, self._values, self._count = [], [], [], 0
        clauses = [self._read()]
        for _ in range(self._dice.randint(1, 4)):
            clauses.append(self._write())
            if self._dice.random() < 0.6:
                clauses.append(self._go_on())
                if self._dice.random() < 0.6:
                    clauses.append(self._read())
        return " ".join([*clauses, self._end()])

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _new(self, kind: str, known: list[str]) -> str:
        name = self._name(kind)
        known.append(name)
        return name

    def _value(self) -> str:
        options = ["1", "0", "'b1'", "null", "$p", "[1, 2]", "2.5"]
        options += [f"{name}.{key}" for name in self._nodes for key in ("x", "g", "nope")]
        options += [f"{name}.w" for name in self._relationships] + self._values
        return self._dice.choice(options)

    def _predicate(self) -> str:
        subject, value = self._value(), self._value()
        forms = [f"{subject} = {value}", f"{subject} > {value}", f"{subject} IS NULL"]
        forms += [f"{subject} IN [1, 2, 'b1']", f"NOT {subject} = 1"]
        forms += [f"EXISTS {{ ({name})-->(:B) }}" for name in self._nodes]
        forms += [f"COUNT {{ ({name})--() }} > 1" for name in self._nodes]
        return self._dice.choice(forms)

    # --- reading

    def _read(self) -> str:
        form = self._dice.randrange(7)
        optional = self._dice.choice(("", "", "OPTIONAL "))
        label = self._dice.choice(LABELS)
        known = self._dice.choice(self._nodes) if self._nodes else None
        if form == 0:
            name = self._new("v", self._values)
            return f"UNWIND {self._dice.choice(('[1, 2, 2]', '$l', 'range(1, 3)'))} AS {name}"
        if form == 1:
            return f"{optional}MATCH ({self._new('n', self._nodes)}{label} {{x: {self._value()}}})"
        if form < 4 and known is not None:
            crossed = self._new("r", self._relationships)
            end = f"({self._new('n', self._nodes)}{label})"
            text = f"{optional}MATCH ({known})-[{crossed}]->{end}"
        elif form == 4:
            start, crossed = self._new("n", self._nodes), self._new("r", self._relationships)
            text = (
                f"{optional}MATCH ({start}{label})-[{crossed}:R|S]-({self._new('n', self._nodes)})"
            )
        else:
            text = f"{optional}MATCH ({self._new('n', self._nodes)}{label})"
        return text + (f" WHERE {self._predicate()}" if self._dice.random() < 0.5 else "")

    def _go_on(self) -> str:
        form = self._dice.randrange(3)
        kept = [*self._nodes, *self._relationships, *self._values]
        if form == 0 and self._nodes:
            (name,) = self._nodes = [self._dice.choice(self._nodes)]
            self._relationships, self._values = [], []
            return f"WITH {name}, count(*) AS {self._new('v', self._values)}"
        distinct = self._dice.choice(("", "DISTINCT "))
        where = f" WHERE {self._predicate()}" if form == 1 else ""
        return f"WITH {distinct}{', '.join(kept)}{where}"

    # --- writing

    def _write(self) -> str:
        form = self._dice.randrange(11)
        node = self._dice.choice(self._nodes) if self._nodes else None
        other = self._dice.choice(self._nodes) if self._nodes else None
        crossed = self._dice.choice(self._relationships) if self._relationships else None
        value = self._value()
        if form == 0 or node is None:
            return f"CREATE ({self._new('n', self._nodes)}:C {{x: {value}, y: 1}})"
        match form:
            case 1:
                end = f"({self._name('m')}:B {{x: {node}.x, s: {value}}})"
                return f"CREATE ({node})-[{self._new('r', self._relationships)}:R {{w: 1}}]->{end}"
            case 2:
                return f"CREATE ({node})-[:S {{w: {value}}}]->({other})"
            case 3:
                name = self._new("n", self._nodes)
                sets = (
                    f"ON CREATE SET {name}.c = 1 ON MATCH SET {name}.c = coalesce({name}.c, 0) + 1"
                )
                return f"MERGE ({name}:M {{k: {value}}}) {sets}"
            case 4:
                return f"MERGE ({node})-[{self._new('r', self._relationships)}:T]->({other})"
            case 5:
                return f"SET {node}.x = {self._dice.choice((f'{node}.x + 1', '7', 'null'))}"
            case 6:
                return f"SET {node} += {{z: {node}.x, g: null}}, {node}:D"
            case 7:
                return f"REMOVE {node}.x, {node}:A"
            case 8 if crossed is not None:
                return f"DELETE {crossed}"
            case 9:
                return f"DETACH DELETE {node}"
            case _:
                return f"SET {node} = {{x: 3, old: {node}.x}}"

    def _end(self) -> str:
        read = [f"{name}.{key}" for name in self._nodes for key in ("x", "z", "c")]
        read += [f"labels({name})" for name in self._nodes]
        read += [f"type({name})" for name in self._relationships] + self._values
        read += [f"size([({name})-[q]->(o) | o.x])" for name in self._nodes]
        chosen = self._dice.sample(read, min(len(read), 3))
        if not chosen or self._dice.random() < 0.3:
            return "RETURN count(*) AS n"
        columns = [f"{one} AS c{at}" for at, one in enumerate(chosen)]
        return "RETURN " + ", ".join([*columns, "count(*) AS n"])


def describe(engine: Engine) -> tuple[Any, ...]:
    """The graph without the ids that were made."""
    session = engine.graph.open_session()
    try:
        nodes = {one.id: one for one in session.scan_nodes(None)}
        crossed = [*session.scan_relationships(())]
    finally:
        session.close()

    def render(document: Any) -> bytes:
        own = {key: value for key, value in document.items() if not key.startswith("$")}
        return orjson.dumps(own, option=orjson.OPT_SORT_KEYS)

    shown = {key: (*sorted(one.labels), render(one.document)) for key, one in nodes.items()}
    edges = (
        (shown[one.source], one.type, render(one.document), shown[one.target]) for one in crossed
    )
    return Counter(shown.values()), Counter(edges)


def run(engine: Engine, text: str) -> tuple[Any, ...]:
    """The rows in any order, or the kind of the error, and the graph after it."""
    engine.graph.clear()
    engine.graph.execute(SET_UP, {})
    try:
        prepared = engine.graph.prepare(text, {"p": 2, "l": [1, "b1", None]})
        result = engine.graph.run(prepared)
    except QueryInvalid as error:
        return error.kind, error.detail, describe(engine)
    rows = Counter(orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in result.rows)
    return rows, result.counters, describe(engine)


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Engine]:
    with open_engine("evaluator") as engine:
        yield engine


@pytest.mark.parametrize("name", [one for one in (*ENGINES, POSTGRES) if one != "evaluator"])
def test_statements_do_on_each_engine_what_they_do_in_the_evaluator(
    evaluator: Engine, name: str
) -> None:
    writer = StatementWriter(random.Random(f"statements {STATEMENTS}"))
    done = 0
    with open_engine(name) as engine:
        for _ in range(STATEMENTS):
            text = writer.write()
            expected = run(evaluator, text)
            assert run(engine, text) == expected, text
            done += not isinstance(expected[0], str)
    assert done > STATEMENTS // 3
