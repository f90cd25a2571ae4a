"""Checks clauses that write, and calls of procedures; notes what they do to the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twinframe.errors.nearest import render_suggestion
from twinframe.query.algebra import Direction, PathKind, SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.parser.writing import list_plain_labels
from twinframe.query.cypher.scope.patterns import PatternChecker
from twinframe.query.cypher.static_types import UNKNOWN, Kind, StaticType
from twinframe.query.writing.port import Effect
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedure, Procedures

if TYPE_CHECKING:
    from collections.abc import Collection

    from twinframe.query.errors import Source
    from twinframe.query.spans import Span

_ENTITIES: Final = UNKNOWN | {Kind.NODE, Kind.RELATIONSHIP}
_DELETABLE: Final = _ENTITIES | {Kind.PATH}
_NO_PROPERTY: Final = frozenset({Kind.MAP, Kind.NODE, Kind.RELATIONSHIP, Kind.PATH})
_KINDS: Final[dict[str, frozenset[Kind]]] = {
    "BOOLEAN": frozenset({Kind.BOOLEAN}),
    "STRING": frozenset({Kind.STRING}),
    "INTEGER": frozenset({Kind.INTEGER}),
    "FLOAT": frozenset({Kind.FLOAT, Kind.INTEGER}),
    "NUMBER": frozenset({Kind.FLOAT, Kind.INTEGER}),
    "LIST": frozenset({Kind.LIST}),
    "MAP": frozenset({Kind.MAP}),
    "NODE": frozenset({Kind.NODE}),
    "RELATIONSHIP": frozenset({Kind.RELATIONSHIP}),
    "PATH": frozenset({Kind.PATH}),
    "TEMPORAL": frozenset({Kind.TEMPORAL}),
    "DURATION": frozenset({Kind.TEMPORAL}),
}
_TYPES: Final[dict[str, StaticType]] = {
    "BOOLEAN": t.BOOLEAN,
    "STRING": t.STRING,
    "INTEGER": t.INTEGER,
    "FLOAT": t.FLOAT,
    "LIST": t.LIST,
    "MAP": t.MAP,
    "NODE": t.NODE,
    "RELATIONSHIP": t.RELATIONSHIP,
    "PATH": t.PATH,
}
_EFFECTS: Final = {
    Kind.NODE: (Effect.WRITE_NODES,),
    Kind.RELATIONSHIP: (Effect.WRITE_RELATIONSHIPS,),
}
_BOTH: Final = (Effect.WRITE_NODES, Effect.WRITE_RELATIONSHIPS)


class WritingChecker(PatternChecker):
    """Checks CREATE, MERGE, SET, REMOVE, DELETE and CALL of a procedure.

    `effects` are what the clauses seen so far may do to the graph. `procedures` are those that may
    be called. `map_properties` says whether a property may be a map.
    """

    def __init__(
        self,
        source: Source,
        parameters: Collection[str],
        procedures: Procedures = NO_PROCEDURES,
        *,
        map_properties: bool = True,
    ) -> None:
        super().__init__(source, parameters)
        self.effects: set[Effect] = set()
        self._procedures = procedures
        self._map_properties = map_properties
        self._stores = False

    def check_inner_pattern(
        self, node: ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath
    ) -> StaticType:
        """Check a pattern inside an expression; in a value to store, it may only be asked about."""
        if (
            self._stores
            and isinstance(node, ast.PatternExpression)
            and node.kind is SubplanKind.COLLECT
        ):
            message = "a pattern is no value to store; write EXISTS { ... }, or [p = ... | p]"
            raise self.error(node.span, "UnexpectedSyntax", message)
        return super().check_inner_pattern(node)

    def declare_pattern(self, parts: list[ast.PatternPart]) -> None:
        """Declare what a pattern to match binds."""
        self.effects.add(Effect.READ)
        super().declare_pattern(parts)

    # --- CREATE and MERGE

    def check_create(self, clause: ast.Create) -> None:
        """Check a CREATE, and declare its variables."""
        for part in clause.parts:
            self._check_properties(part)
            self._declare_new_part(part, "CREATE")

    def check_merge(self, clause: ast.Merge) -> None:
        """Check a MERGE with what it sets."""
        self.effects.add(Effect.READ)
        self._check_properties(clause.part)
        self._declare_new_part(clause.part, "MERGE")
        self.check_set_items([*clause.on_create, *clause.on_match])

    def _check_properties(self, part: ast.PatternPart) -> None:
        for element in part.elements():
            for _, value in element.properties:
                self._check_stored(value)
            if element.map is not None:
                self.check(element.map)

    def _check_stored(self, node: ast.Expression) -> None:
        """Check a value that becomes a property."""
        before, self._stores = self._stores, True
        found = self.check(node)
        self._stores = before
        inner = found.element if found.kind is Kind.LIST else None
        kinds = {found.kind, inner.kind} if inner is not None else {found.kind}
        refused = kinds & (_NO_PROPERTY if not self._map_properties else _NO_PROPERTY - {Kind.MAP})
        if refused:
            what = next(iter(refused)).value
            raise self.error(
                node.span,
                "InvalidPropertyType",
                f"a property cannot be {what}, nor a list of such",
                kind="TypeError",
            )

    def _declare_new_part(self, part: ast.PatternPart, clause: str) -> None:
        if part.kind is not PathKind.ALL:
            message = f"{clause} takes no shortest path"
            raise self.error(part.span, "InvalidRelationshipPattern", message)
        alone = not part.relationships
        for node in part.nodes:
            self._declare_new_node(node, clause, alone=alone)
        for relationship in part.relationships:
            self._declare_new_relationship(relationship, clause)
        if part.variable is not None:
            self._declare_free(part.variable, t.PATH, part.span)

    def _declare_free(self, name: str, kind: StaticType, span: Span) -> None:
        if self.scope.lookup(name) is not None:
            message = f"the variable '{name}' is taken; what is created needs a new one"
            raise self.error(span, "VariableAlreadyBound", message)
        self.scope.declare(name, kind)

    def _declare_new_node(self, node: ast.NodeElement, clause: str, *, alone: bool) -> None:
        if list_plain_labels(node.labels) is None:
            message = f"{clause} takes labels as in (n:A:B), without |, & and !"
            raise self.error(node.span, "UnexpectedSyntax", message)
        name = node.variable
        found = None if name is None else self.scope.lookup(name)
        if found is not None and name is not None:
            if alone or not node.is_plain:
                message = f"the variable '{name}' is taken, so it is no new node"
                raise self.error(node.span, "VariableAlreadyBound", message)
            if found.kind not in UNKNOWN | {Kind.NODE}:
                raise self.conflict(name, found, "a node", node.span)
            return
        self.effects.add(Effect.WRITE_NODES)
        if name is not None:
            self.scope.declare(name, t.NODE)

    def _declare_new_relationship(self, element: ast.RelationshipElement, clause: str) -> None:
        if element.length is not None:
            message = f"{clause} takes single relationships, not a number of them"
            raise self.error(element.span, "CreatingVarLength", message)
        if element.variable is not None:
            self._declare_free(element.variable, t.RELATIONSHIP, element.span)
        names = list_plain_labels(element.types)
        if names is None or len(names) != 1:
            message = f"{clause} takes a relationship of exactly one type: -[:TYPE]->"
            raise self.error(element.span, "NoSingleRelationshipType", message)
        if element.direction is Direction.BOTH and clause == "CREATE":
            message = "a relationship is created with a direction: -[:TYPE]->"
            raise self.error(element.span, "RequiresDirectedRelationship", message)
        self.effects.add(Effect.WRITE_RELATIONSHIPS)

    # --- SET, REMOVE, DELETE

    def check_set_items(self, items: list[ast.SetItem]) -> None:
        """Check the items of SET or REMOVE."""
        for item in items:
            match item:
                case ast.SetProperty(target=target, value=value):
                    self._check_target(_find_root(target), target.subject)
                    if value is not None:
                        self._check_stored(value)
                case ast.SetProperties(variable=variable, value=value):
                    self._check_target(variable, variable)
                    found = self.check(value).kind
                    if found not in _ENTITIES | {Kind.MAP}:
                        message = f"SET n = ... takes a map or an entity, this is {found.value}"
                        raise self.error(value.span, "InvalidArgumentType", message)
                case ast.SetLabels(variable=variable):
                    self.effects.add(Effect.WRITE_NODES)
                    found = self.check(variable).kind
                    if found not in UNKNOWN | {Kind.NODE}:
                        message = f"only a node has labels, this is {found.value}"
                        raise self.error(variable.span, "InvalidArgumentType", message)

    def _check_target(self, root: ast.Expression, subject: ast.Expression) -> None:
        if subject is not root:
            self.check(subject)
        found = self.check(root).kind
        if found not in _ENTITIES:
            message = f"SET and REMOVE change nodes and relationships, this is {found.value}"
            raise self.error(root.span, "InvalidArgumentType", message)
        self.effects.update(_EFFECTS.get(found, _BOTH))

    def check_delete(self, clause: ast.Delete) -> None:
        """Check what is deleted."""
        for node in clause.expressions:
            found = self.check(node).kind
            if found not in _DELETABLE:
                message = f"DELETE takes nodes, relationships and paths, this is {found.value}"
                raise self.error(node.span, "InvalidArgumentType", message)
            if found is not Kind.RELATIONSHIP:
                self.effects.add(Effect.DELETE_NODES)
            if found is not Kind.NODE or clause.detach:
                self.effects.add(Effect.DELETE_RELATIONSHIPS)

    # --- procedures

    def find_procedure(self, clause: ast.CallProcedure) -> Procedure:
        """Return the procedure of a call; ProcedureError for an unknown one."""
        found = self._procedures.get(clause.name)
        if found is None:
            hint = render_suggestion(clause.name, self._procedures)
            message = f"there is no procedure {clause.name}{hint}"
            raise self.error(clause.span, "ProcedureNotFound", message, kind="ProcedureError")
        return found

    def check_procedure_call(self, clause: ast.CallProcedure) -> dict[str, StaticType]:
        """Check a call; return its columns where it is the whole query."""
        procedure = self.find_procedure(clause)
        self.effects |= procedure.effects
        self._check_arguments(clause, procedure)
        kinds = {name: _TYPES.get(kind.rstrip("?"), t.ANY) for name, kind in procedure.results}
        if clause.yields is None and (clause.standalone or clause.star):
            if not clause.standalone:
                message = "YIELD * belongs to a call that is the whole query; name the results"
                raise self.error(clause.span, "UnexpectedSyntax", message)
            clause.columns = [(name, name) for name in kinds]
        elif clause.yields is None and kinds:
            message = f"name the results of {procedure.name}: YIELD {', '.join(kinds)}"
            raise self.error(clause.span, "UndefinedVariable", message)
        for result, variable in clause.yields or ():
            if result not in kinds:
                hint = render_suggestion(result, kinds)
                message = f"{procedure.name} has no result '{result}'{hint}"
                raise self.error(variable.span, "UndefinedVariable", message)
            clause.columns.append((result, variable.name))
        for result, name in clause.columns:
            if self.scope.lookup(name) is not None:
                message = f"the variable '{name}' is taken; write YIELD {result} AS ..."
                raise self.error(clause.span, "VariableAlreadyBound", message)
            self.scope.declare(name, kinds[result])
        if clause.where is not None:
            self.check_predicate(clause.where)
        return {name: kinds[result] for result, name in clause.columns}

    def _check_arguments(self, clause: ast.CallProcedure, procedure: Procedure) -> None:
        names = [name for name, _ in procedure.arguments]
        if clause.arguments is None:
            if not clause.standalone:
                message = f"write the arguments: {procedure.name}({', '.join(names)})"
                raise self.error(clause.span, "InvalidArgumentPassingMode", message)
            # SPEC: openCypher 9: without parentheses, parameters of the same names are meant.
            clause.arguments = [ast.Parameter(name, clause.span) for name in names]
        if len(clause.arguments) != len(names):
            message = f"{procedure.signature} takes {len(names)} arguments"
            raise self.error(clause.span, "InvalidNumberOfArguments", message)
        for node, (name, kind) in zip(clause.arguments, procedure.arguments, strict=True):
            found = self.check(node).kind
            wanted = _KINDS.get(kind.rstrip("?"))
            if wanted is not None and found not in UNKNOWN and found not in wanted:
                message = f"'{name}' of {procedure.signature} cannot be {found.value}"
                raise self.error(node.span, "InvalidArgumentType", message)


def _find_root(target: ast.Property) -> ast.Expression:
    """Return what a chain of properties begins with."""
    found: ast.Expression = target
    while isinstance(found, ast.Property):
        found = found.subject
    return found
