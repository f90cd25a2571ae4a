"""Reads, creates and changes nodes and relationships for the clauses of a statement.

Where nothing precedes a clause that reads, the store's own engine runs it, else the evaluator over
the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinframe.errors import LimitExceeded
from twinframe.model.comparison import name_type
from twinframe.model.values import Node, Path, Relationship, Value, parameter_signature
from twinframe.query import algebra as al
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.analysis import find_mentioned, find_scope
from twinframe.query.evaluate.engine import compile_query
from twinframe.query.evaluate.expressions import compile_expression
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.evaluate.operators import Leaf, build_scope
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.evaluate.scope import Scope
from twinframe.query.plan.execution import Execution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.query.traversal import walk
from twinframe.query.writing import steps as st
from twinframe.query.writing.entities import Entities, require_node
from twinframe.query.writing.needed import find_read_within
from twinframe.query.writing.port import REMOVED, GraphWriter
from twinframe.query.writing.surroundings import Counters, Surroundings, Table

_EVALUATOR: Final = "evaluator"
_READING: Final = frozenset({al.Match, al.Subplan})
_MOST_PLANS: Final = 32


@dataclass(slots=True)
class ClauseRun:
    """What the clauses of one run of a statement share; `StatementRun` runs them."""

    around: Surroundings
    counters: Counters = field(default_factory=Counters)
    entities: Entities = field(default_factory=Entities)
    written: int = 0
    context: Run = field(init=False)
    _version: int = field(init=False, default=-1)
    _signature: frozenset[tuple[str, str]] = field(init=False)
    _engines: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        around = self.around
        self._signature = parameter_signature(around.parameters)
        self.context = Run(around.reader, around.parameters, around.limits)
        self.look_at_models()

    @property
    def _writer(self) -> GraphWriter:
        writer = self.around.writer
        assert writer is not None  # noqa: S101  # a step that writes makes the statement one
        return writer

    @property
    def engine(self) -> str:
        """The engines that read until now, joined by `+`."""
        return "+".join(sorted(self._engines, key=lambda one: (one == _EVALUATOR, one)))

    def close(self) -> None:
        """Give the memory of the run back."""
        self.context.budget.close()

    # --- reading

    def _read(self, step: st.Read, table: Table, needed: frozenset[str]) -> Table:
        scope = find_scope(step.root)
        columns = tuple(name for name in scope if name in needed) or scope[:1]
        query = al.Query(step.root, columns)
        around = self.around
        if step.leaf is None:
            rows = self.run_planned(step, query, columns, {}, self.keep)
        else:
            given = Leaf(step.leaf, table.names, lambda run: iter(table.rows))
            plan = compile_query(query, [given], self.context.typing)
            rows = self.keep(plan.run(around.reader, around.parameters, around.limits))
        return Table(columns, self.entities.adopt_rows(rows))

    def run_planned(
        self,
        step: st.Step,
        query: al.Query,
        columns: tuple[str, ...],
        given: Mapping[str, Value],
        take: Callable[[Iterable[Row]], list[Row]],
    ) -> list[Row]:
        """Run a query of a step by the plan that runs of the step have left, or leave one.

        `given` are parameters besides those of the statement.
        """
        around, typing = self.around, self.context.typing
        engine = self._choose_engine(query) if columns else None
        parameters = {**around.parameters, **given}
        signature = self._signature, parameter_signature(given)
        key = id(step), columns, self._version, signature, engine
        execution = around.plans.get(key)
        if execution is None:
            execution = self._plan(key, split(optimize(query), engine, parameters, typing))
        try:
            return take(execution.run_rows(around.reader, parameters, around.limits))
        except CannotRun:
            execution = self._plan(key, split(execution.query, None, parameters, typing))
            return take(execution.run_rows(around.reader, parameters, around.limits))
        finally:
            self._engines.update(part.engine for part in execution.parts)
            if not execution.is_whole:
                self._engines.add(_EVALUATOR)

    def _choose_engine(self, query: al.Query) -> QueryEngine | None:
        """Return the store's engine where it sees what is written, and reads by its indexes."""
        engine = self.around.engine
        if engine is None or not self.around.reader.is_for_engines:
            return None
        kinds = {type(term) for term in walk(query.root)}
        if kinds.isdisjoint(_READING):
            return None  # PERF: rows of a parameter come as they are, not through the store
        return engine

    def _plan(self, key: Hashable, execution: Execution) -> Execution:
        plans = self.around.plans
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        plans[key] = execution
        return execution

    def keep(self, rows: Iterable[Row]) -> list[Row]:
        """Hold all rows, within the limits of the statement."""
        budget = self.context.budget
        held, kept = budget.open(), []
        for row in rows:
            budget.tick()
            held.add_row(row)
            kept.append(row)
        return kept

    def look_at_models(self) -> None:
        """Read members as the models of the moment declare them."""
        version, typing = self.around.open_typing()
        if version != self._version:
            self._version, self.context.typing = version, typing

    def _build_scope(self, names: tuple[str, ...], *expressions: al.Expression) -> Scope:
        items = tuple((str(at), one) for at, one in enumerate(expressions))
        mentioned = find_mentioned(al.Project(al.Argument(names), items), ())
        return build_scope(names, mentioned, self.context.typing)

    def compile(self, expression: al.Expression, names: tuple[str, ...]) -> Evaluate:
        """Compile an expression over rows of these names."""
        return compile_expression(expression, self._build_scope(names, expression))

    # --- CREATE

    def _create(self, step: st.Create, table: Table, needed: frozenset[str]) -> Table:
        make, names = self.compile_create(step, table.names, needed)
        rows: list[Row] = []
        for row in table.rows:
            self.context.budget.tick()
            rows.append(make(row))
        self.look_at_models()
        return Table(names, rows)

    def compile_create(
        self, step: st.Create, names: tuple[str, ...], needed: frozenset[str] | None = None
    ) -> tuple[Callable[[Row], Row], tuple[str, ...]]:
        """Return what creates for a row and extends it, and the names of the rows that it gives.

        PERF: nodes that nothing reads, as `needed` says, are not read back: a tenth of it.
        """
        known = names
        makers: list[Callable[[Row], Value]] = []
        read = None if needed is None else needed | find_read_within(step)
        for element in step.elements:
            is_read = read is None or element.variable in read
            makers.append(self._compile_element(element, known, is_read=is_read))
            known = (*known, element.variable)
        paths = [self._compile_path(path, known) for path in step.paths]
        added = [path.variable for path in step.paths if path.variable is not None]

        def make(row: Row) -> Row:
            for maker in makers:
                row = (*row, maker(row))
            return (*row, *[build(row) for build in paths]) if paths else row

        return make, (*known, *added)

    def _compile_element(
        self,
        element: st.NewNode | st.NewRelationship,
        names: tuple[str, ...],
        *,
        is_read: bool,
    ) -> Callable[[Row], Value]:
        build = self._compile_map(element.properties, names)
        if isinstance(element, st.NewNode):
            labels = element.labels

            return lambda row: self.create_node(labels, build(row), is_read=is_read)
        kind, span = element.type, element.span
        source, target = names.index(element.source), names.index(element.target)

        def make_relationship(row: Row) -> Value:
            properties = build(row)
            ends = (
                require_node(row[source], element.source, span),
                require_node(row[target], element.target, span),
            )
            return self.create_relationship(*ends, kind, properties)

        return make_relationship

    def create_node(
        self, labels: tuple[str, ...], properties: Mapping[str, Value], *, is_read: bool
    ) -> Node:
        """Create a node; without `is_read` only its id counts."""
        self._count_write()
        node = self._writer.create_node(labels, properties, is_read=is_read)
        counters = self.counters
        counters.nodes_created += 1
        counters.labels_added += len(set(labels))
        counters.properties_set += _count_set(properties)
        return self.entities.adopt_node(node) if is_read else node

    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship."""
        self._count_write()
        made = self._writer.create_relationship(source, target, kind, properties)
        self.counters.relationships_created += 1
        self.counters.properties_set += _count_set(properties)
        return self.entities.adopt_relationship(made)

    def _compile_path(self, path: al.PathPattern, names: tuple[str, ...]) -> Callable[[Row], Value]:
        slots = [names.index(name) for name in path.elements]
        return lambda row: _build_path([row[slot] for slot in slots])

    def _compile_map(
        self, expression: al.Expression | None, names: tuple[str, ...]
    ) -> Callable[[Row], Mapping[str, Value]]:
        if expression is None:
            return lambda row: {}
        evaluate, run, span = self.compile(expression, names), self.context, expression.span

        def build(row: Row) -> Mapping[str, Value]:
            found = evaluate(row, run)
            if isinstance(found, dict):
                return found
            error = build_type_error(
                f"The properties of what is created are a Map, not {name_type(found)}."
            )
            raise note_span(error, span)

        return build

    # --- SET and REMOVE

    def compile_item(self, item: st.SetItem, names: tuple[str, ...]) -> Callable[[Row], None]:
        """Return what applies an item to a row; `flush` writes it."""
        subject = self.compile(item.subject, names)
        run, entities, counters = self.context, self.entities, self.counters

        def find(row: Row) -> Node | Relationship | None:
            found = subject(row, run)
            if found is None or isinstance(found, Node | Relationship):
                return found
            error = build_type_error(
                f"SET and REMOVE change a Node or Relationship, not {name_type(found)}."
            )
            raise note_span(error, item.span)

        if isinstance(item, st.SetLabels):
            labels, removes = item.labels, item.removes

            def set_labels(row: Row) -> None:
                found = find(row)
                if isinstance(found, Relationship):
                    error = build_type_error("Only a Node has labels, not a Relationship.")
                    raise note_span(error, item.span)
                if found is not None:
                    self._set_labels(found, labels, removes=removes)

            return set_labels
        if isinstance(item, st.SetProperties):
            return self._compile_properties(item, find, names)
        value = None if item.value is None else self.compile(item.value, names)
        path = item.path

        def set_property(row: Row) -> None:
            found = find(row)
            if found is not None:
                given = None if value is None else value(row, run)
                entities.assign(found, path, given)
                counters.properties_set += 1

        return set_property

    def _compile_properties(
        self,
        item: st.SetProperties,
        find: Callable[[Row], Node | Relationship | None],
        names: tuple[str, ...],
    ) -> Callable[[Row], None]:
        value, run = self.compile(item.value, names), self.context

        def set_properties(row: Row) -> None:
            entity = find(row)
            given = value(row, run)
            if entity is None or given is None:
                return
            if isinstance(given, Node | Relationship):
                own = [key for key in given.document if not key.startswith("$")]
                given = {key: run.read_own_member(given, key) for key in own}
            if not isinstance(given, dict):
                error = build_type_error(
                    f"SET takes the properties of a Map or an entity, not {name_type(given)}."
                )
                raise note_span(error, item.span)
            self._set_properties(entity, given, adds=item.adds)

        return set_properties

    def set_properties(self, entity: Node | Relationship, properties: Mapping[str, Value]) -> None:
        """Set properties of an entity at once."""
        known = self.entities.adopt(entity)
        assert isinstance(known, Node | Relationship)  # noqa: S101  # it is what was given
        self._set_properties(known, properties, adds=True)
        self.flush()

    def _set_properties(
        self, entity: Node | Relationship, given: Mapping[str, Value], *, adds: bool
    ) -> None:
        document = entity.document
        self.entities.begin_change(entity)
        if not adds:
            gone = [key for key in document if not key.startswith("$") and key not in given]
            for key in gone:
                self.entities.assign(entity, (key,), REMOVED)
                self.counters.properties_set += 1
        for key, value in given.items():
            # A document that is given back as a whole has the members of the service in it.
            if not key.startswith("$") or document.get(key) != value:
                self.entities.assign(entity, (key,), value)
                self.counters.properties_set += 1

    def _set_labels(self, node: Node, labels: Sequence[str], *, removes: bool) -> None:
        change = self.entities.begin_change(node)
        for label in labels:
            if self._writer.has_label(node, label) != removes:
                continue
            added, removed = change.added, change.removed
            if removes:
                added.pop(label, None)
                removed[label] = None
                self.counters.labels_removed += 1
                self.entities.settle_labels(node, node.labels - {label})
            else:
                removed.pop(label, None)
                added[label] = None
                self.counters.labels_added += 1
                self.entities.settle_labels(node, node.labels | {label})

    def flush(self) -> None:
        """Write what a clause has set: one write for each entity."""
        pending, self.entities.pending = self.entities.pending, {}
        writer = self._writer
        for entity, change in pending.items():
            if not (change.values or change.added or change.removed):
                continue
            self._count_write()
            if isinstance(entity, Node):
                document, labels = writer.change_node(entity, change)
                self.entities.settle_labels(entity, labels)
            else:
                document = writer.change_relationship(entity, change)
            self.entities.settle(entity, document)
        if pending:
            self.look_at_models()

    def _count_write(self) -> None:
        self.written += 1
        self.context.budget.check_interrupt()
        most = self.around.most_writes
        if most is not None and self.written > most:
            raise LimitExceeded(
                f"The statement writes more than {most} nodes and relationships "
                "(Query__MaxWrites). Divide it: CALL { ... } IN TRANSACTIONS OF 1000 ROWS."
            )


def _count_set(properties: Mapping[str, Value]) -> int:
    return sum(1 for key, value in properties.items() if value is not None and key[:1] != "$")


def _build_path(values: Sequence[Value]) -> Path:
    nodes = tuple(one for one in values[::2] if isinstance(one, Node))
    crossed = tuple(one for one in values[1::2] if isinstance(one, Relationship))
    return Path(nodes, crossed)
