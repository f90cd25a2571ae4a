"""Runs MERGE: each row gets what the pattern matches, or what is created where it matches nothing.

A row sees what those before it created.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_equivalence_key
from twinframe.model.values import Node, Value
from twinframe.query import algebra as al
from twinframe.query.evaluate.analysis import find_scope
from twinframe.query.evaluate.failures import note_span
from twinframe.query.evaluate.run import Evaluate, Row
from twinframe.query.traversal import walk
from twinframe.query.writing import steps as st
from twinframe.query.writing.clauses import ClauseRun
from twinframe.query.writing.entities import require_node
from twinframe.query.writing.needed import find_in
from twinframe.query.writing.surroundings import Table

_ID: Final = "$dtId"
_BATCH: Final = 1000
"""Rows whose nodes are looked for together."""
_PLAIN: Final = (al.Variable, al.Property, al.Literal, al.Parameter)
_SCALARS: Final = frozenset({str, int, bool})
_Find: TypeAlias = Callable[[Row], list[Row]]


def merge(run: ClauseRun, step: st.Merge, table: Table) -> Table:
    """Extend the rows of a table by what they find, or create."""
    names = table.names
    create, items = _join_creation(step)
    make, made_names = run.compile_create(create, names)
    # NOTE: of the pattern alone: what precedes it may have names that nobody needs any more.
    own = find_scope(al.Match(al.Unit(), step.match.pattern, step.match.predicate))
    found_names = tuple(name for name in own if name not in names)
    after = (*names, *found_names)
    order = [made_names.index(name) for name in after]
    on_create = [run.compile_item(item, after) for item in items]
    on_match = [run.compile_item(item, after) for item in step.on_match]
    tests = [run.compile(value, names) for _, value in step.tests]
    keys = _find_keys(step, names, items) if len(table.rows) > 1 else None
    one_by_one = compile_find(run, step, names, found_names)
    rows: list[Row] = []
    for batch in _divide(table.rows):
        values = [[test(row, run.context) for test in tests] for row in batch]
        for tested in values:
            _check_tested(step, tested)
        index = None if keys is None else _Index.read(run, step, keys, values)
        for row, tested in zip(batch, values, strict=True):
            run.context.budget.tick()
            found = one_by_one(row) if index is None else index.find(tested)
            matches, setting = [(*row, *one) for one in found], on_match
            if not matches:
                made = make(row)
                matches, setting = [tuple([made[slot] for slot in order])], on_create
                run.look_at_models()
                if index is not None:
                    index.add(matches[0][-1])
            for match in matches:
                for apply in setting:
                    apply(match)
            run.flush()
            rows += matches
    return Table(after, rows)


def _divide(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH))


def _check_tested(step: st.Merge, values: Sequence[Value]) -> None:
    for (key, _), value in zip(step.tests, values, strict=True):
        if value is None:
            error = QueryInvalid(
                f"MERGE cannot look for the property {key} that is null.",
                kind="SemanticError",
                detail="MergeReadOwnWrites",
                phase="runtime",
            )
            raise note_span(error, step.span)


# --- creation -------------------------------------------------------------------------------------


def _join_creation(step: st.Merge) -> tuple[st.Create, list[st.SetItem]]:
    """Return what is created with the properties that ON CREATE sets first, and its other items.

    PERF: one write, and one event, in place of two. What reads the created stays an item.
    """
    elements = {element.variable: element for element in step.create.elements}
    items = list(step.on_create)
    while items:
        item = items[0]
        if not isinstance(item, st.SetProperty) or item.value is None or len(item.path) > 1:
            break
        subject, key = item.subject, item.path[0]
        element = elements.get(subject.name) if isinstance(subject, al.Variable) else None
        if element is None or key.startswith("$") or _may_read(item.value, elements.keys()):
            break
        properties = element.properties or al.MapExpression(())
        if not isinstance(properties, al.MapExpression):
            break
        entries = {**dict(properties.entries), key: item.value}
        joined = replace(properties, entries=tuple(entries.items()))
        elements[element.variable] = replace(element, properties=joined)
        del items[0]
    return replace(step.create, elements=tuple(elements.values())), items


def _may_read(expression: al.Expression, created: AbstractSet[str]) -> bool:
    """Whether the expression reads what is created, by its variable or by a pattern."""
    if any(isinstance(term, al.Subplan) for term in walk(expression)):
        return True
    return not created.isdisjoint(find_in(expression))


# --- one read for each row ------------------------------------------------------------------------


def compile_find(
    run: ClauseRun, step: st.Merge, names: tuple[str, ...], columns: tuple[str, ...]
) -> _Find:
    """Return what finds the matches for a row, whose values the pattern gets as parameters.

    PERF: so the store's engine runs it, and finds nodes by their ids and by its indexes.
    """
    query, given = bind(run, step, names, columns)

    def find(row: Row) -> list[Row]:
        values = {name: evaluate(row, run.context) for name, evaluate in given.items()}
        rows = run.run_planned(step, query, columns, values, list)
        return run.entities.adopt_rows(rows)

    return find


def bind(
    run: ClauseRun, step: st.Merge, names: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[al.Query, dict[str, Evaluate]]:
    """Return the query that finds the matches for a row, and what its parameters are of a row."""
    given: dict[str, Evaluate] = {}

    def bind_value(expression: al.Expression) -> al.Expression:
        if isinstance(expression, al.Literal | al.Parameter):
            return expression
        name = f" merged {len(given)}"
        given[name] = run.compile(expression, names)
        return al.Parameter(name, expression.span)

    def bind_all(
        properties: tuple[tuple[str, al.Expression], ...],
    ) -> tuple[tuple[str, al.Expression], ...]:
        return tuple((key, bind_value(value)) for key, value in properties)

    nodes: list[al.NodePattern] = []
    for node in step.match.pattern.nodes:
        properties = bind_all(node.properties)
        if node.variable in names:
            name = f" merged id {node.variable}"
            given[name] = _read_id(names.index(node.variable), node)
            properties = (*properties, (_ID, al.Parameter(name, node.span)))
        nodes.append(replace(node, properties=properties))
    relationships = tuple(
        replace(one, properties=bind_all(one.properties))
        for one in step.match.pattern.relationships
    )
    pattern = al.GraphPattern(tuple(nodes), relationships, step.match.pattern.paths)
    match = al.Match(al.Unit(), pattern, step.match.predicate)
    return al.Query(match, columns or find_scope(match)[:1]), given


def _read_id(slot: int, node: al.NodePattern) -> Evaluate:
    return lambda row, _run: require_node(row[slot], node.variable, node.span).id


# --- one read for many rows -----------------------------------------------------------------------


def _find_keys(
    step: st.Merge, names: tuple[str, ...], on_create: Sequence[st.SetItem]
) -> tuple[str, ...] | None:
    """Return the properties by which the nodes of all rows can be found at once, None if not.

    They can if the pattern is one new node, and no row changes what another one looks for.
    """
    pattern = step.match.pattern
    if len(pattern.nodes) != 1 or pattern.relationships or pattern.paths:
        return None
    (node,) = pattern.nodes
    keys = tuple(key for key, _ in step.tests)
    if not keys or node.variable in names or step.match.predicate is not None:
        return None
    read = {*keys}
    for _, value in step.tests:
        for term in walk(value):
            if not isinstance(term, _PLAIN):
                return None
            if isinstance(term, al.Property):
                read.add(term.key)
    for item in (*on_create, *step.on_match):
        if not isinstance(item, st.SetProperty) or item.path[0] in read:
            return None
    return keys


@dataclass(slots=True)
class _Index:
    """The nodes that the rows of a batch look for, by the values of their keys."""

    run: ClauseRun
    keys: tuple[str, ...]
    nodes: dict[Hashable, list[Row]]

    @classmethod
    def read(
        cls,
        run: ClauseRun,
        step: st.Merge,
        keys: tuple[str, ...],
        values: Sequence[Sequence[Value]],
    ) -> _Index | None:
        """Read them; None where the values are not all of a kind that is compared so."""
        if not all(_is_scalar(one) for tested in values for one in tested):
            return None
        (node,) = step.match.pattern.nodes
        given: dict[str, Value] = {}
        predicate: al.Expression | None = None
        subject = al.Variable(node.variable, node.span)
        for at, key in enumerate(keys):
            wanted = {build_equivalence_key(tested[at]): tested[at] for tested in values}
            given[f" sought {at}"] = [*wanted.values()]
            test = al.Binary(
                al.BinaryOperator.IN,
                al.Property(subject, key, node.span),
                al.Parameter(f" sought {at}", node.span),
                node.span,
            )
            predicate = (
                test
                if predicate is None
                else al.Binary(al.BinaryOperator.AND, predicate, test, node.span)
            )
        pattern = al.GraphPattern((replace(node, properties=()),))
        query = al.Query(al.Match(al.Unit(), pattern, predicate), (node.variable,))
        rows = run.run_planned(step, query, query.columns, given, run.keep)
        index = cls(run, keys, {})
        for (found,) in run.entities.adopt_rows(rows):
            index.add(found)
        return index

    def find(self, values: Sequence[Value]) -> Sequence[Row]:
        """Return the nodes that have these values."""
        return self.nodes.get(tuple(map(build_equivalence_key, values)), ())

    def add(self, node: Value) -> None:
        """Add a node by the values that it has."""
        assert isinstance(node, Node)  # noqa: S101  # the pattern has nothing else
        values = [self.run.context.read_own_member(node, key) for key in self.keys]
        if all(map(_is_scalar, values)):
            self.nodes.setdefault(tuple(map(build_equivalence_key, values)), []).append((node,))


def _is_scalar(value: Value) -> bool:
    return type(value) in _SCALARS or (type(value) is float and math.isfinite(value))
