"""R22: queries made to run for ever, to fill memory or to break the parser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import orjson

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, at_most, exactly
from tests.reliability.traffic import LOST, Line, add_model, wait_for_workers
from tests.reliability.vitals import read_resident

LIMIT = 2.0
TWINS = 30

BOMBS: Mapping[str, str] = {
    "ten in a product": "MATCH " + ", ".join(f"(n{n})" for n in range(10)) + " RETURN count(*)",
    "a product that is filtered": "MATCH (a), (b), (c), (d), (e), (f) "
    "WHERE a.value + b.value + c.value + d.value + e.value + f.value < -1 RETURN count(*)",
    "a product that is sorted": "MATCH (a), (b), (c), (d), (e) RETURN a.value AS v ORDER BY "
    "a.value + b.value + c.value + d.value + e.value LIMIT 1",
    "all paths of a clique": "MATCH p = (a)-[:next*1..12]->(b) RETURN count(p)",
    "long paths of a clique": "MATCH (a)-[:next*1..32]->(b) RETURN count(*)",
    "paths without a bound": "MATCH (a)-[*]->(b) RETURN count(*)",
    "paths of a thousand": "MATCH (a)-[*..1000]->(b) RETURN count(*)",
    "paths both ways": "MATCH (a)-[*1..20]-(b) RETURN count(*)",
    "cliques as a pattern": "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(g) RETURN count(*)",
    "shortest among all": "MATCH (a), (b), (c), (d) MATCH p = shortestPath((a)-[*..15]-(d)) "
    "WHERE b.value < c.value RETURN count(p)",
    "a range of a milliard": "UNWIND range(1, 1000000000) AS x RETURN count(x)",
    "a list of a milliard": "RETURN size(range(0, 1000000000)) AS n",
    "ranges in ranges": "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y "
    "WITH x, y WHERE sin(x) + y < -9 RETURN count(*)",
    "four ranges": "UNWIND range(1,3000) AS a UNWIND range(1,3000) AS b UNWIND range(1,3000) AS c "
    "UNWIND range(1,3000) AS d RETURN sum(a+b+c+d) AS n",
    "collected ranges": "UNWIND range(1, 100000000) AS x WITH collect(x) AS xs RETURN size(xs)",
    "collected texts": "UNWIND range(1, 100000000) AS x WITH collect(toString(x)) AS xs "
    "RETURN size(xs)",
    "distinct of a range": "UNWIND range(1, 100000000) AS x WITH DISTINCT x RETURN count(*)",
    "groups of a range": "UNWIND range(1, 100000000) AS x RETURN x, count(*)",
    "sorted range": "UNWIND range(1, 100000000) AS x RETURN x ORDER BY -x LIMIT 1",
    "a text that doubles": "RETURN reduce(s = 'x', i IN range(1, 60) | s + s) AS s",
    "a list that doubles": "RETURN size(reduce(s = [1], i IN range(1, 60) | s + s)) AS s",
    "reduce of a milliard": "RETURN reduce(s = 0, i IN range(1, 1000000000) | s + i) AS s",
    "a comprehension of a milliard": "RETURN size([x IN range(1, 1000000000) WHERE x < 0]) AS n",
    "comprehensions in comprehensions": "RETURN size([x IN range(1, 100000) | "
    "[y IN range(1, 100000) | x * y]]) AS n",
    "any of any": "RETURN any(x IN range(1, 100000) WHERE any(y IN range(1, 100000) WHERE x = -y))",
    "replace in a chain": "RETURN size(" + "replace(" * 30 + "'ab'" + ", 'a', 'aaaa')" * 30 + ")",
    "a regular expression": "RETURN '" + "a" * 60 + "' =~ '(a+)+b' AS x",
    "nested quantifiers": "RETURN '" + "a" * 200 + "!' =~ '^(([a-z])+.)+[A-Z]([a-z])+$' AS x",
    "split of a long text": "RETURN size(split(reduce(s='x', i IN range(1,25) | s+s), '')) AS n",
    "maps of a range": "UNWIND range(1, 100000000) AS x WITH collect({a: x, b: [x]}) AS m "
    "RETURN size(m)",
    "parentheses": "RETURN " + "(" * 1_000 + "1" + ")" * 1_000,
    "parentheses by the thousand": "RETURN " + "(" * 100_000 + "1" + ")" * 100_000,
    "lists": "RETURN " + "[" * 1_000 + "]" * 1_000,
    "maps": "RETURN " + "{a:" * 1_000 + "1" + "}" * 1_000,
    "not": "RETURN " + "NOT " * 10_000 + "true",
    "minus": "RETURN " + "- " * 10_000 + "1",
    "case": "RETURN " + "CASE WHEN true THEN " * 1_000 + "1" + " END" * 1_000,
    "alternatives": "MATCH (n) WHERE " + " OR ".join(f"n.value = {n}" for n in range(10_000))
    + " RETURN count(*)",
    "parts": "MATCH " + ", ".join(f"(a{n})-->(b{n})" for n in range(1_000)) + " RETURN count(*)",
    "clauses": "MATCH (n) " + "WITH n " * 2_000 + "RETURN count(*)",
    "a list of 100,000": "RETURN size([" + ",".join(map(str, range(100_000))) + "]) AS n",
    "a sum of 50,000": "RETURN " + "+".join(["1"] * 50_000),
    "a text of a mebibyte": "RETURN '" + "x" * 2**20 + "'",
    "skip of a milliard": "MATCH (n) RETURN n SKIP 1000000000000 LIMIT 1",
    "a negative limit": "MATCH (n) RETURN n LIMIT -1",
    "half a row": "MATCH (n) RETURN n LIMIT 1.5",
    "joins of the vendor": "SELECT COUNT() FROM DIGITALTWINS a JOIN b RELATED a.next JOIN c "
    "RELATED b.next JOIN d RELATED c.next JOIN e RELATED d.next JOIN f RELATED e.next "
    "WHERE a.$dtId = 'n0'",
    "hops of the vendor": "SELECT COUNT() FROM DIGITALTWINS MATCH (a)-[:next*..32]-(b) "
    "WHERE a.$dtId = 'n0'",
}  # fmt: skip


def judge(trial: Trial) -> Sequence[Figure]:
    """Ask each in turn, on a clique of 30 twins, with the memory of the worker watched."""
    timeout = "6" if trial.fault else str(LIMIT)
    settings = {"Query__Timeout": timeout, "Logging__Access": "false"}
    bombs = dict(list(BOMBS.items())[1:4] if trial.fault else BOMBS)
    late: list[str] = []
    statuses: list[int] = []
    with Server(trial.folder, workers=1, environment=settings) as server:
        workers = wait_for_workers(server)
        _build_clique(server.port)
        base = read_resident(workers)
        watch = Watch(workers)
        thread = threading.Thread(target=watch.run)
        thread.start()
        try:
            for name, text in bombs.items():
                start = time.monotonic()
                statuses.append(_ask(server.port, text))
                seconds = time.monotonic() - start
                if seconds > LIMIT + trial.pick(0.5, 2.0):
                    late.append(name)
                    print(f"    {name}: {seconds:.1f} s, {statuses[-1]}", flush=True)
        finally:
            watch.stop.set()
            thread.join()
        alive = wait_for_workers(server) == workers
    return [
        exactly("answered late", len(late)),
        exactly("answers but 200 and 400", sum(s not in (200, 400, 413) for s in statuses)),
        exactly("workers that died", 0 if alive else 1),
        at_most("MiB of memory at most", (watch.largest - base) / 2**20, 256),
        at_least("bombs", len(bombs), 3 if trial.fault else 40),
    ]


class Watch:
    """The most memory that processes had, looked at ten times a second."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self.stop = threading.Event()
        self.largest = 0

    def run(self) -> None:
        """Look until told to stop."""
        while not self.stop.wait(0.1):
            self.largest = max(self.largest, read_resident(self._pids))


def _ask(port: int, text: str) -> int:
    try:
        line = Line(port, timeout=60)
        status, _, _ = line.call("POST", "/query", orjson.dumps({"query": text}))
        line.close()
    except LOST:
        return 0
    return status


def _build_clique(port: int) -> None:
    add_model(port)
    line = Line(port)
    twins = [{"$dtId": f"n{number}", **counter(number)} for number in range(TWINS)]
    assert line.call("POST", "/digitaltwins", twins)[0] == 200
    status, _, body = line.call("POST", "/relationships", list(_list_edges()))
    assert status == 200, body
    line.close()


def _list_edges() -> Iterator[dict[str, str]]:
    for source in range(TWINS):
        for target in range(TWINS):
            if source != target:
                yield {
                    "$sourceId": f"n{source}", "$relationshipId": f"r{target}",
                    "$relationshipName": "next", "$targetId": f"n{target}",
                }  # fmt: skip


GOAL = Goal(
    id="R22",
    title="query bombs",
    asked="≥ 40 queries made to hurt: each answered within the limit + 0.5 s, the worker lives, "
    "≤ 256 MiB",
    judge=judge,
    twins=(
        Twin(
            fault="no-deadline",
            seeds="a Query__Timeout of 6 s is taken for one of 2",
            breaks=("answered late",),
        ),
    ),
)
