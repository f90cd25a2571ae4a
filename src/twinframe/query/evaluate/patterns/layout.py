"""Plans a graph pattern as steps: where to start, which relationships to follow, where to test.

It uses no statistics; the order follows from the pattern: bound variables first, then `$dtId`
equalities, labels, relationship types, and whole scans last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Expression,
    GraphPattern,
    LabelAnd,
    Length,
    Literal,
    NodePattern,
    PathKind,
    Property,
    Quantifier,
    QuantifierKind,
    RelationshipPattern,
    Subscript,
    Variable,
)
from twinframe.query.evaluate.analysis import build_conjunction, find_conjuncts, find_variables
from twinframe.query.evaluate.labels import find_label_names
from twinframe.query.evaluate.patterns.steps import (
    BuildPath,
    CheckLabels,
    CheckNode,
    CheckPredicate,
    Cross,
    Expand,
    ExpandVariable,
    ScanNodes,
    ScanRelationships,
    SeekEnd,
    SeekNodes,
    ShortestPath,
    Step,
)

_MODEL = "Model"


def layout_pattern(
    pattern: GraphPattern,
    predicate: Expression | None,
    bound: Sequence[str],
    mentioned: frozenset[str],
) -> tuple[Step, ...]:
    """Return the steps that bind the pattern's variables in rows with `bound`, including the
    predicate.

    `mentioned` are the variables that the rest of the query reads.
    """
    return tuple(_Layout(pattern, predicate, bound, mentioned).build())


class _Layout:
    """The state of planning one pattern: the bound variables and the remaining parts."""

    def __init__(
        self,
        pattern: GraphPattern,
        predicate: Expression | None,
        bound: Sequence[str],
        mentioned: frozenset[str],
    ) -> None:
        self._nodes = _merge_nodes(pattern.nodes)
        self._bound = set(bound)
        self._shortest = {
            path.elements[1]: path for path in pattern.paths if path.kind is not PathKind.ALL
        }
        self._relationships = list(pattern.relationships)
        self._paths = list(pattern.paths)
        self._used: list[str] = []
        self._checks = [*self._build_checks(), *find_conjuncts(predicate)]
        self._pending_labels = {
            name: node.labels for name, node in self._nodes.items() if node.labels is not None
        }
        self._needed = mentioned | self._find_needed(pattern)

    def build(self) -> Iterator[Step]:
        """All steps in order."""
        for name, node in self._nodes.items():
            if name in self._bound:
                yield CheckNode(name, node.span)
        yield from self._settle()
        while self._relationships or any(name not in self._bound for name in self._nodes):
            yield from self._next_step()
            yield from self._settle()
        together = build_conjunction(self._checks)
        if together is not None:
            yield CheckPredicate(together)

    # --- choosing -----------------------------------------------------------------------------

    def _next_step(self) -> Iterator[Step]:
        ready = [one for one in self._relationships if self._is_ready(one)]
        if ready:
            yield from self._cross(min(ready, key=self._rank_crossing))
        else:
            yield from self._start()

    def _is_ready(self, relationship: RelationshipPattern) -> bool:
        ends = (relationship.left in self._bound, relationship.right in self._bound)
        return all(ends) if relationship.variable in self._shortest else any(ends)

    def _rank_crossing(self, relationship: RelationshipPattern) -> tuple[bool, bool, bool, int]:
        both = relationship.left in self._bound and relationship.right in self._bound
        far = relationship.right if relationship.left in self._bound else relationship.left
        return (
            relationship.variable not in self._bound,
            not both,
            relationship.length is not None,
            _rank_node(self._nodes[far], self._find_seek(self._nodes[far])),
        )

    def _start(self) -> Iterator[Step]:
        """Bind a first node of a part of the pattern that is not connected to bound variables."""
        for relationship in self._relationships:
            if relationship.variable in self._bound and relationship.length is None:
                yield from self._bind(SeekEnd(relationship, self._nodes[relationship.left]))
                return
        unbound = [node for name, node in self._nodes.items() if name not in self._bound]
        ranked = [(_rank_node(node, self._find_seek(node)), node) for node in unbound]
        rank, node = min(ranked, key=lambda pair: pair[0])
        seek = self._find_seek(node)
        if seek is not None:
            yield from self._bind(SeekNodes(node, seek))
            return
        scan = self._find_relationship_scan() if rank >= _RANK_ANY else None
        if scan is not None:
            yield from self._scan_relationship(scan)
            return
        self._pending_labels.pop(node.variable, None)
        yield from self._bind(ScanNodes(node))

    def _find_relationship_scan(self) -> RelationshipPattern | None:
        """Return a single relationship between unlabelled nodes: cheaper to scan than all nodes
        are.
        """
        single = [
            one
            for one in self._relationships
            if one.length is None and one.variable not in self._shortest
        ]
        return min(single, key=lambda one: not one.types) if single else None

    def _find_seek(self, node: NodePattern) -> Expression | None:
        """Return the value that the node's `$dtId` must equal (or be in), if it is known before the
        node is.
        """
        if _MODEL in find_label_names(node.labels):
            return None
        for check in self._checks:
            ids = _find_ids(check, node.variable)
            if ids is not None and find_variables(ids) <= self._bound:
                return ids
        return None

    # --- building steps -----------------------------------------------------------------------

    def _bind(self, step: ScanNodes | SeekNodes | SeekEnd) -> Iterator[Step]:
        yield step
        self._bound.add(step.node.variable)

    def _scan_relationship(self, relationship: RelationshipPattern) -> Iterator[Step]:
        start = self._nodes[relationship.left]
        reads = start.variable in self._needed
        yield ScanRelationships(relationship, start, reads)
        self._bound.update((relationship.variable, start.variable))

    def _cross(self, relationship: RelationshipPattern) -> Iterator[Step]:
        self._relationships.remove(relationship)
        backwards = relationship.left not in self._bound
        origin, far = relationship.left, relationship.right
        if backwards:
            origin, far = far, origin
        target = self._nodes[far]
        cross = Cross(
            relationship,
            origin,
            target,
            target_bound=far in self._bound,
            reads_target=far in self._needed,
            used=tuple(one for one in self._used if one != relationship.variable),
            reversed=backwards,
        )
        yield self._build_crossing(cross)
        self._used.append(relationship.variable)
        self._bound.update((relationship.variable, far))

    def _build_crossing(self, cross: Cross) -> Step:
        relationship = cross.relationship
        is_bound = relationship.variable in self._bound
        path = self._shortest.get(relationship.variable)
        if path is None and relationship.length is None:
            return Expand(cross, is_bound)
        filters = self._take_filters(relationship)
        length = relationship.length or Length(1, 1)
        if path is not None:
            return ShortestPath(
                cross, path.kind, length, filters, is_list=relationship.length is not None
            )
        return ExpandVariable(cross, length, filters, is_bound)

    def _take_filters(
        self, relationship: RelationshipPattern
    ) -> tuple[tuple[str, Expression], ...]:
        """Return the properties that can be tested while walking; the others become checks of the
        list.
        """
        now: list[tuple[str, Expression]] = []
        for key, expression in relationship.properties:
            if find_variables(expression) <= self._bound:
                now.append((key, expression))
            else:
                self._checks.append(_build_list_check(relationship, key, expression))
        return tuple(now)

    def _settle(self) -> Iterator[Step]:
        """Yield the tests and paths that the bound variables now allow."""
        for name in [one for one in self._pending_labels if one in self._bound]:
            yield CheckLabels(name, self._pending_labels.pop(name))
        yield from self._take_checks()
        for path in [one for one in self._paths if self._bound.issuperset(one.elements)]:
            self._paths.remove(path)
            if path.variable is not None:
                yield BuildPath(path)
                self._bound.add(path.variable)
        yield from self._take_checks()

    def _take_checks(self) -> Iterator[Step]:
        ready: list[Expression] = []
        waiting: list[Expression] = []
        for check in self._checks:
            (ready if find_variables(check) <= self._bound else waiting).append(check)
        self._checks = waiting
        together = build_conjunction(ready)
        if together is not None:
            yield CheckPredicate(together)

    # --- what the pattern asks ----------------------------------------------------------------

    def _build_checks(self) -> Iterator[Expression]:
        for node in self._nodes.values():
            for key, value in node.properties:
                yield _build_equality(node.variable, key, value)
        for relationship in self._relationships:
            if relationship.length is None and relationship.variable not in self._shortest:
                for key, value in relationship.properties:
                    yield _build_equality(relationship.variable, key, value)

    def _find_needed(self, pattern: GraphPattern) -> frozenset[str]:
        """Return the nodes that this match itself reads: labelled ones, tested ones, and those of
        paths.

        PERF: of nodes that are not read only the id counts, which the hop contains.
        """
        needed = set(self._pending_labels)
        needed.update(name for path in pattern.paths for name in path.elements)
        for check in self._checks:
            needed |= find_variables(check)
        return frozenset(needed)


_RANK_ANY = 5


def _rank_node(node: NodePattern, seek: Expression | None) -> int:
    """Rank a node as a start or target; the least is the best."""
    if seek is not None:
        return 0
    if node.labels is not None:
        return 2 if node.properties else 3
    return 4 if node.properties else _RANK_ANY


def _merge_nodes(nodes: Sequence[NodePattern]) -> dict[str, NodePattern]:
    """Merge the patterns of each variable into one with all their conditions."""
    merged: dict[str, NodePattern] = {}
    for node in nodes:
        seen = merged.get(node.variable)
        if seen is None:
            merged[node.variable] = node
            continue
        labels = node.labels if seen.labels is None else seen.labels
        if seen.labels is not None and node.labels is not None:
            labels = LabelAnd(seen.labels, node.labels)
        merged[node.variable] = NodePattern(
            node.variable, labels, seen.properties + node.properties, seen.span
        )
    return merged


def _build_equality(variable: str, key: str, value: Expression) -> Expression:
    return Binary(BinaryOperator.EQUAL, Property(Variable(variable), key), value)


def _build_list_check(relationship: RelationshipPattern, key: str, value: Expression) -> Expression:
    inner = " one"
    return Quantifier(
        QuantifierKind.ALL,
        inner,
        Variable(relationship.variable),
        _build_equality(inner, key, value),
    )


def _find_ids(check: Expression, variable: str) -> Expression | None:
    """Return the other side of `variable.$dtId = x` or `... IN xs`; None for other predicates."""
    if not isinstance(check, Binary):
        return None
    if check.operator is BinaryOperator.EQUAL:
        if _is_id(check.left, variable):
            return check.right
        return check.left if _is_id(check.right, variable) else None
    if check.operator is BinaryOperator.IN and _is_id(check.left, variable):
        return check.right
    return None


def _is_id(expression: Expression, variable: str) -> bool:
    match expression:
        case Property(subject=Variable(name=name), key="$dtId"):
            return name == variable
        case Subscript(subject=Variable(name=name), index=Literal(value="$dtId")):
            return name == variable
        case _:
            return False
