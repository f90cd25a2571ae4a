"""Translates statements that write or call procedures to their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twinframe.query import algebra as al
from twinframe.query.cypher import ast
from twinframe.query.cypher.builder.clauses import ClauseBuilder
from twinframe.query.cypher.parser.writing import list_plain_labels
from twinframe.query.evaluate.analysis import find_pattern_variables, find_scope
from twinframe.query.writing import steps as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twinframe.query.writing.procedures import Procedures

_NOT_READING: Final = (*ast.WRITING, ast.CallProcedure)


class StatementBuilder(ClauseBuilder):
    """Translates whole statements.

    `_names` are the variables at the present clause, `_root` the operators that read since the step
    before, over `_leaf`.
    """

    _names: tuple[str, ...] = ()
    _root: al.Operator = al.Unit()
    _leaf: al.Argument | None = None

    def __init__(self, procedures: Procedures) -> None:
        super().__init__()
        self._procedures = procedures

    def build_statement(self, query: ast.Query) -> st.Statement:
        """Build a statement whose effects are not known yet."""
        return self._build_statement(query, None)

    def _build_statement(self, query: ast.Query, outer: tuple[str, ...] | None) -> st.Statement:
        parts = tuple(self._build_steps(part, outer) for part in query.parts)
        return st.Statement(parts, query.all, _list_columns(query.parts[0]))

    def _build_steps(
        self, query: ast.SingleQuery, outer: tuple[str, ...] | None
    ) -> tuple[st.Step, ...]:
        kept = self._names, self._root, self._leaf
        names = query.imports or outer
        self._begin(names or (), fresh=names is None)
        steps: list[st.Step] = []
        for clause in query.clauses:
            step = self._build_step(clause)
            if step is None:
                assert not isinstance(clause, _NOT_READING)  # noqa: S101  # those are steps
                self._root = self._build_clause(clause, self._root)
                self._names = find_scope(self._root)
            else:
                steps += self._end_read()
                last = steps[-1] if steps else None
                match last, step:
                    case st.Delete(detach=detach), st.Delete() if step.detach == detach:
                        # NOTE: what one deletes may be what kept the other's nodes.
                        steps[-1] = st.Delete((*last.expressions, *step.expressions), detach)
                    case _:
                        steps.append(step)
                self._begin(self._names, fresh=False)
        steps += self._end_read()
        self._names, self._root, self._leaf = kept
        return tuple(steps)

    def _begin(self, names: tuple[str, ...], *, fresh: bool) -> None:
        self._names = names
        self._leaf = None if fresh else al.Argument(names)
        self._root = self._leaf or al.Unit()

    def _end_read(self) -> list[st.Step]:
        if self._root is self._leaf or isinstance(self._root, al.Unit):
            return []
        return [st.Read(self._root, self._leaf)]

    def _build_step(self, clause: ast.Clause) -> st.Step | None:
        match clause:
            case ast.Create():
                return self._build_create(clause.parts)
            case ast.Merge():
                return self._build_merge(clause)
            case ast.Set():
                return st.Set(self._build_items(clause.items))
            case ast.Delete():
                return st.Delete(tuple(map(self.build, clause.expressions)), clause.detach)
            case ast.CallProcedure():
                return self._build_call_step(clause)
            case ast.CallSubquery() if clause.in_transactions or _has_steps(clause.query):
                return self._build_call_statement(clause)
            case _:
                return None

    # --- CREATE and MERGE

    def _build_create(self, parts: Iterable[ast.PatternPart]) -> st.Create:
        created: list[st.NewNode | st.NewRelationship] = []
        paths: list[al.PathPattern] = []
        known = set(self._names)
        added: list[str] = []
        for part in parts:
            elements: list[str] = []
            crossings: list[st.NewRelationship] = []
            for at, node in enumerate(part.nodes):
                name = node.variable = node.variable or self.generate_name("node")
                if name not in known:
                    known.add(name)
                    added.append(name)
                    labels = tuple(list_plain_labels(node.labels) or ())
                    created.append(st.NewNode(name, labels, self._build_map(node), node.span))
                if at:
                    crossed = part.relationships[at - 1]
                    crossing = self._build_new_relationship(crossed, elements[-1], name)
                    crossings.append(crossing)
                    elements.append(crossing.variable)
                elements.append(name)
            created += crossings
            added += [one.variable for one in crossings]
            if part.variable is not None:
                paths.append(al.PathPattern(part.variable, tuple(elements)))
        added += [path.variable for path in paths if path.variable is not None]
        self._names = (*self._names, *added)
        return st.Create(tuple(created), tuple(paths))

    def _build_new_relationship(
        self, element: ast.RelationshipElement, left: str, right: str
    ) -> st.NewRelationship:
        name = element.variable = element.variable or self.generate_name("relationship")
        if element.direction is al.Direction.INCOMING:
            left, right = right, left
        (kind,) = list_plain_labels(element.types) or ("",)
        properties = self._build_map(element)
        return st.NewRelationship(name, left, right, kind, properties, element.span)

    def _build_map(
        self, element: ast.NodeElement | ast.RelationshipElement
    ) -> al.Expression | None:
        if element.map is not None:
            return self.build(element.map)
        if not element.properties:
            return None
        return al.MapExpression(self.build_entries(element.properties), element.span)

    def _build_merge(self, clause: ast.Merge) -> st.Merge:
        leaf = al.Argument(self._names)
        create = self._build_create([clause.part])
        match = self.build_match(leaf, [clause.part], None)
        # What follows finds the variables in the order of the matches.
        self._names = tuple(
            dict.fromkeys((*leaf.variables, *find_pattern_variables(match.pattern)))
        )
        tests = [
            (key, self.build(value))
            for element in clause.part.elements()
            for key, value in element.properties
        ]
        on_create = self._build_items(clause.on_create)
        on_match = self._build_items(clause.on_match)
        return st.Merge(leaf, match, create, tuple(tests), on_create, on_match, clause.span)

    # --- SET

    def _build_items(self, items: Iterable[ast.SetItem]) -> tuple[st.SetItem, ...]:
        return tuple(map(self._build_item, items))

    def _build_item(self, item: ast.SetItem) -> st.SetItem:
        match item:
            case ast.SetProperty(target=target, value=value):
                path: list[str] = []
                found: ast.Expression = target
                while isinstance(found, ast.Property):
                    path.insert(0, found.key)
                    found = found.subject
                built = self.build_optional(value)
                return st.SetProperty(self.build(found), tuple(path), built, item.span)
            case ast.SetProperties(variable=variable, value=given, adds=adds):
                return st.SetProperties(self.build(variable), self.build(given), adds, item.span)
            case ast.SetLabels(variable=variable, labels=labels, removes=removes):
                return st.SetLabels(self.build(variable), tuple(labels), removes, item.span)

    # --- CALL

    def _build_call_step(self, clause: ast.CallProcedure) -> st.Call:
        procedure = self._procedures[clause.name]
        arguments = tuple(map(self.build, clause.arguments or ()))
        positions = {name: at for at, (name, _) in enumerate(procedure.results)}
        results = tuple((positions[result], name) for result, name in clause.columns)
        predicate = self.build_optional(clause.where)
        self._names = (*self._names, *(name for _, name in results))
        return st.Call(procedure, arguments, results, predicate, clause.span)

    def _build_call_statement(self, clause: ast.CallSubquery) -> st.CallStatement:
        imports = next((part.imports for part in clause.query.parts if part.imports), ())
        outer = tuple(dict.fromkeys((*clause.outer, *imports)))
        before, self._outer = self._outer, outer
        statement = self._build_statement(clause.query, outer)
        self._outer = before
        batch = self.build_optional(clause.batch)
        status = None if clause.status is None else clause.status.name
        added = statement.columns if status is None else (*statement.columns, status)
        self._names = (*self._names, *added)
        on_error = st.OnError(clause.on_error)
        return st.CallStatement(
            statement, outer, clause.in_transactions, batch, on_error, status, clause.span
        )


def _has_steps(query: ast.Query) -> bool:
    return any(
        isinstance(clause, _NOT_READING)
        or (isinstance(clause, ast.CallSubquery) and _has_steps(clause.query))
        for part in query.parts
        for clause in part.clauses
    )


def _list_columns(part: ast.SingleQuery) -> tuple[str, ...]:
    last = part.clauses[-1]
    if isinstance(last, ast.Projection):
        return tuple(item.name for item in last.columns)
    if isinstance(last, ast.CallProcedure):
        return tuple(name for _, name in last.columns)
    return ()
