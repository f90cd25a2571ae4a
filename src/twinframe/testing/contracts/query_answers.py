"""Tests that the answers of a query engine are those of the evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from twinframe.errors import QueryInvalid
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.query_corpora import CORPORA, ORDERS, PARAMETERS
from twinframe.testing.query_law import Answer, QueryLaw

PLAIN = {"aggregates": CORPORA["aggregates"], "optionals": CORPORA["optionals"], "orders": ORDERS}
PLAIN |= {theme: CORPORA[theme] for theme in ("values", "spreads")}


class QueryAnswers:
    """What an engine answers to the texts of the corpora."""

    declined: ClassVar[Mapping[str, float]] = {}
    """Theme -> the greatest share of its texts that the engine declines; 0 for one not named.

    `plain-` before a theme is for the graph of plain values, ` as written` behind it for queries
    that were not optimized, where that is another share.
    """

    def check_declined(self, theme: str, answers: list[Answer]) -> None:
        """Assert that the engine declines no more than `declined` says."""
        allowed = self.declined.get(theme, 0.0)
        as_written = self.declined.get(f"{theme} as written", allowed)
        reasons = sorted({answer.declined for answer in answers if answer.declined})
        assert sum(a.declined is not None for a in answers) / len(answers) <= allowed, reasons
        declined_as_written = [a for a in answers if a.declined_as_written is not None]
        assert len(declined_as_written) / len(answers) <= as_written

    @pytest.mark.parametrize("theme", CORPORA)
    def test_engine_and_evaluator_answer_alike(self, theme: str, query_law: QueryLaw) -> None:
        """Over values that are easily mistyped."""
        lenient = theme in ("left-out", "composed")
        check = query_law.check
        found = [check(text, None, PARAMETERS, lenient=lenient) for text in CORPORA[theme]]
        self.check_declined(theme, found)

    def test_engine_and_evaluator_order_alike(self, query_law: QueryLaw) -> None:
        """The rows come in the same order."""
        found = [query_law.check(text, None, PARAMETERS, ordered=True) for text in ORDERS]
        self.check_declined("orders", found)

    @pytest.mark.parametrize("theme", PLAIN)
    def test_plain_values_are_answered_alike(self, theme: str, query_law: QueryLaw) -> None:
        """Much that odd values keep from an engine it answers over these."""
        plain, ordered = query_law.plain, theme == "orders"
        check = query_law.check
        found = [check(text, plain, PARAMETERS, ordered=ordered) for text in PLAIN[theme]]
        self.check_declined(f"plain-{theme}", found)

    def test_no_operand_is_left_out_with_its_error(self, query_law: QueryLaw) -> None:
        """Where the types or a null already decide, the other operand may still be an error."""
        sound: dict[str, Any] = {"s": "foo", "list": {"k": 1}, "x": 1}
        odd = {**sound, "s": 1, "x": None}
        twins = [("a", "dtmi:ex:Room;1", sound), ("b", "dtmi:ex:Room;1", odd)]
        with query_law.open(twins, [("a", "has", "b", {})]) as graph:
            for text in CORPORA["left-out"]:
                query_law.check(text, graph, PARAMETERS, lenient=True)

    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("MATCH (t) WHERE t.s OR true RETURN t", 13),
            ("MATCH (t) WHERE true OR t.s RETURN t", 13),
            ("MATCH (t) WHERE NOT (t.s AND false) RETURN t", 13),
            ("MATCH (t) WHERE 1 / 0 = 1 OR t.s IS NOT NULL RETURN t", 13),
            ("MATCH (t) WHERE t.x AND t.$dtId = 'd' RETURN t", 1),
            ("MATCH (t)-->(u) WHERE t.s AND u.$dtId = 'none' RETURN t", 0),
            ("MATCH (t) WITH t LIMIT 99 WHERE t.nope AND t.s RETURN t", 0),
            ("MATCH (t) WITH t LIMIT 99 WHERE t.s AND t.nope RETURN t", 0),
            ("MATCH (t) WITH t LIMIT 99 WHERE NOT (t.nope OR t.s) RETURN t", 0),
            ("MATCH (t) WHERE CASE WHEN t.nope AND t.s THEN false ELSE true END RETURN t", 13),
            ("MATCH (t) WHERE [x IN [t.s] WHERE t.nope AND x] = [] RETURN t", 13),
            ("MATCH (t) WHERE any(x IN [true, t.s] WHERE x) RETURN t", 13),
            ("MATCH (t) WHERE any(x IN [t.s] WHERE t.nope AND x) RETURN t", 0),
            ("MATCH (t) WHERE NOT all(x IN [t.s, false] WHERE x) RETURN t", 13),
            ("MATCH (t) WHERE NOT none(x IN [t.s, true] WHERE x) RETURN t", 13),
            ("MATCH (t) WHERE NOT single(x IN [true, t.s, true] WHERE x) RETURN t", 13),
        ],
    )
    def test_an_operand_that_decides_does_so_whatever_the_other_one_is(
        self, text: str, rows: int, query_law: QueryLaw
    ) -> None:
        """A value that is no boolean is no error beside it."""
        found = query_law.check(text)
        assert found.declined is not None or len(found.rows) == rows
        query = parse_query(text).query
        for each in (query, optimize(query)):
            assert len(list(evaluate(each, query_law.odd.reference, {}))) == rows

    @pytest.mark.parametrize(
        "text",
        [
            "MATCH (t) WHERE t.s OR false RETURN t",
            "MATCH (t) WHERE t.s AND true RETURN t",
            "MATCH (t) WHERE t.nope OR t.s RETURN t",
            "MATCH (t) WHERE NOT (t.nope AND t.s) RETURN t",
            "MATCH (t) RETURN t.nope AND t.s AS v",
            "MATCH (t) WHERE (t.nope AND t.s) IS NULL RETURN t",
            "MATCH (t) WHERE all(x IN [true, t.s] WHERE x) RETURN t",
            "MATCH (t) WHERE single(x IN [true, t.s] WHERE x) RETURN t",
            "MATCH (t) RETURN CASE WHEN t.s THEN 1 END",
            "MATCH (t) RETURN t.s XOR null AS v",
            "MATCH (t) WHERE NOT (null XOR t.s) RETURN t",
            "MATCH (t) RETURN (CASE WHEN false THEN t.flag END) XOR t.s AS v",
            "MATCH (t)-->(u) WHERE t.s AND u.s > '' RETURN t",
        ],
    )
    def test_a_value_that_is_no_boolean_is_an_error_where_nothing_else_decides(
        self, text: str, query_law: QueryLaw
    ) -> None:
        """The evaluator raises it; the engine declines."""
        query, graph = parse_query(text).query, query_law.odd
        with pytest.raises(QueryInvalid, match="takes a Boolean, not String"):
            list(evaluate(query, graph.reference, {}))
        with pytest.raises(CannotRun):
            list(query_law.engine.compile(query, {}).run_rows(graph.session, {}))

    @pytest.mark.parametrize("test", ["m:Nope", "is_of_model(m, 'dtmi:nope;1')", "m:`dtmi:nope;1`"])
    def test_a_node_that_is_not_there_has_no_label_and_lacks_none(
        self, test: str, query_law: QueryLaw
    ) -> None:
        """A label test of null is null."""
        absent = "MATCH (t) OPTIONAL MATCH (t)-[:nope]->(m) WITH m WHERE"
        for condition, rows in ((test, 0), (f"NOT {test}", 0), (f"({test}) IS NULL", 13)):
            found = query_law.check(f"{absent} {condition} RETURN 1 AS x")
            assert found.declined is not None or len(found.rows) == rows

    @pytest.mark.parametrize(
        "inner", ["(m:Nope)", "(m:!Nope)", "(m {x: 1})", "(m)-[*1..2]->(:Room)"]
    )
    def test_a_pattern_at_null_matches_nothing(self, inner: str, query_law: QueryLaw) -> None:
        """As a node that is null has no relationships."""
        assert not query_law.check(f"MATCH (t) WITH null AS m MATCH {inner} RETURN 1 AS x").rows

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("count(m.x = 1)", 5),
            ("count(m:Room)", 6),
            ("avg(CASE WHEN m:Room THEN 1.5 END)", 1.5),
            ("max(CASE WHEN m:Room THEN 'a' END)", "a"),
        ],
    )
    def test_an_aggregate_of_an_expression_leaves_out_the_rows_where_it_is_null(
        self, value: str, expected: object, query_law: QueryLaw
    ) -> None:
        """Also where the expression is a comparison or a label test."""
        found = query_law.check(f"MATCH (t) OPTIONAL MATCH (t)-[:has]->(m) RETURN {value} AS v")
        bodies = (("map", ("v", (type(expected).__name__, expected))),)
        assert found.declined is not None or found.bodies == bodies

    @pytest.mark.parametrize("value", [1.50, 1e300, "a\0b", 'ü"\\', True, None, 2**53 + 1, 10.0])
    def test_a_key_of_a_group_is_the_value_as_it_was_stored(
        self, value: object, query_law: QueryLaw
    ) -> None:
        """Its type and every digit."""
        with query_law.open([("a", "dtmi:ex:Room;1", {"v": value})]) as graph:
            found = query_law.check("MATCH (t) RETURN t.v AS v, count(*) AS n", graph)
        assert found.declined is not None or len(found.rows) == 1

    def test_equal_numbers_of_two_types_are_one_group(self, query_law: QueryLaw) -> None:
        """1 and 1.0 are, "1" and true are not of it."""
        values = (1, 1.0, "1", True)
        twins = [(f"t{at}", "dtmi:ex:Room;1", {"v": v}) for at, v in enumerate(values)]
        query = parse_query("MATCH (t) RETURN t.v AS v, count(*) AS n").query
        with query_law.open(twins) as graph:
            try:
                rows = list(query_law.engine.compile(query, {}).run_rows(graph.session, {}))
            except CannotRun:
                return
        assert sorted(repr(row[1]) for row in rows) == ["1", "1", "2"]

    def test_a_count_in_an_empty_graph_is_one_row_of_nothing(self, query_law: QueryLaw) -> None:
        """Grouped counts have no row."""
        with query_law.open([]) as empty:
            found = query_law.check("MATCH (t:Room) RETURN count(*) AS n", empty)
            assert found.declined is not None or found.rows == (("list", ("int", 0)),)
            text = "MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS n"
            assert not query_law.check(text, empty).rows
