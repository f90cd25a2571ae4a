"""Runs the steps of a statement on a transaction: one method a step.

Reading steps run by the store's own engine where nothing precedes them, else by the evaluator over
the transaction. The rows of a step are all there before the next one begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_equivalence_key, name_type
from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.evaluate.expressions import compile_test
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.evaluate.run import Row
from twinframe.query.spans import Span
from twinframe.query.writing import steps as st
from twinframe.query.writing.calls import CallGraph, run_procedure
from twinframe.query.writing.clauses import ClauseRun
from twinframe.query.writing.entities import copy_value, is_deleted
from twinframe.query.writing.merging import merge
from twinframe.query.writing.needed import find_needed
from twinframe.query.writing.surroundings import START, Table, build_status


class StatementRun(ClauseRun):
    """One run of a statement, in one transaction."""

    __slots__ = ()

    def run(self, statement: st.Statement, outer: Table | None = None) -> Table:
        """Run all parts; return the rows of its columns. `outer` are rows of an enclosing one.

        Errors: QueryInvalid, LimitExceeded, QueryTimeout, and those of the writer.
        """
        rows: list[Row] = []
        for part in statement.parts:
            table = outer or Table((), list(START))
            found = self.run_steps(part, table, statement.columns)
            if statement.columns:
                slots = [found.names.index(name) for name in statement.columns]
                rows += [tuple([row[slot] for slot in slots]) for row in found.rows]
        if len(statement.parts) > 1 and not statement.all:
            rows = _keep_distinct(rows)
        return Table(statement.columns, rows)

    def run_steps(self, part: Sequence[st.Step], table: Table, columns: Sequence[str]) -> Table:
        """Run some steps in order; `columns` are what is needed after them."""
        for at, step in enumerate(part):
            self.context.budget.check_interrupt()
            needed = find_needed(part[at + 1 :], columns)
            table = self._take(step, table, needed)
        return table

    def _take(self, step: st.Step, table: Table, needed: frozenset[str]) -> Table:
        match step:
            case st.Read():
                return self._read(step, table, needed)
            case st.Create():
                return self._create(step, table, needed)
            case st.Merge():
                return merge(self, step, table)
            case st.Set(items=items):
                setting = [self.compile_item(item, table.names) for item in items]
                for row in table.rows:
                    for apply in setting:
                        apply(row)
                self.flush()
                return table
            case st.Delete():
                return self._delete(step, table)
            case st.Call():
                return self._call(step, table)
            case st.CallStatement():
                return self._call_statement(step, table)
            case _:
                assert_never(step)

    def renew(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows of another transaction with their entities as they are now.

        What is gone meanwhile is as if the statement had deleted it.
        """
        entities = self.entities
        adopted = [tuple([copy_value(one) for one in row]) for row in rows]
        adopted = entities.adopt_rows(adopted)
        reader = self.around.reader
        entities.renew(reader)
        return adopted

    # --- DELETE

    def _delete(self, step: st.Delete, table: Table) -> Table:
        nodes: dict[str, Span | None] = {}
        crossings: dict[tuple[str, str], None] = {}
        for expression in step.expressions:
            evaluate = self.compile(expression, table.names)
            for row in table.rows:
                found = evaluate(row, self.context)
                self._collect_deleted(found, expression.span, nodes, crossings)
        self._delete_all(nodes, crossings, detach=step.detach)
        return table

    def delete(self, entities: Sequence[Node | Relationship], *, detach: bool) -> None:
        """Delete nodes and relationships."""
        nodes: dict[str, Span | None] = {}
        crossings: dict[tuple[str, str], None] = {}
        for entity in entities:
            self._collect_deleted(self.entities.adopt(entity), None, nodes, crossings)
        self._delete_all(nodes, crossings, detach=detach)

    def _delete_all(
        self,
        nodes: Mapping[str, Span | None],
        crossings: Mapping[tuple[str, str], None],
        *,
        detach: bool,
    ) -> None:
        writer, counters = self._writer, self.counters
        for key in crossings:
            self._count_write()
            writer.delete_relationship(*key)
            counters.relationships_deleted += 1
        self.entities.forget_relationships([*crossings])
        for node_id, span in nodes.items():
            self._count_write()
            gone = writer.delete_node(node_id, detach=detach)
            if gone is None:
                error = QueryInvalid(
                    f"The node {node_id} has relationships. Delete them too, with DETACH DELETE.",
                    kind="ConstraintVerificationFailed",
                    detail="DeleteConnectedNode",
                    phase="runtime",
                )
                raise note_span(error, span)
            counters.nodes_deleted += 1
            counters.relationships_deleted += len(gone)
            self.entities.forget_relationships(gone)
        self.entities.forget_nodes([*nodes])

    def _collect_deleted(
        self,
        value: Value,
        span: Span | None,
        nodes: dict[str, Span | None],
        crossings: dict[tuple[str, str], None],
    ) -> None:
        if value is None:
            return
        if isinstance(value, Path):
            for node in value.nodes:
                self._collect_deleted(node, span, nodes, crossings)
            for crossed in value.relationships:
                self._collect_deleted(crossed, span, nodes, crossings)
        elif isinstance(value, Node):
            if not is_deleted(value):
                nodes.setdefault(value.id, span)
        elif isinstance(value, Relationship):
            if not is_deleted(value):
                crossings[value.source, value.id] = None
        else:
            error = build_type_error(
                f"DELETE takes Nodes, Relationships and Paths, not {name_type(value)}."
            )
            raise note_span(error, span)

    # --- CALL

    def _call(self, step: st.Call, table: Table) -> Table:
        arguments = [self.compile(one, table.names) for one in step.arguments]
        names = (*table.names, *(name for _, name in step.results))
        procedure = step.procedure
        graph = CallGraph(self.around.reader, self, procedure)
        rows: list[Row] = []
        for row in table.rows:
            given = [one(row, self.context) for one in arguments]
            found = run_procedure(procedure, graph, given, step.span)
            if not procedure.results:
                rows.append(row)
                list(found)
                continue
            for made in found:
                self.context.budget.tick()
                rows.append((*row, *[made[at] for at, _ in step.results]))
        if procedure.writes:
            self.look_at_models()
        if step.predicate is not None:
            scope = self._build_scope(names, step.predicate)
            holds = compile_test(step.predicate, scope, "WHERE")
            rows = [row for row in rows if holds(row, self.context)]
        return Table(names, self.keep(self.entities.adopt_rows(rows)))

    def _call_statement(self, step: st.CallStatement, table: Table) -> Table:
        if step.in_transactions and not self.around.joins_transactions:
            error = QueryInvalid(
                "CALL { ... } IN TRANSACTIONS runs in an implicit transaction alone: on its own, "
                "not within an explicit transaction or another subquery.",
                kind="SemanticError",
                detail="TransactionNotPossible",
                phase="runtime",
            )
            raise note_span(error, step.span)
        found = self.call_rows(step, table)
        return found if step.status is None else found.extend(step.status, build_status(1))

    def call_rows(self, step: st.CallStatement, table: Table) -> Table:
        """Run a subquery for each row of a table."""
        slots = [table.names.index(name) for name in step.outer]
        added = step.statement.columns
        rows: list[Row] = []
        for row in table.rows:
            self.context.budget.tick()
            outer = Table(step.outer, [tuple([row[slot] for slot in slots])])
            found = self.run(step.statement, outer)
            rows += [(*row, *one) for one in found.rows] if added else [row]
        return Table((*table.names, *added), rows)


def _keep_distinct(rows: Iterable[Row]) -> list[Row]:
    seen: dict[object, Row] = {}
    for row in rows:
        seen.setdefault(tuple(map(build_equivalence_key, row)), row)
    return [*seen.values()]
