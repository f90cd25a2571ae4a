"""Matches a graph pattern: candidates of each node, then one relationship after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Direction,
    Expression,
    GraphPattern,
    Literal,
    NodePattern,
    Parameter,
    PathKind,
    Property,
    RelationshipPattern,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import find_conjuncts, find_variables
from twinframe_columns import kinds as k
from twinframe_columns.candidates import Candidates, NodeTest
from twinframe_columns.counting import (
    Counter,
    count_frame,
    drop_implied_pairs,
    find_branch,
    weigh_branch,
)
from twinframe_columns.expressions import Condition, Evaluate, ExpressionCompiler
from twinframe_columns.following import (
    Follower,
    find_directions,
    find_ends,
    read_entity_rows,
    weigh_rows,
)
from twinframe_columns.frame import Frame, Run
from twinframe_columns.hops import sample_degree
from twinframe_columns.joining import combine
from twinframe_columns.lists import share_items
from twinframe_columns.members import number_entities
from twinframe_columns.paths import build_path, find_edges
from twinframe_columns.problem import (
    JointCondition,
    Pair,
    Problem,
    Side,
    find_nodes,
    find_pairs,
    find_types,
    narrow_mutual,
)
from twinframe_columns.vectors import NULL, Entities, read_rows
from twinframe_columns.weights import count_weighted

_FEW: Final = 100
_WORTH_COUNTING: Final = 1_000
_WORTH_WEIGHING: Final = 6
"""Relationships that are counted in the time in which one is followed."""
_GATHERING: Final = 0.3
_SPREADING: Final = 1.5
_CLOSING: Final = 3.0


class PatternMatcher:
    """Extends frames by one pattern with its predicate. Immutable, compiled once."""

    def __init__(
        self,
        pattern: GraphPattern,
        predicate: Expression | None,
        expressions: ExpressionCompiler,
        bound: frozenset[str],
    ) -> None:
        if any(path.kind is not PathKind.ALL for path in pattern.paths):
            raise CannotRun("Shortest paths in columns.")
        self._paths = {path.variable: path for path in pattern.paths if path.variable is not None}
        self._bound = bound
        self._expressions = expressions
        self._nodes = {node.variable: node for node in pattern.nodes}
        self._relationships = pattern.relationships
        own_names = [each.variable for each in self._relationships]
        if len({*own_names} | bound) != len(own_names) + len(bound):
            raise CannotRun("A relationship that is bound before.")
        self._walks = frozenset(each.variable for each in self._relationships if each.length)
        self._node_tests: dict[str, list[NodeTest]] = {name: [] for name in self._nodes}
        self._edge_tests: dict[str, list[Condition]] = {name: [] for name in own_names}
        self._conditions: list[JointCondition] = []
        parts: list[NodePattern | RelationshipPattern] = [*pattern.nodes, *pattern.relationships]
        for part in parts:
            for key, value in part.properties:
                member = Property(Variable(part.variable), key)
                equality = Binary(BinaryOperator.EQUAL, member, value)
                self._add_condition(equality, is_own=part.variable in self._walks)
        for each in find_conjuncts(predicate):
            self._add_condition(each)
        self._is_one_node = (
            len(self._nodes) == 1
            and not self._relationships
            and not self._conditions
            and not self._paths
            and not bound
        )

    def _add_condition(self, expression: Expression, *, is_own: bool = False) -> None:
        """Compile a condition; `is_own`: on each relationship of a walk."""
        names, test = find_variables(expression), self._expressions.compile_condition(expression)
        if names & self._paths.keys():
            joint = JointCondition(self._find_parts(names), self._test_paths(test))
            self._conditions.append(joint)
            return
        if is_own and len(names) != 1:
            raise CannotRun("A condition on the relationships of a walk.")
        if names & self._walks and not is_own:
            self._conditions.append(JointCondition(names, test))
            return
        only = next(iter(names)) if len(names) == 1 else None
        if only in self._node_tests and only not in self._bound:
            self._node_tests[only].append(NodeTest(test, self._find_ids(expression, only)))
        elif only in self._edge_tests:
            self._edge_tests[only].append(test)
        else:
            apart, sides = _find_apart(expression), self._find_sides(expression)
            self._conditions.append(JointCondition(names, test, apart, sides))

    def _find_parts(self, names: frozenset[str]) -> frozenset[str]:
        """Return the variables with the parts of paths instead of these."""
        parts = (self._paths[name].elements for name in names & self._paths.keys())
        return (names - self._paths.keys()).union(*parts)

    def _test_paths(self, test: Condition) -> Condition:
        return lambda run, frame: test(run, self._add_paths(frame, self._paths.keys()))

    def _add_paths(self, frame: Frame, names: Collection[str]) -> Frame:
        """Return the frame with those of the paths whose parts it has."""
        known = frame.variables
        added = {
            name: build_path(path, known)
            for name, path in self._paths.items()
            if name in names and known.keys() >= set(path.elements)
        }
        return replace(frame, variables={**known, **added}) if added else frame

    def _find_ids(self, expression: Expression, name: str) -> Evaluate | None:
        match expression:
            case Binary(
                operator=BinaryOperator.EQUAL | BinaryOperator.IN,
                left=Property(subject=Variable(name=subject), key="$dtId"),
                right=value,
            ) if subject == name and not find_variables(value):
                return self._expressions.compile(value)
            case Binary(
                operator=BinaryOperator.EQUAL,
                left=(Literal() | Parameter()) as value,
                right=Property(subject=Variable(name=subject), key="$dtId"),
            ) if subject == name:
                return self._expressions.compile(value)
            case _:
                return None

    def _find_sides(self, expression: Expression) -> tuple[Side, Side] | None:
        if not isinstance(expression, Binary) or expression.operator is not BinaryOperator.EQUAL:
            return None
        names = find_variables(expression.left), find_variables(expression.right)
        if not names[0] or not names[1] or names[0] & names[1]:
            return None
        left, right = (
            self._expressions.compile(one) for one in (expression.left, expression.right)
        )
        return Side(names[0], left), Side(names[1], right)

    def match(self, run: Run, source: Frame, needed: frozenset[str]) -> Frame:
        """Return every way to extend the rows by the pattern, with the variables `needed` at least.

        Rows that are equal in all of these may be one with a weight.
        """
        wanted = self._find_parts(needed)
        if wanted != needed:
            found = self._add_paths(self._match(run, source, wanted), needed)
            return drop(found, needed)
        return self._match(run, source, needed)

    def _match(self, run: Run, source: Frame, needed: frozenset[str]) -> Frame:
        if self._is_one_node and source.count == 1 and not source.variables:
            return self._list_node(run, source, needed)
        candidates = self._find_candidates(run, source)
        pairs = find_pairs(run, self._relationships, lambda a, b: self._may_be_one(run, a, b))
        walked = tuple(pair for pair in pairs if pair & self._walks)
        others = tuple(pair for pair in pairs if not pair & self._walks)
        problem = Problem(candidates, self._relationships, tuple(self._conditions), others)
        problem = drop_implied_pairs(problem)
        problem = replace(problem, pairs=(*problem.pairs, *walked))
        if not needed and not walked:
            tested = frozenset(name for name, tests in self._edge_tests.items() if tests)
            counter = Counter(
                run,
                lambda part, rows: self._solve(run, part, rows, frozenset()),
                self._bound,
                tested,
            )
            if counter.can_count(problem):
                return build_count(counter.count(problem, source))
        return self._solve(run, problem, source, needed)

    def _list_node(self, run: Run, source: Frame, needed: frozenset[str]) -> Frame:
        """PERF: most questions have one node, for which nothing is to be planned."""
        ((name, node),) = self._nodes.items()
        candidates = Candidates(run, node, self._node_tests[name])
        run.reader.check_deadline()
        if name in needed:
            return _add_node(source, name, candidates)
        return build_count(count_frame(source) * len(candidates))

    def _find_candidates(self, run: Run, source: Frame) -> dict[str, Candidates]:
        """Return those of each node. PERF: a few twins of one node lead to few of all others."""
        tests, found = self._node_tests, dict[str, Candidates]()
        few = source.count if self._bound & self._nodes.keys() else _FEW + 1
        by_id = {name for name in self._nodes if any(one.ids for one in tests[name])}
        for name in sorted(self._nodes, key=lambda name: name not in by_id):
            is_late = few <= _FEW and name not in by_id
            found[name] = Candidates(run, self._nodes[name], tests[name], is_late=is_late)
            if name in by_id:
                few = min(few, len(found[name]))
        return {name: found[name] for name in self._nodes}

    def _may_be_one(self, run: Run, one: str, other: str) -> bool:
        models = [run.projection.select_models(self._nodes[name].labels) for name in (one, other)]
        return models[0] is None or models[1] is None or bool(set(models[0]) & set(models[1]))

    def _solve(self, run: Run, problem: Problem, source: Frame, needed: frozenset[str]) -> Frame:
        """Match the parts that hang together one by one, and combine them."""
        problem = narrow_mutual(run, problem)
        search = _Search(run, problem, Follower(run, problem.candidates, self._edge_tests))
        return search.solve(source, needed)


def _find_apart(expression: Expression) -> tuple[str, str] | None:
    """Return the variables that a condition asks to be different twins, if that is all."""
    match expression:
        case Binary(operator=BinaryOperator.NOT_EQUAL, left=left, right=right):
            pass
        case Unary(
            operator=UnaryOperator.NOT,
            operand=Binary(operator=BinaryOperator.EQUAL, left=left, right=right),
        ):
            pass
        case _:
            return None
    match left, right:
        case Variable(name=one), Variable(name=other):
            return one, other
        case (
            Property(subject=Variable(name=one), key="$dtId"),
            Property(subject=Variable(name=other), key="$dtId"),
        ):
            return one, other
        case _:
            return None


@dataclass(slots=True)
class _Search:
    """One search for the matches of a problem."""

    run: Run
    problem: Problem
    follower: Follower
    counts: dict[str, int] = field(default_factory=dict)
    """How many relationships each of the pattern may be."""

    def solve(self, source: Frame, needed: frozenset[str]) -> Frame:
        """Return the matches."""
        problem = self.problem
        bound = frozenset(source.variables)
        frame = source
        for name in bound & problem.nodes:
            frame = _test_bound(frame, name, problem.candidates[name])
        frame, conditions = self._apply(frame, problem.conditions)
        parts = _find_parts(problem, bound)
        first = True
        for part in sorted(parts, key=lambda one: (not one.nodes & bound, self._measure(one))):
            if part.nodes & bound or (first and not bound and frame.count == 1):
                own_source, others = frame, conditions
            else:
                own_source, others = Frame(1, {}), conditions
            inner = [one for one in others if one.names <= part.names | own_source.variables.keys()]
            outer = needed.union(*(one.names for one in others if one not in inner))
            pairs = [pair for pair in problem.pairs if pair <= part.names]
            crossing = [pair for pair in problem.pairs if not pair <= part.names]
            outer = outer.union(*crossing)
            found = self._match_part(own_source, part, inner, pairs, frozenset(outer))
            conditions = [one for one in conditions if one not in inner]
            if own_source is frame:
                frame = found
            else:
                frame, conditions = combine(self.run, frame, found, conditions)
            frame, conditions = self._apply(frame, conditions)
            for name in part.names:
                frame = keep_apart(self.run, frame, name, problem.pairs)
            first = False
        return drop(frame, needed)

    def _measure(self, part: _Part) -> int:
        return min(self.problem.candidates[name].count for name in part.nodes)

    def _apply(
        self, frame: Frame, conditions: Sequence[JointCondition]
    ) -> tuple[Frame, list[JointCondition]]:
        """Apply the conditions whose variables are all bound; return the rest."""
        rest: list[JointCondition] = []
        for condition in conditions:
            if condition.names <= frame.variables.keys():
                holds = condition.test(self.run, frame).true
                if not holds.all():
                    frame = frame.take(holds)
            else:
                rest.append(condition)
        return frame, rest

    def _match_part(
        self,
        frame: Frame,
        part: _Part,
        conditions: Sequence[JointCondition],
        pairs: Sequence[Pair],
        outer: frozenset[str],
    ) -> Frame:
        """Match relationships that hang together; `outer` are the variables that others need."""
        waiting = list(part.relationships)
        if not part.nodes & frame.variables.keys():
            start = self._find_start(part)
            candidates = self.problem.candidates[start]
            if not waiting and not outer and not conditions:
                return build_count(count_frame(frame) * len(candidates))
            frame = _add_node(frame, start, candidates)
        while True:
            self.run.reader.check_deadline()
            frame, conditions = self._apply(frame, conditions)
            kept = _find_kept(outer, waiting, conditions, pairs)
            frame = drop(frame, kept | find_nodes(waiting))
            if not waiting:
                return frame
            reached = [
                each
                for each in waiting
                if each.left in frame.variables or each.right in frame.variables
            ]
            chosen = reached[0]
            if len(reached) > 1:
                chosen = min(reached, key=lambda one: self._estimate(one, frame.variables.keys()))
            known = kept | frame.variables.keys()
            origin, end = find_ends(chosen, frame)
            branch = None
            if end not in frame.variables:
                branch = find_branch(chosen, end, frozenset(known), waiting)
            if branch is not None and self._is_worth(frame, chosen, branch):
                weights = weigh_branch(self.follower, chosen, end, branch)
                own = weights[read_entity_rows(frame, origin)]
                waiting = [each for each in waiting if each not in branch]
                if not waiting and not kept and frame.weights is None:
                    return build_count(int(own.sum()))
                frame = weigh_rows(frame, own.astype(np.int64, copy=False))
                continue
            waiting.remove(chosen)
            frame = self.follower.cross(frame, chosen, is_kept=chosen.variable in kept)
            frame = keep_apart(self.run, frame, chosen.variable, pairs)

    def _is_worth(
        self, frame: Frame, first: RelationshipPattern, branch: Sequence[RelationshipPattern]
    ) -> bool:
        """Whether looking at all relationships of these types costs less than following them."""
        edges = self.run.projection.edges
        counts = [edges[name].count for each in branch for name in find_types(self.run, each)]
        origin, _ = find_ends(first, frame)
        rows = read_entity_rows(frame, origin)
        ways = [
            (edges[name], outgoing)
            for name in find_types(self.run, first)
            for outgoing in find_directions(first, origin)
        ]
        degree = sum(sample_degree(one, rows, outgoing=outgoing) for one, outgoing in ways)
        # PERF: one relationship at most for each row is followed by one look-up.
        is_only = all(one.find_only(outgoing=outgoing) is not None for one, outgoing in ways)
        worth = min(1, _WORTH_WEIGHING) if is_only else _WORTH_WEIGHING
        return frame.count * max(1.0, degree) * worth > sum(counts)

    # --- estimates ----------------------------------------------------------------------------

    def _find_start(self, part: _Part) -> str:
        """Return the node from which the fewest rows are expected in all steps together."""
        if len(part.nodes) == 1:
            return next(iter(part.nodes))
        return min(sorted(part.nodes), key=lambda name: self._estimate_all(name, part))

    def _estimate_all(self, start: str, part: _Part) -> float:
        """Return what all steps from a node on may cost."""
        rows = float(self.problem.candidates[start].count)
        total = 0.0
        known, waiting = {start}, list(part.relationships)
        while waiting:
            reached = [each for each in waiting if {each.left, each.right} & known]
            estimates = [self._estimate(each, known) for each in reached]
            estimate = min(estimates)
            chosen = reached[estimates.index(estimate)]
            if {chosen.left, chosen.right} <= known:
                total += rows * _CLOSING
                rows *= 0.5
            else:
                # PERF: one relationship for each row is followed without moving the rows.
                total += rows * (estimate * _SPREADING if estimate > 1 else _GATHERING)
                rows *= estimate
            known |= {chosen.left, chosen.right}
            waiting.remove(chosen)
        return total

    def _estimate(self, relationship: RelationshipPattern, known: Collection[str]) -> float:
        """Return how many rows there may be for each present one."""
        if {relationship.left, relationship.right} <= set(known):
            return 0.0
        origin, reached = relationship.left, relationship.right
        if origin not in known:
            origin, reached = reached, origin
        count = self.counts.get(relationship.variable)
        if count is None:
            edges = self.run.projection.edges
            count = sum(edges[name].count for name in find_types(self.run, relationship))
            self.counts[relationship.variable] = count
        if relationship.direction is Direction.BOTH:
            count *= 2
        candidates = self.problem.candidates
        degree = count / max(1, candidates[origin].labelled)
        steps = 1 if relationship.length is None else 3
        return degree**steps * candidates[reached].share


@dataclass(frozen=True, slots=True)
class _Part:
    """Nodes and relationships that hang together."""

    nodes: frozenset[str]
    relationships: tuple[RelationshipPattern, ...]

    @property
    def names(self) -> frozenset[str]:
        return self.nodes | {each.variable for each in self.relationships}


def _find_parts(problem: Problem, bound: frozenset[str]) -> list[_Part]:
    """Return the parts that hang together; all with a bound node are one."""
    roots = {name: name for name in problem.nodes}

    def find(name: str) -> str:
        while roots[name] != name:
            name = roots[name]
        return name

    held = [name for name in problem.nodes if name in bound]
    links = [(each.left, each.right) for each in problem.relationships]
    links += [(held[0], name) for name in held[1:]]
    for one, other in links:
        roots[find(other)] = find(one)
    groups: dict[str, set[str]] = {}
    for name in problem.nodes:
        groups.setdefault(find(name), set()).add(name)
    return [
        _Part(
            frozenset(nodes),
            tuple(each for each in problem.relationships if each.left in nodes),
        )
        for nodes in groups.values()
    ]


# --- frames ---------------------------------------------------------------------------------------


def _add_node(frame: Frame, name: str, candidates: Candidates) -> Frame:
    """Bind a node in a frame of one row without variables."""
    count = len(candidates)
    weights = None if frame.weights is None else np.repeat(frame.weights, count)
    return Frame(count, {name: Entities(candidates.rows)}, weights)


def _test_bound(frame: Frame, name: str, candidates: Candidates) -> Frame:
    vector = frame.variables[name]
    if vector == NULL:
        return frame.take(np.empty(0, np.int32))
    if isinstance(vector, Entities) and vector.valid is not None:
        # NOTE: nothing matches a twin that is null.
        rows = read_rows(vector.rows)[vector.valid]
        frame = frame.take(vector.valid)
        frame = replace(frame, variables={**frame.variables, name: Entities(rows)})
    rows = read_rows(read_entity_rows(frame, name))
    holds = None if candidates.is_free else candidates.hold(rows)
    return frame if holds is None else frame.take(holds)


def _find_kept(
    needed: frozenset[str],
    waiting: Sequence[RelationshipPattern],
    conditions: Sequence[JointCondition],
    pairs: Collection[Pair],
) -> frozenset[str]:
    """Return the variables whose values are needed, and not only how many there are."""
    kept = needed.union(*(condition.names for condition in conditions))
    open_ones = {each.variable for each in waiting}
    return kept.union(*(pair for pair in pairs if pair & open_ones))


def drop(frame: Frame, kept: frozenset[str]) -> Frame:
    """Drop what is needed no more, and count equal twins where they alone are left."""
    variables = {name: one for name, one in frame.variables.items() if name in kept}
    frame = Frame(frame.count, variables, frame.weights)
    if not variables:
        return build_count(count_frame(frame))
    if len(variables) != 1 or frame.count < _WORTH_COUNTING:
        return frame
    ((name, vector),) = variables.items()
    if not isinstance(vector, Entities) or vector.edges is not None or vector.valid is not None:
        return frame
    if isinstance(vector.rows, slice) or _is_ascending(vector.rows):
        return frame
    counts = count_weighted(vector.rows, frame.weights, 0)
    rows = np.flatnonzero(counts)
    if len(rows) * 2 > frame.count:
        return frame
    return Frame(len(rows), {name: Entities(rows.astype(np.int32))}, counts[rows])


def build_count(total: int) -> Frame:
    """A frame without variables that stands for so many rows."""
    if total >= k.LARGEST_INTEGER:
        raise CannotRun("More rows than a float counts.")
    return Frame(1, {}, np.array([total], np.int64)) if total else Frame(0, {})


def _is_ascending(rows: object) -> bool:
    assert isinstance(rows, np.ndarray)  # noqa: S101  # no slice
    return bool((rows[1:] > rows[:-1]).all())


def keep_apart(run: Run, frame: Frame, name: str, pairs: Collection[Pair]) -> Frame:
    """Leave out rows in which a relationship, or one of a walk, is one that the match has used."""
    for pair in pairs:
        for other in pair - {name} if name in pair else ():
            vector, used = frame.variables.get(name), frame.variables.get(other)
            if vector is None or used is None:
                continue
            if find_edges(vector) != find_edges(used):
                vector, used = number_entities(run, vector), number_entities(run, used)
            if isinstance(vector, Entities) and isinstance(used, Entities):
                frame = frame.take(read_rows(vector.rows) != read_rows(used.rows))
            else:
                frame = frame.take(~share_items(vector, used, frame.count))
    return frame
