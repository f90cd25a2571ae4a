"""Tests of what a compiled query gives beside the right rows: bytes, pages, other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given

from twinframe.errors import QueryInvalid
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import Literal, Project, Query, ResultShape, Unit
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.testing.contracts.query_generated import generated
from twinframe.testing.query_law import LawGraph, QueryLaw

NO_VALUES: Mapping[str, Value] = {}
SCANS = (
    "MATCH (t) RETURN t.$dtId AS i",
    "MATCH (t:Space) WHERE t.s > '' RETURN t.$dtId AS i",
    "MATCH (t:Room|Sensor) RETURN t",
    "MATCH (t) RETURN t, t.s AS s, t.s = 'foo' AS f",
    "MATCH (a)-[r]->(b) RETURN r",
    "MATCH (a:Room)-[r:has]->(b) WHERE b.s > '' RETURN a.s AS a, b.s AS b",
)
"""Queries whose rows may have keys, so that a page starts after the last one."""
ORDERED = (
    "MATCH (t) RETURN t.$dtId AS i ORDER BY i",
    "MATCH (t) RETURN t.$dtId AS i ORDER BY i DESC SKIP 2 LIMIT 9",
    "MATCH (t) WITH t ORDER BY t.$dtId LIMIT 10 RETURN t.$dtId AS i ORDER BY i SKIP 1",
    "MATCH (t) RETURN DISTINCT t.$metadata.$model AS m ORDER BY m LIMIT 100",
    "MATCH (a)-[*1..3]->(b) RETURN a.$dtId AS a, b.$dtId AS b ORDER BY a, b",
)
NO_SCANS = (
    "MATCH (t) RETURN t LIMIT 5",
    "MATCH (a)-[r]-(b) RETURN r",
    "MATCH (a)-[r]->(b)-[q]->(c) RETURN r",
    "MATCH (a), (b) RETURN a",
    "MATCH (a)-[*..2]->(b) RETURN b",
    "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN b",
    "MATCH (a) WITH DISTINCT a.s AS s RETURN s",
    "MATCH (a) UNWIND [1, 2] AS x RETURN a",
    "MATCH (a) RETURN count(*) AS n",
    "MATCH (a) WITH a LIMIT 3 MATCH (b) RETURN b",
)
"""Queries whose rows are not the rows of one scan: no key tells where a page ended."""
SPELLINGS = st.text(max_size=12) | st.sampled_from(
    [
        '"',
        "'",
        "\\",
        "\\u0022",
        '" } #',
        "'; --",
        "$v0_",
        ":c1",
        "?x",
        "?",
        "\n",
        "\0after",
        "\0page",
    ]
)


class CompiledQueries:
    """What an engine's compiled queries promise to a service."""

    declined_characters: ClassVar[str] = ""
    """Characters with which a run may decline a value, because its store cannot tell them apart."""

    def compile(
        self,
        law: QueryLaw,
        text: str,
        parameters: Mapping[str, Value] = NO_VALUES,
        **changes: Any,
    ) -> CompiledQuery:
        """Compile the text, optimized; skip the test where the engine declines it.

        `changes` are other traits of the query.
        """
        query = replace(optimize(parse_query(text, parameters=tuple(parameters)).query), **changes)
        return self.compile_query(law, query, parameters)

    def compile_query(
        self, law: QueryLaw, query: Query, parameters: Mapping[str, Value] = NO_VALUES
    ) -> CompiledQuery:
        """Compile the query; skip the test where the engine declines it."""
        try:
            return law.engine.compile(query, parameters)
        except CannotRun as declined:
            pytest.skip(f"the engine declines it: {declined.message}")

    def read(
        self,
        compiled: CompiledQuery,
        graph: LawGraph,
        parameters: Mapping[str, Value] = NO_VALUES,
        **page: Any,
    ) -> list[JsonRow]:
        """The rows of a page with their keys."""
        return list(compiled.run_json(graph.session, parameters, **page))

    def read_bodies(self, *arguments: Any, **page: Any) -> list[bytes]:
        """The JSON of the rows."""
        return [body for body, _ in self.read(*arguments, **page)]

    # --- bodies -------------------------------------------------------------------------------

    def test_documents_leave_as_the_bytes_they_were_stored_with(self, query_law: QueryLaw) -> None:
        """Whole documents, alone and in a column."""
        contents = {"x": 1.10, "s": 'é\n"', "big": 2**63 - 1}
        with query_law.open([("a", "dtmi:ex:Room;1", contents)]) as graph:
            stored = graph.session.read_twin("a")
            assert stored is not None
            for shape, expected in (
                (ResultShape.OBJECT, b'{"t":' + stored.body + b"}"),
                (ResultShape.DOCUMENT, stored.body),
            ):
                compiled = self.compile(query_law, "MATCH (t) RETURN t", shape=shape)
                assert self.read_bodies(compiled, graph) == [expected]

    def test_null_columns_are_left_out_where_the_language_says_so(
        self, query_law: QueryLaw
    ) -> None:
        """As in the vendor's language."""
        text = "MATCH (t:Sensor) RETURN t.$dtId AS i, t.flag AS flag, t.nope AS nope ORDER BY i"
        compiled = self.compile(query_law, text, omit_null=True)
        bodies = self.read_bodies(compiled, query_law.odd)
        assert bodies == [b'{"i":"f","flag":true}', b'{"i":"h"}']
        compiled = self.compile(query_law, "MATCH (t:Sensor) RETURN t.no AS n", omit_null=True)
        assert self.read_bodies(compiled, query_law.odd) == [b"{}", b"{}"]

    def test_a_document_of_something_else_is_declined(self, query_law: QueryLaw) -> None:
        """A member is no document."""
        query = parse_query("MATCH (t) RETURN t.x AS x").query
        with pytest.raises(CannotRun):
            query_law.engine.compile(replace(query, shape=ResultShape.DOCUMENT), {})

    @pytest.mark.parametrize("name", ['it\'s \\ "é" ?x }', "$v0_ :c1 ? --", "a\0b"])
    def test_column_names_are_json_strings(self, name: str, query_law: QueryLaw) -> None:
        """Whatever characters they have."""
        query = Query(Project(Unit(), ((name, Literal(1)),)), (name,))
        compiled = self.compile_query(query_law, query)
        bodies = self.read_bodies(compiled, query_law.odd)
        assert [orjson.loads(body) for body in bodies] == [{name: 1}]

    def test_rows_are_values_of_the_language(self, query_law: QueryLaw) -> None:
        """Nodes with their labels, relationships with their ends."""
        text = "MATCH (a {$dtId: 'a'})-[r:has {w: 1}]->(b) RETURN b, r, b.m AS m, true AS t"
        compiled = self.compile(query_law, text)
        ((b, r, m, t),) = compiled.run_rows(query_law.odd.session, {})
        assert isinstance(b, Node)
        assert b.labels == {"Twin", "Room", "Space", "dtmi:ex:Room;1", "dtmi:ex:Space;1"}
        assert all(type(label) is str for label in b.labels)
        assert isinstance(r, Relationship)
        assert (r.source, r.id, r.target, r.type, r.document["w"]) == ("a", "r1", "b", "has", 1)
        assert m == {"k": 5, "deep": {"er": "x"}}
        assert t is True

    # --- pages --------------------------------------------------------------------------------

    @pytest.mark.parametrize("text", SCANS)
    def test_pages_of_a_scan_are_the_scan(self, text: str, query_law: QueryLaw) -> None:
        """Each starts after the key of the last row, if there are keys, else behind so many."""
        compiled, graph = self.compile(query_law, text), query_law.odd
        everything = self.read(compiled, graph)
        assert len(everything) > 1
        found: list[JsonRow] = []
        start: dict[str, Any] = {}
        while page := self.read(compiled, graph, limit=2, **start):
            assert len(page) <= 2
            found += page
            start = {"after": page[-1][1]} if compiled.resumable else {"skip": len(found)}
        assert sorted(found, key=repr) == sorted(everything, key=repr)
        if compiled.resumable:
            assert found == everything
            assert len({key for _, key in found} - {None}) == len(found)
            # NOTE: for a page with room for all rows, an engine may choose another scan.
            assert self.read(compiled, graph, limit=1000) == everything
            assert self.read(compiled, graph, skip=1, limit=1000) == everything[1:]

    @pytest.mark.parametrize("text", ORDERED)
    @pytest.mark.parametrize(
        ("skip", "limit"), [(0, None), (0, 3), (2, 3), (4, None), (50, 3), (8, 3)]
    )
    def test_pages_of_other_results_lie_within_those_of_the_query(
        self, text: str, skip: int, limit: int | None, query_law: QueryLaw
    ) -> None:
        """A page of an ordered result is that part of it."""
        compiled = self.compile(query_law, text)
        assert not compiled.resumable
        everything = self.read_bodies(compiled, query_law.odd)
        assert everything
        end = None if limit is None else skip + limit
        found = self.read_bodies(compiled, query_law.odd, skip=skip, limit=limit)
        assert found == everything[skip:end]

    @pytest.mark.parametrize("text", NO_SCANS)
    def test_a_result_that_is_no_scan_does_not_resume(self, text: str, query_law: QueryLaw) -> None:
        """No key tells where a page ended."""
        assert not self.compile(query_law, text).resumable

    def test_the_pages_of_a_query_and_those_asked_for_meet(self, query_law: QueryLaw) -> None:
        """SKIP and LIMIT may be parameters; a negative one is declined."""
        text = "MATCH (t) RETURN t.$dtId AS i ORDER BY t.x SKIP $a LIMIT $b"
        compiled, graph = self.compile(query_law, text, {"a": 1, "b": 4}), query_law.plain
        everything = self.read_bodies(compiled, graph, {"a": 0, "b": 100})
        assert len(everything) == 6
        for a, b, skip, limit in (
            (1, 4, 0, None),
            (1, 4, 1, 2),
            (0, 3, 2, 5),
            (9, 9, 0, 1),
            (1, 0, 0, 5),
        ):
            end = None if limit is None else skip + limit
            found = self.read_bodies(compiled, graph, {"a": a, "b": b}, skip=skip, limit=limit)
            assert found == everything[a : a + b][skip:end]
        for own in ({"a": -1, "b": 2}, {"a": 1, "b": -2}):
            with pytest.raises(CannotRun):
                self.read(compiled, graph, own)

    # --- values -------------------------------------------------------------------------------

    def test_a_compiled_query_runs_again_with_other_values(self, query_law: QueryLaw) -> None:
        """Of the same types."""
        text = "MATCH (t {$dtId: $id}) WHERE t.s STARTS WITH $s RETURN t.$dtId AS i"
        compiled = self.compile(query_law, text, {"id": "a", "s": "f"})
        for twin, prefix, count in (("a", "fo", 1), ("a", "x", 0), ("e", "f\0é", 1), ("a", "", 1)):
            rows = compiled.run_rows(query_law.odd.session, {"id": twin, "s": prefix})
            assert len(list(rows)) == count

    def test_a_missing_parameter_is_an_error_of_the_caller(self, query_law: QueryLaw) -> None:
        """It names the parameter."""
        query = parse_query("RETURN $x AS x", parameters=("x",)).query
        with pytest.raises(QueryInvalid, match=r"\$x"):
            self.compile_query(query_law, query)

    @generated(100)
    @given(value=SPELLINGS)
    def test_no_value_leaves_its_literal(self, query_law: QueryLaw, value: str) -> None:
        """A string is data, in a parameter and in the text, whatever characters it has."""
        text = (
            "MATCH (t {$dtId: 'a'}) WHERE t.s <> $v AND t.s <> $w"
            " RETURN $v AS v, $w AS w, $n AS n, '$v0_ :c1' AS o"
        )
        given_values: dict[str, Value] = {"v": value, "w": f'"{value}\\', "n": 7}
        compiled = self.compile(query_law, text, given_values)
        try:
            rows = list(compiled.run_rows(query_law.odd.session, given_values))
        except CannotRun:
            assert set(value) & set(self.declined_characters)
            return
        assert rows == [(value, f'"{value}\\', 7, "$v0_ :c1")]

    @generated(100)
    @given(name=SPELLINGS.filter(bool))
    def test_no_name_leaves_its_place(self, query_law: QueryLaw, name: str) -> None:
        """A name is a name, of a label, a relationship or a member."""
        quoted = "`" + name.replace("`", "``") + "`"
        text = f"MATCH (t)-[r:{quoted}]->(u:{quoted}) WHERE t.{quoted} = 'a' RETURN t.$dtId AS i"
        try:
            query = optimize(parse_query(text).query)
            compiled = query_law.engine.compile(query, {})
        except (QueryInvalid, CannotRun):
            return
        assert self.read(compiled, query_law.odd) == []
