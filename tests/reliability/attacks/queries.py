"""Queries made to take memory or the event loop: regular expressions, values, reading, planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reliability.attacks.attack import STORAGES, Attack, Target

NUMBERS = "UNWIND range(1, 100000) AS i "
KIBIBYTE = "reduce(s = 'x', j IN range(1, 10) | s + s)"
MEBIBYTE = "reduce(s = 'x', j IN range(1, 20) | s + s)"
ONE = ("sqlite",)
SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its parameters, which four clients send at the same time, again and again."""

    name: str
    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    storages: tuple[str, ...] = ONE

    def build(self) -> Attack:
        """The attack."""

        def ask(target: Target) -> None:
            target.repeat(lambda: target.query(self.text, self.parameters))

        return Attack(self.name, ask, self.storages, SECONDS)


def _join(template: str, count: int, glue: str) -> str:
    return glue.join(template.format(n) for n in range(count))


REGULAR_EXPRESSIONS: Sequence[Query] = (
    Query(
        "a group 16,000 times as a parameter",
        "RETURN 'aaaa' =~ $p",
        {"p": "(a|b)?" * 16_000},
        storages=STORAGES,
    ),
    Query("counted repetitions", "RETURN 'aaaa' =~ '" + "(a{1,1000}){1,1}" * 900 + "'"),
    Query("classes without case", "RETURN 'aaaa' =~ '(?i)" + r"[\\pL\\p{Greek}]" * 3_000 + "'"),
    Query(
        "2,000 patterns built by rows",
        f"UNWIND range(1, 2000) AS i WITH '({'(a|b)?' * 300})' + toString(i) AS p "
        "RETURN sum(CASE WHEN 'aaaa' =~ p THEN 1 ELSE 0 END) AS n",
    ),
    Query(
        "200,000 small patterns",
        "UNWIND range(1, 200000) AS i RETURN count(CASE WHEN 'a' =~ 'a' + toString(i) THEN 1 END)",
        storages=STORAGES,
    ),
    Query(
        "a long text against a wide pattern",
        f"WITH {MEBIBYTE} AS t UNWIND range(1, 200) AS i "
        "RETURN count(CASE WHEN t =~ '(x+x+)+y|(x|xx)*z{0,50}' THEN 1 END)",
    ),
)

VALUES: Sequence[Query] = (
    Query(
        "texts collected",
        "UNWIND range(1, 500) AS i RETURN collect(reduce(s = toString(i), "
        "j IN range(1, 20) | s + s)) AS c",
        storages=STORAGES,
    ),
    Query(
        "texts of 4 MiB collected",
        "UNWIND range(1, 500) AS i RETURN collect(reduce(s = 'x', j IN range(1, 22) | s + s)) AS c",
    ),
    Query("pairs collected", "MATCH (a), (b) RETURN collect(a) AS c"),
    Query(
        "pairs as maps collected",
        "MATCH (a), (b) RETURN collect({a: a, b: b}) AS c",
        storages=STORAGES,
    ),
    Query("documents, in order", "MATCH (a), (b) RETURN a, b ORDER BY b.text, a.text"),
    Query("documents as group keys", "MATCH (a), (b) RETURN a, b, count(*) AS n"),
    Query(
        "texts of a megabyte replaced",
        "MATCH (a) RETURN collect(replace(a.text, 'x', 'xxxxxxxx')) AS c",
    ),
    Query("texts of a megabyte in capitals", "MATCH (a), (b) RETURN collect(toUpper(a.text)) AS c"),
    Query("ranges collected", "UNWIND range(1, 5000) AS i RETURN collect(range(i, i + 5000)) AS c"),
    Query(
        "slices of a list",
        "WITH range(1, 500000) AS r RETURN [i IN range(1, 500000) | r[0..500000 - i]] AS c",
    ),
    Query("maps in maps", "RETURN reduce(m = {a: 1}, i IN range(1, 200) | {a: m, b: m}) AS m"),
    Query(
        "percentiles",
        f"{NUMBERS}{NUMBERS.replace('AS i', 'AS j')}RETURN percentileCont(i + j, 0.5) AS p",
    ),
    Query(
        "distinct aggregates",
        "UNWIND range(1, 3000) AS i UNWIND range(1, 3000) AS j "
        "RETURN count(DISTINCT toString(i) + '/' + toString(j)) AS n",
    ),
    Query("paths collected", "MATCH p = (a)-[:next*1..5]->(b) RETURN collect(p) AS c"),
    Query(
        "a subquery that collects", "MATCH (a) RETURN collect(COLLECT { MATCH (b) RETURN b }) AS c"
    ),
    Query(
        "a large parameter many times",
        f"{NUMBERS}RETURN collect($p + toString(i)) AS c",
        {"p": "x" * 900_000},
    ),
)

READING: Sequence[Query] = (
    Query(
        "a chain of 120",
        "MATCH (n0)" + "".join(f"-[r{n}]->(n{n})" for n in range(1, 120)) + " RETURN count(*) AS n",
    ),
    Query("a chain of 60", "MATCH ()" + "--()" * 60 + " RETURN count(*) AS n", storages=STORAGES),
    Query(
        "300 EXISTS",
        "MATCH (a) WHERE "
        + _join("EXISTS {{ (a)-->(b{}) }}", 300, " OR ")
        + " RETURN count(*) AS n",
    ),
    Query("60 COUNT", "MATCH (a) RETURN " + _join("COUNT {{ (a)-->(b{}) }}", 60, " + ") + " AS n"),
    Query(
        "30 KB of OR",
        "MATCH (a) WHERE " + _join("a.value = {}", 1_600, " OR ") + " RETURN count(*) AS n",
        storages=STORAGES,
    ),
    Query(
        "30 KB of AND NOT",
        "MATCH (a) WHERE " + _join("NOT a.value = {}", 1_400, " AND ") + " RETURN count(*) AS n",
    ),
    Query("25 KB of UNION ALL", _join("MATCH (n:Twin) RETURN n.a{} AS v", 700, " UNION ALL ")),
    Query("1,600 documents", "MATCH (n) RETURN " + _join("n AS c{0}", 1_600, ", ")),
    Query(
        "1,000 documents collected", "MATCH (n) RETURN " + _join("collect(n) AS c{0}", 1_000, ", ")
    ),
    Query(
        "a list of 24,000",
        "MATCH (a) WHERE a.value IN [" + _join("{}", 24_000, ",") + "] RETURN count(*) AS n",
    ),
    Query(
        "220 KB that is refused",
        "MATCH (a) WHERE " + _join("a.value = {}", 12_000, " OR ") + " RETURN count(* AS n",
        storages=STORAGES,
    ),
    Query("220 KB of words", "RETURN " + _join("a{}", 30_000, " ")),
    Query(
        "a comprehension in each of 200",
        "MATCH (a) RETURN "
        + _join("[x IN range(1, 10) WHERE x > {0} | x + a.value] AS c{0}", 200, ", "),
    ),
    Query(
        "labels of 2,000", "MATCH (a) WHERE a:" + _join("L{}", 2_000, "|") + " RETURN count(*) AS n"
    ),
    Query(
        "45 KB of OR of the vendor",
        "SELECT COUNT() FROM DIGITALTWINS T WHERE " + _join("T.value = {}", 2_500, " OR "),
    ),
)

QUERIES = (*REGULAR_EXPRESSIONS, *VALUES, *READING)

ATTACKS: Sequence[Attack] = tuple(query.build() for query in QUERIES)
