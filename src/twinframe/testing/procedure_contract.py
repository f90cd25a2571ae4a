"""The contract of procedures, as tests to inherit.

A plugin's test file has a class `TestMyProcedure(ProcedureContract)` with the method
`build_procedure`, statements in `setup` and statements that call it in `calls`. They run on an open
graph in memory, whose nodes need no models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Final

import pytest

from twinframe.errors import QueryInvalid
from twinframe.graph.graph import Graph
from twinframe.graph.statements.statements import StatementResult
from twinframe.hooks.procedures import Procedure, find_fault
from twinframe.model.rendering import build_json
from twinframe.settings import GraphSettings, Settings, StorageSettings
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner

_STATE: Final = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN n, r, m ORDER BY n.`$dtId`, r, m"


class ProcedureContract:
    """What each procedure keeps to."""

    setup: ClassVar[Sequence[str]] = ()
    """Statements that make the graph before each test."""
    calls: ClassVar[Sequence[str]] = ()
    """Statements that call the procedure, each of which gives one row or more."""

    def build_procedure(self) -> Procedure:
        """Return the procedure."""
        raise NotImplementedError

    def run(self, *texts: str, rehearse: bool = False) -> list[StatementResult]:
        """Run statements after those of `setup`, on one graph; `rehearse` keeps none of them."""
        return asyncio.run(self._run(texts, rehearse=rehearse))

    async def _run(self, texts: Sequence[str], *, rehearse: bool) -> list[StatementResult]:
        store = MemoryStore()
        store.open()
        runner = StoreRunner(store, StorageSettings())
        settings = Settings(graph=GraphSettings(open_=True))
        graph = Graph(runner, settings, procedures=[self.build_procedure()])
        statements = graph.statements
        try:
            for text in self.setup:
                await statements.run(statements.prepare(text, {}))
            return [
                await statements.run(statements.prepare(text, {}), rehearse=rehearse)
                for text in texts
            ]
        finally:
            await runner.close()
            store.close()

    def test_its_declaration_is_taken(self) -> None:
        procedure = self.build_procedure()
        assert find_fault(procedure) == ""
        assert procedure.description, "dbms.procedures() shows the description"

    def test_calls_give_rows_of_the_declared_types(self) -> None:
        assert self.calls, "name statements in `calls`"
        for text in self.calls:
            (found,) = self.run(text)
            assert found.rows, f"no row: {text}"

    def test_a_call_that_is_repeated_does_the_same(self) -> None:
        """A transaction that is repeated calls the procedure again."""
        for text in self.calls:
            one, other = self.run(text, text, rehearse=True)
            assert (one.counters, len(one.rows)) == (other.counters, len(other.rows))

    def test_a_rehearsed_call_leaves_the_graph_as_it_was(self) -> None:
        for text in self.calls:
            before, _, after = self.run(_STATE, text, _STATE, rehearse=True)
            assert read_rows(before) == read_rows(after)

    def test_a_procedure_that_declares_no_write_changes_nothing(self) -> None:
        if self.build_procedure().writes:
            pytest.skip("it declares that it writes")
        for text in self.calls:
            before, _, after = self.run(_STATE, text, _STATE)
            assert read_rows(before) == read_rows(after)

    def test_null_is_refused_where_an_argument_needs_a_value(self) -> None:
        procedure = self.build_procedure()
        needed = [kind for _, kind in procedure.arguments if kind != "ANY" and kind[-1] != "?"]
        if not needed:
            pytest.skip("each argument may be null")
        nulls = ", ".join("null" for _ in procedure.arguments)
        yields = ", ".join(name for name, _ in procedure.results)
        text = f"CALL {procedure.name}({nulls})" + (f" YIELD {yields}" if yields else "")
        with pytest.raises(QueryInvalid, match="cannot be"):
            self.run(f"{text} RETURN *" if yields else text)


def read_rows(found: StatementResult) -> list[list[object]]:
    """Return rows as JSON."""
    return [[build_json(one) for one in row] for row in found.rows]
