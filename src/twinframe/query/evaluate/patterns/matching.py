"""Runs the steps of a planned pattern: generators over rows, each step feeding the next.

Every step keeps the order of its input rows, so that all matches of one source row are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import equals, name_type
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import (
    Direction,
    Expression,
    GraphPattern,
    Length,
    Literal,
    PathKind,
    RelationshipPattern,
)
from twinframe.query.evaluate.analysis import build_conjunction
from twinframe.query.evaluate.expressions import compile_expression, compile_test
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.evaluate.labels import compile_labels
from twinframe.query.evaluate.looking_ahead import compile_look_ahead
from twinframe.query.evaluate.patterns.batches import (
    Adjacency,
    cross_known,
    find_node,
    orient,
    read_batches,
    read_needed_nodes,
)
from twinframe.query.evaluate.patterns.layout import layout_pattern
from twinframe.query.evaluate.patterns.paths import compile_path
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
from twinframe.query.evaluate.patterns.walks import Walk, Walker
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.evaluate.scope import Scope
from twinframe.query.reader import Hop

Stage: TypeAlias = Callable[[Run, Iterator[Row]], Iterator[Row]]
"""A compiled step: extends its input rows."""


def compile_pattern(
    pattern: GraphPattern, predicate: Expression | None, scope: Scope
) -> tuple[Scope, Stage]:
    """Return the scope of the extended rows, and the function that extends rows of `scope`."""
    stages: list[Stage] = []
    steps = layout_pattern(pattern, predicate, scope.names, scope.plans.mentioned)
    checks = [step.predicate for step in steps if isinstance(step, CheckPredicate)]
    is_split = len(checks) > 1 or any(isinstance(step, CheckPredicate) for step in steps[:-1])
    doubts = _Doubts()
    for step in steps:
        if isinstance(step, CheckPredicate) and is_split:
            stages.append(_compile_early_check(step, scope, doubts))
        else:
            scope, stage = _compile_step(step, scope)
            stages.append(stage)
    if is_split:
        stages.append(_compile_last_check(checks, scope, doubts))

    def match(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for stage in stages:
            rows = stage(run, rows)
        return rows

    return scope, match


def _compile_step(step: Step, scope: Scope) -> tuple[Scope, Stage]:
    match step:
        case ScanNodes():
            return scope.extend(step.node.variable), _compile_scan_nodes(step)
        case SeekNodes():
            return scope.extend(step.node.variable), _compile_seek_nodes(step, scope)
        case ScanRelationships():
            names = (step.relationship.variable, step.start.variable)
            return scope.extend(*names), _compile_scan_relationships(step)
        case SeekEnd():
            return scope.extend(step.node.variable), _compile_seek_end(step, scope)
        case CheckNode():
            return scope, _compile_check_node(step, scope)
        case CheckLabels():
            return scope, _compile_check_labels(step, scope)
        case CheckPredicate():
            return scope, compile_filter(step.predicate, scope)
        case Expand():
            return _extend(scope, step.cross, step.relationship_bound), _compile_expand(step, scope)
        case ExpandVariable():
            extended = _extend(scope, step.cross, step.relationship_bound)
            return extended, _compile_expand_variable(step, scope)
        case ShortestPath():
            return _extend(scope, step.cross, False), _compile_shortest(step, scope)
        case BuildPath():
            return scope.extend(step.path.variable or ""), compile_path(step.path, scope)
        case _:
            assert_never(step)


def _extend(scope: Scope, cross: Cross, relationship_bound: bool) -> Scope:
    names = () if relationship_bound else (cross.relationship.variable,)
    return scope.extend(*names, *(() if cross.target_bound else (cross.target.variable,)))


# --- starts -------------------------------------------------------------------------------------


def _compile_scan_nodes(step: ScanNodes) -> Stage:
    labels = step.node.labels

    def scan(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        return _multiply(run, rows, lambda: ((node,) for node in run.reader.scan_nodes(labels)))

    return scan


def _multiply(run: Run, rows: Iterator[Row], scan: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """Combine each row with all scanned items: one row streams, for several the scan is kept."""
    first = next(rows, None)
    if first is None:
        return
    second = next(rows, None)
    if second is None:
        for found in scan():
            run.budget.tick()
            yield first + found
        return
    kept: list[Row] = []
    held = run.budget.open()
    for found in scan():
        held.add_row(found)
        kept.append(found)
        run.budget.tick()
        yield first + found
    while second is not None:
        for found in kept:
            run.budget.tick()
            yield second + found
        second = next(rows, None)
    held.release()


def _compile_seek_nodes(step: SeekNodes, scope: Scope) -> Stage:
    ids = compile_expression(step.ids, scope)

    def seek(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for batch in read_batches(rows, run.reader):
            wanted = [(row, _list_ids(ids(row, run))) for row in batch]
            found = run.reader.read_nodes(tuple({one: None for _, all_ in wanted for one in all_}))
            for row, row_ids in wanted:
                for one in row_ids:
                    run.budget.tick()
                    if one in found:
                        yield (*row, found[one])

    return seek


def _list_ids(value: Value) -> Sequence[str]:
    """Return the ids that a `$dtId` may equal: the predicate itself is tested again on the
    result.
    """
    if isinstance(value, list):
        return tuple(dict.fromkeys(one for one in value if isinstance(one, str)))
    return (value,) if isinstance(value, str) else ()


def _compile_scan_relationships(step: ScanRelationships) -> Stage:
    types, direction, reads = step.relationship.types, step.relationship.direction, step.reads_start

    def scan_starts(run: Run) -> Iterator[Row]:
        for batch in read_batches(run.reader.scan_relationships(types), run.reader):
            starts = [(one, start) for one in batch for start in _list_starts(one, direction)]
            nodes = read_needed_nodes(run.reader, (start for _, start in starts), reads=reads)
            for one, start in starts:
                node = find_node(nodes, start, reads=reads)
                if node is not None:
                    yield one, node

    def scan(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        return _multiply(run, rows, lambda: scan_starts(run))

    return scan


def _list_starts(relationship: Relationship, direction: Direction) -> tuple[str, ...]:
    """Return the ids that the left end of the pattern may have."""
    match direction:
        case Direction.OUTGOING:
            return (relationship.source,)
        case Direction.INCOMING:
            return (relationship.target,)
        case Direction.BOTH:
            return tuple(dict.fromkeys((relationship.source, relationship.target)))


def _compile_seek_end(step: SeekEnd, scope: Scope) -> Stage:
    slot, direction = scope.find_slot(step.relationship.variable), step.relationship.direction

    def seek(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for batch in read_batches(rows, run.reader):
            starts = [
                (row, start)
                for row in batch
                if isinstance(relationship := row[slot], Relationship)
                for start in _list_starts(relationship, direction)
            ]
            nodes = run.reader.read_nodes(tuple({start: None for _, start in starts}))
            for row, start in starts:
                if start in nodes:
                    yield (*row, nodes[start])

    return seek


# --- tests --------------------------------------------------------------------------------------


def compile_filter(predicate: Expression, scope: Scope) -> Stage:
    """Keeps the rows for which the predicate is true."""
    holds = compile_test(predicate, scope, "WHERE")
    look_ahead = compile_look_ahead([predicate], [holds])

    def keep(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for row in look_ahead(run, rows):
            run.budget.tick()
            if holds(row, run):
                yield row

    return keep


@dataclass(slots=True)
class _Doubts:
    """Whether a condition tested early had an error that another condition may make irrelevant."""

    found: bool = False


def _compile_early_check(step: CheckPredicate, scope: Scope, doubts: _Doubts) -> Stage:
    """Drop the rows for which a condition, one of several, is not true; errors are deferred.

    SPEC: the conditions are the operands of one AND, of which any that is not true decides.
    """
    holds = compile_test(step.predicate, scope, "WHERE")
    look_ahead = compile_look_ahead([step.predicate], [holds])

    def keep(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for row in look_ahead(run, rows):
            run.budget.tick()
            try:
                is_kept = holds(row, run)
            except QueryInvalid:
                doubts.found = is_kept = True
            if is_kept:
                yield row

    return keep


def _compile_last_check(checks: Sequence[Expression], scope: Scope, doubts: _Doubts) -> Stage:
    """Test all conditions again, on complete rows, once one of them had an error."""
    keep = compile_filter(build_conjunction(checks) or Literal(value=True), scope)

    def check(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if not doubts.found:
                yield row
            else:
                yield from keep(run, iter((row,)))

    return check


def _compile_check_node(step: CheckNode, scope: Scope) -> Stage:
    slot = scope.find_slot(step.variable)

    def keep(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            value = row[slot]
            if isinstance(value, Node):
                yield row
            elif value is not None:
                error = build_type_error(
                    f"({step.variable}) must be a Node to match a pattern, not {name_type(value)}."
                )
                raise note_span(error, step.span)

    return keep


def _compile_check_labels(step: CheckLabels, scope: Scope) -> Stage:
    slot, holds = scope.find_slot(step.variable), compile_labels(step.labels)

    def keep(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            value = row[slot]
            if isinstance(value, Node) and holds(value.labels):
                yield row

    return keep


# --- one relationship ---------------------------------------------------------------------------


def _compile_expand(step: Expand, scope: Scope) -> Stage:
    cross = step.cross
    relationship = cross.relationship
    direction = orient(relationship.direction, backwards=cross.reversed)
    origin_slot = scope.find_slot(cross.origin)
    known_slot = scope.find_slot(relationship.variable) if step.relationship_bound else None
    find_used, finish = _compile_used(cross, scope), _compile_finish(cross, scope)

    def read(run: Run, batch: Sequence[Row]) -> Iterator[tuple[Row, Hop]]:
        if known_slot is not None:
            return _find_known_hops(batch, origin_slot, known_slot, direction, relationship)
        return _read_hops(run, batch, origin_slot, direction, relationship.types)

    def walk(run: Run, rows: Iterator[Row]) -> Iterator[tuple[Row, str]]:
        for batch in read_batches(rows, run.reader):
            for row, hop in read(run, batch):
                if hop.relationship not in find_used(row):
                    yield row if known_slot is not None else (*row, hop.relationship), hop.reached

    return lambda run, rows: finish(run, walk(run, rows))


def _read_hops(
    run: Run, batch: Sequence[Row], slot: int, direction: Direction, types: Sequence[str]
) -> Iterator[tuple[Row, Hop]]:
    """Yield each row of the batch with each hop from its origin. A batch of one row streams."""
    origins = [node.id for row in batch if isinstance(node := row[slot], Node)]
    if len(batch) == 1:
        for hop in run.reader.read_hops(origins, direction, types):
            run.budget.tick()
            yield batch[0], hop
        return
    found: dict[str, list[Hop]] = {one: [] for one in origins}
    for hop in run.reader.read_hops(tuple(found), direction, types):
        run.budget.tick()
        found[hop.origin].append(hop)
    for row in batch:
        node = row[slot]
        if isinstance(node, Node):
            for hop in found[node.id]:
                yield row, hop


def _find_known_hops(
    batch: Sequence[Row],
    origin_slot: int,
    known_slot: int,
    direction: Direction,
    pattern: RelationshipPattern,
) -> Iterator[tuple[Row, Hop]]:
    for row in batch:
        origin, known = row[origin_slot], row[known_slot]
        if isinstance(origin, Node) and isinstance(known, Relationship):
            reached = cross_known(origin.id, known, direction, pattern.types)
            if reached is not None:
                yield row, Hop(origin.id, known, reached)


def _compile_used(cross: Cross, scope: Scope) -> Callable[[Row], Sequence[Relationship]]:
    """Return the relationships that the match uses already in a row, including lists of them."""
    slots = [scope.find_slot(name) for name in cross.used]
    if not slots:
        return lambda row: ()

    def find(row: Row) -> Sequence[Relationship]:
        used: list[Relationship] = []
        for slot in slots:
            value = row[slot]
            if isinstance(value, Relationship):
                used.append(value)
            elif isinstance(value, list):
                used += (one for one in value if isinstance(one, Relationship))
        return used

    return find


def _compile_finish(
    cross: Cross, scope: Scope
) -> Callable[[Run, Iterator[tuple[Row, str]]], Iterator[Row]]:
    """Bind the target node to the id reached, or check that it is bound to it already."""
    if cross.target_bound:
        slot = scope.find_slot(cross.target.variable)

        def check(run: Run, crossed: Iterator[tuple[Row, str]]) -> Iterator[Row]:
            for row, reached in crossed:
                node = row[slot]
                if isinstance(node, Node) and node.id == reached:
                    yield row

        return check
    reads = cross.reads_target

    def bind(run: Run, crossed: Iterator[tuple[Row, str]]) -> Iterator[Row]:
        for batch in read_batches(crossed, run.reader):
            nodes = read_needed_nodes(run.reader, (reached for _, reached in batch), reads=reads)
            for row, reached in batch:
                node = find_node(nodes, reached, reads=reads)
                if node is not None:
                    yield (*row, node)

    return bind


# --- many relationships -------------------------------------------------------------------------


def _compile_expand_variable(step: ExpandVariable, scope: Scope) -> Stage:
    cross = step.cross
    build_walker = _compile_walker(cross, step.length, step.filters, scope)
    origin_slot = scope.find_slot(cross.origin)
    known_slot = scope.find_slot(cross.relationship.variable) if step.relationship_bound else None
    finish = _compile_finish(cross, scope)

    def walk(run: Run, rows: Iterator[Row]) -> Iterator[tuple[Row, str]]:
        adjacency = _build_adjacency(run, cross)
        for batch in read_batches(rows, run.reader):
            adjacency.load([node.id for row in batch if isinstance(node := row[origin_slot], Node)])
            for row in batch:
                origin = row[origin_slot]
                if not isinstance(origin, Node):
                    continue
                for found in build_walker(run, row, adjacency).walk(origin.id):
                    crossed = _list_crossed(found, cross)
                    if known_slot is None:
                        yield (*row, crossed), found[1]
                    elif equals(row[known_slot], crossed) is True:
                        yield row, found[1]

    return lambda run, rows: finish(run, walk(run, rows))


def _compile_shortest(step: ShortestPath, scope: Scope) -> Stage:
    cross = step.cross
    build_walker = _compile_walker(cross, step.length, step.filters, scope)
    origin_slot = scope.find_slot(cross.origin)
    target_slot = scope.find_slot(cross.target.variable)

    def expand(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        adjacency = _build_adjacency(run, cross)
        for row in rows:
            origin, target = row[origin_slot], row[target_slot]
            if not isinstance(origin, Node) or not isinstance(target, Node):
                continue
            for found in build_walker(run, row, adjacency).find_shortest(origin.id, target.id):
                crossed = _list_crossed(found, cross)
                yield (*row, crossed if step.is_list else crossed[0])
                if step.kind is PathKind.SHORTEST:
                    break

    return expand


def _compile_walker(
    cross: Cross, length: Length, filters: Sequence[tuple[str, Expression]], scope: Scope
) -> Callable[[Run, Row, Adjacency], Walker]:
    find_used = _compile_used(cross, scope)
    wanted = [(key, compile_expression(value, scope)) for key, value in filters]

    def build(run: Run, row: Row, adjacency: Adjacency) -> Walker:
        accepts = _build_filter(wanted, row, run)
        return Walker(run, adjacency, length, accepts, find_used(row))

    return build


def _build_filter(
    wanted: Sequence[tuple[str, Evaluate]], row: Row, run: Run
) -> Callable[[Relationship], bool]:
    if not wanted:
        return lambda relationship: True
    values: Mapping[str, Value] = {key: value(row, run) for key, value in wanted}

    def accepts(relationship: Relationship) -> bool:
        return all(
            equals(run.read_own_member(relationship, key), value) is True
            for key, value in values.items()
        )

    return accepts


def _build_adjacency(run: Run, cross: Cross) -> Adjacency:
    pattern = cross.relationship
    return Adjacency(run, orient(pattern.direction, backwards=cross.reversed), pattern.types)


def _list_crossed(walk: Walk, cross: Cross) -> list[Value]:
    """List the relationships in the pattern's order, from its left to its right."""
    return [*reversed(walk[0])] if cross.reversed else [*walk[0]]
