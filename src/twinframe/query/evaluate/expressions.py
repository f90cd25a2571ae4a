"""Compiles an algebra expression, once per plan, to a Python closure over a row.

Correlated plans are compiled through the scope.

PERF: a closure per node of the expression tree costs one Python call each, about a third of walking
the tree for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never, cast

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import INTEGER_MAXIMUM, equals, name_type, read_text
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Case,
    Expression,
    FunctionCall,
    HasLabels,
    ListComprehension,
    ListExpression,
    Literal,
    MapExpression,
    Parameter,
    Property,
    Quantifier,
    QuantifierKind,
    Reduce,
    Slice,
    Subplan,
    SubplanKind,
    Subscript,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.evaluate.calls import compile_call
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.evaluate.labels import compile_labels
from twinframe.query.evaluate.logic import (
    OperandSpans,
    Test,
    check_truth,
    compile_binary,
    compile_joint_test,
    compile_unary,
)
from twinframe.query.evaluate.looking_ahead import compile_look_ahead
from twinframe.query.evaluate.members import has_member, read_member, read_slice, read_subscript
from twinframe.query.evaluate.membership import compile_membership
from twinframe.query.evaluate.ranges import (
    ANSWERS,
    PARTS,
    EvaluateItems,
    build_list,
    build_range,
    reads_range,
)
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.evaluate.scope import Scope
from twinframe.query.spans import Span


def compile_expression(  # noqa: C901  # one arm an expression kind
    expression: Expression, scope: Scope
) -> Evaluate:
    """Compile an expression to a function from a row of `scope` (and the run) to its value."""
    match expression:
        case Literal(value=value):
            return lambda row, run: value
        case Parameter(name=name):
            return lambda row, run: run.read_parameter(name)
        case Variable(name=name):
            return _compile_variable(name, scope)
        case Property():
            return _compile_property(expression, scope)
        case Subscript():
            return _locate(_compile_subscript(expression, scope), expression.span)
        case Slice() if reads_range(expression):
            return _compile_built(expression, scope)
        case Slice():
            slicing = cast("Evaluate", _compile_slice(expression, scope))
            return _locate(slicing, expression.span)
        case ListExpression():
            return _compile_list(expression, scope)
        case MapExpression():
            return _compile_map(expression, scope)
        case Unary(operator=operator, operand=operand):
            inner = compile_expression(operand, scope)
            return _locate(compile_unary(operator, inner, operand.span), expression.span)
        case Binary(operator=BinaryOperator.IN, left=item, right=items):
            sought, listed = compile_expression(item, scope), compile_items(items, scope)
            return _locate(compile_membership(sought, listed), items.span)
        case Binary(operator=binary, left=left, right=right):
            sides = compile_expression(left, scope), compile_expression(right, scope)
            return compile_binary(
                binary, *sides, OperandSpans(expression.span, left.span, right.span)
            )
        case HasLabels():
            return _locate(_compile_has_labels(expression, scope), expression.subject.span)
        case Case():
            return _compile_case(expression, scope)
        case FunctionCall():
            return _locate(_compile_function(expression, scope), expression.span)
        case ListComprehension():
            return _compile_comprehension(expression, scope)
        case Quantifier():
            return _compile_quantifier(expression, scope)
        case Reduce():
            return _compile_reduce(expression, scope)
        case Subplan():
            return _compile_subplan(expression, scope)
        case _:
            assert_never(expression)


def _locate(evaluate: Evaluate, span: Span | None) -> Evaluate:
    """Wrap the function to add `span` to its errors."""

    def evaluate_here(row: Row, run: Run) -> Value:
        try:
            return evaluate(row, run)
        except QueryInvalid as error:
            raise note_span(error, span) from None

    return evaluate_here


def compile_items(expression: Expression, scope: Scope) -> EvaluateItems:
    """Compile as `compile_expression`, for a use that only iterates over a list: ranges are not
    built.
    """
    match expression:
        case FunctionCall(name="range"):
            bounds = [compile_expression(one, scope) for one in expression.arguments]
            ranging = cast(
                "Evaluate", lambda row, run: build_range(*[one(row, run) for one in bounds])
            )
            return _locate(ranging, expression.span)
        case FunctionCall(name=name, arguments=(source,)) if reads_range(expression):
            part, numbers = PARTS[name], _compile_numbers(source, scope)
            return lambda row, run: None if (found := numbers(row, run)) is None else part(found)
        case Slice():
            slicing = cast("Evaluate", _compile_slice(expression, scope))
            return _locate(slicing, expression.span)
        case _:
            return compile_expression(expression, scope)


def compile_test(expression: Expression, scope: Scope, place: str, *, wanted: bool = True) -> Test:
    """Compile a test whether the expression is `wanted`: a condition, for which null and the other
    value are alike.

    `place` names its position. A value that is no boolean is an error unless something else
    decides: any operand that is not true does so for an AND that is to be true.
    """
    match expression:
        case Unary(operator=UnaryOperator.NOT, operand=operand):
            return compile_test(operand, scope, "NOT", wanted=not wanted)
        case Binary(operator=BinaryOperator.AND | BinaryOperator.OR as word, left=one, right=other):
            left = compile_test(one, scope, word.value, wanted=wanted)
            right = compile_test(other, scope, word.value, wanted=wanted)
            return compile_joint_test(left, right, decisive=(word is BinaryOperator.OR) is wanted)
        case Quantifier(kind=QuantifierKind.ANY) if wanted:
            return _compile_some(expression, scope)
        case _:
            value, span = compile_expression(expression, scope), expression.span
            return lambda row, run: check_truth(value(row, run), place, span) is wanted


# --- reaching values ----------------------------------------------------------------------------


def _compile_variable(name: str, scope: Scope) -> Evaluate:
    slot = scope.find_slot(name)
    return lambda row, run: row[slot]


def _compile_property(expression: Property, scope: Scope) -> Evaluate:
    key, typing = expression.key, scope.plans.typing
    if typing is not None and key in typing.names:
        subject = compile_expression(expression.subject, scope)
        return _locate(_compile_typed_property(subject, key), expression.span)
    if isinstance(expression.subject, Variable):
        slot = scope.find_slot(expression.subject.name)
        return _compile_variable_property(slot, key, expression.span)
    subject = compile_expression(expression.subject, scope)
    return _locate(lambda row, run: read_member(subject(row, run), key), expression.span)


def _compile_variable_property(slot: int, key: str, span: Span | None) -> Evaluate:
    # PERF: most expressions are `n.key`; this saves a call and the type tests of `read_member`.
    def evaluate(row: Row, run: Run) -> Value:
        subject = row[slot]
        if type(subject) is Node or type(subject) is Relationship:
            return subject.document.get(key)  # type: ignore[return-value]  # JSON values are values
        try:
            return read_member(subject, key)
        except QueryInvalid as error:
            raise note_span(error, span) from None

    return evaluate


def _compile_typed_property(subject: Evaluate, key: str) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        owner = subject(row, run)
        if isinstance(owner, Node | Relationship):
            return run.read_own_member(owner, key)
        return read_member(owner, key)

    return evaluate


def _compile_subscript(expression: Subscript, scope: Scope) -> Evaluate:
    subject = compile_items(expression.subject, scope)
    index = compile_expression(expression.index, scope)
    if scope.plans.typing is not None:
        return _compile_typed_subscript(subject, index)
    return lambda row, run: read_subscript(subject(row, run), index(row, run))


def _compile_typed_subscript(subject: EvaluateItems, index: Evaluate) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        owner, key = subject(row, run), index(row, run)
        if isinstance(owner, Node | Relationship) and isinstance(key, str):
            return run.read_own_member(owner, key)
        return read_subscript(owner, key)

    return evaluate


def _compile_slice(expression: Slice, scope: Scope) -> EvaluateItems:
    subject = compile_items(expression.subject, scope)
    start = compile_expression(expression.start or Literal(0), scope)
    end = compile_expression(expression.end or Literal(INTEGER_MAXIMUM), scope)
    return lambda row, run: read_slice(subject(row, run), start(row, run), end(row, run))


def compile_presence(expression: Expression, scope: Scope) -> Evaluate:
    """Compile whether the expression names something present: null members are, missing ones are
    not.

    Expressions other than members count as present when they are not null.
    """
    match expression:
        case Property(subject=subject, key=key):
            holder = compile_expression(subject, scope)
            return lambda row, run: has_member(holder(row, run), key)
        case Subscript(subject=subject, index=index):
            holder, name = compile_expression(subject, scope), compile_expression(index, scope)
            return lambda row, run: has_member(holder(row, run), name(row, run))
        case Subplan(kind=SubplanKind.EXISTS):
            return _compile_subplan(expression, scope)
        case _:
            value = compile_expression(expression, scope)
            return lambda row, run: value(row, run) is not None


# --- building values ----------------------------------------------------------------------------


def _compile_list(expression: ListExpression, scope: Scope) -> Evaluate:
    constants: list[Value] = [one.value for one in expression.items if isinstance(one, Literal)]
    if len(constants) == len(expression.items):
        # PERF: one list for all rows, as no value is ever changed; a list may have thousands.
        return lambda row, run: constants
    items = [compile_expression(item, scope) for item in expression.items]

    def evaluate(row: Row, run: Run) -> Value:
        built = [item(row, run) for item in items]
        run.budget.check_members(built)
        return built

    return evaluate


def _compile_map(expression: MapExpression, scope: Scope) -> Evaluate:
    entries = [(key, compile_expression(value, scope)) for key, value in expression.entries]

    def evaluate(row: Row, run: Run) -> Value:
        built = {key: value(row, run) for key, value in entries}
        run.budget.check_members(built.values())
        return built

    return evaluate


def _compile_numbers(source: Expression, scope: Scope) -> Callable[[Row, Run], range | None]:
    return cast("Callable[[Row, Run], range | None]", compile_items(source, scope))


def _compile_built(expression: Expression, scope: Scope) -> Evaluate:
    """Compile a part of a range that is kept: only the part is built."""
    numbers = _compile_numbers(expression, scope)
    return lambda row, run: build_list(numbers(row, run), run)


def _compile_function(expression: FunctionCall, scope: Scope) -> Evaluate:
    name = expression.name
    if name in PARTS and reads_range(expression):
        return _compile_built(expression, scope)
    if name in ANSWERS and reads_range(expression.arguments[0]):
        answer, numbers = ANSWERS[name], _compile_numbers(expression.arguments[0], scope)
        return lambda row, run: None if (found := numbers(row, run)) is None else answer(found)
    arguments = [compile_expression(one, scope) for one in expression.arguments]
    presences = [compile_presence(one, scope) for one in expression.arguments]
    call = compile_call(name, arguments, presences)
    if scope.plans.typing is None:
        return call
    return _or_else(call, compile_call(name, [*map(_compile_text, arguments)], presences))


def _or_else(call: Evaluate, of_texts: Evaluate) -> Evaluate:
    """Wrap a function; if it takes no stored times it gets the text that is stored."""

    def evaluate(row: Row, run: Run) -> Value:
        try:
            return call(row, run)
        except QueryInvalid:
            return of_texts(row, run)

    return evaluate


def _compile_text(argument: Evaluate) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        value = argument(row, run)
        stored = read_text(value)
        return value if stored is None else stored

    return evaluate


def _compile_has_labels(expression: HasLabels, scope: Scope) -> Evaluate:
    subject = compile_expression(expression.subject, scope)
    holds = compile_labels(expression.labels)

    def evaluate(row: Row, run: Run) -> Value:
        match subject(row, run):
            case None:
                return None
            case Node(labels=labels):
                return holds(labels)
            case Relationship(type=kind):
                return holds(frozenset((kind,)))
            case other:
                raise build_type_error(
                    f"Labels belong to a Node or Relationship, not to {name_type(other)}."
                )

    return evaluate


def _compile_case(expression: Case, scope: Scope) -> Evaluate:
    default = compile_expression(expression.default or Literal(None), scope)
    if expression.operand is None:
        tests = [
            (compile_test(when, scope, "CASE WHEN"), compile_expression(then, scope))
            for when, then in expression.branches
        ]

        def search(row: Row, run: Run) -> Value:
            for holds, then in tests:
                if holds(row, run):
                    return then(row, run)
            return default(row, run)

        return search
    branches = [
        (compile_expression(when, scope), compile_expression(then, scope))
        for when, then in expression.branches
    ]
    operand = compile_expression(expression.operand, scope)

    def choose(row: Row, run: Run) -> Value:
        value = operand(row, run)
        for when, then in branches:
            if equals(value, when(row, run)) is True:
                return then(row, run)
        return default(row, run)

    return choose


# --- lists --------------------------------------------------------------------------------------


def _compile_elements(
    source: Expression, scope: Scope, name: str
) -> Callable[[Row, Run], Sequence[Value] | None]:
    values = compile_items(source, scope)

    def evaluate(row: Row, run: Run) -> Sequence[Value] | None:
        value = values(row, run)
        if value is None or isinstance(value, list | range):
            return value
        error = build_type_error(f"{name} goes over a List, not over {name_type(value)}.")
        raise note_span(error, source.span)

    return evaluate


def _compile_comprehension(expression: ListComprehension, scope: Scope) -> Evaluate:
    elements = _compile_elements(expression.source, scope, "A list comprehension")
    inner = scope.extend(expression.variable)
    predicate = expression.predicate or Literal(True)
    projection = expression.projection or Variable(expression.variable)
    keeps = compile_test(predicate, inner, "WHERE")
    project = compile_expression(projection, inner)
    look_ahead = compile_look_ahead([predicate, projection], [keeps, project])

    def evaluate(row: Row, run: Run) -> Value:
        items = elements(row, run)
        if items is None:
            return None
        kept: list[Value] = []
        size = 0
        for extended in look_ahead(run, ((*row, item) for item in items)):
            run.budget.tick()
            if keeps(extended, run):
                value = project(extended, run)
                kept.append(value)
                run.budget.check_length(len(kept))
                size = run.budget.add_member(size, value)
        return kept

    return evaluate


def _compile_some(expression: Quantifier, scope: Scope) -> Test:
    """Compile whether `any(...)` is true: an OR of its elements, so that one decides."""
    elements = _compile_elements(expression.source, scope, "any()")
    holds = compile_test(expression.predicate, scope.extend(expression.variable), "any()")
    look_ahead = compile_look_ahead([expression.predicate], [holds])

    def test(row: Row, run: Run) -> bool:
        failure: QueryInvalid | None = None
        for extended in look_ahead(run, ((*row, item) for item in elements(row, run) or ())):
            run.budget.tick()
            try:
                if holds(extended, run):
                    return True
            except QueryInvalid as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return False

    return test


def _compile_quantifier(expression: Quantifier, scope: Scope) -> Evaluate:
    """SPEC: `any` is an OR of its elements and `all` an AND: as there, what decides does so."""
    place = f"{expression.kind.value}()"
    elements = _compile_elements(expression.source, scope, place)
    predicate = compile_expression(expression.predicate, scope.extend(expression.variable))
    kind, span = expression.kind, expression.predicate.span
    look_ahead = compile_look_ahead([expression.predicate], [predicate])
    decisive = kind is not QuantifierKind.ALL
    needed = 2 if kind is QuantifierKind.SINGLE else 1

    def evaluate(row: Row, run: Run) -> Value:
        items = elements(row, run)
        if items is None:
            return None
        found, has_null = 0, False
        failure: QueryInvalid | None = None
        for extended in look_ahead(run, ((*row, item) for item in items)):
            run.budget.tick()
            try:
                # NOTE: checked one by one, because in Python 1 == True.
                answer = check_truth(predicate(extended, run), place, span)
            except QueryInvalid as error:
                failure = failure or error
                continue
            has_null = has_null or answer is None
            found += answer is decisive
            if found == needed:
                return kind is QuantifierKind.ANY
        if failure is not None:
            raise failure
        if has_null:
            return None
        return found == 1 if kind is QuantifierKind.SINGLE else kind is not QuantifierKind.ANY

    return evaluate


def _compile_reduce(expression: Reduce, scope: Scope) -> Evaluate:
    elements = _compile_elements(expression.source, scope, "reduce()")
    initial = compile_expression(expression.initial, scope)
    step = compile_expression(
        expression.step, scope.extend(expression.accumulator, expression.variable)
    )
    # What a step asks of the past does not depend on the others, in most queries.
    look_ahead = compile_look_ahead([expression.step], [step])

    def evaluate(row: Row, run: Run) -> Value:
        items = elements(row, run)
        if items is None:
            return None
        accumulated = first = initial(row, run)
        for extended in look_ahead(run, ((*row, first, item) for item in items)):
            run.budget.tick()
            accumulated = step((*row, accumulated, extended[-1]), run)
        return accumulated

    return evaluate


# --- correlated plans ---------------------------------------------------------------------------


def _compile_subplan(expression: Subplan, scope: Scope) -> Evaluate:
    compiled = scope.plans.compile_subplan(expression.plan, scope)
    stream = compiled.stream
    match expression.kind:
        case SubplanKind.EXISTS:
            return lambda row, run: next(stream(run, row), None) is not None
        case SubplanKind.COUNT:
            return lambda row, run: sum(1 for _ in stream(run, row))
        case SubplanKind.COLLECT:
            collected = expression.value or Literal(None)
            value = compile_expression(collected, compiled.scope)
            look_ahead = compile_look_ahead([collected], [value])
            return lambda row, run: _collect(value, look_ahead(run, stream(run, row)), run)
        case _:
            assert_never(expression.kind)


def _collect(value: Evaluate, rows: Iterator[Row], run: Run) -> Value:
    collected: list[Value] = []
    size = 0
    for row in rows:
        one = value(row, run)
        collected.append(one)
        size = run.budget.add_member(size, one)
        run.budget.check_length(len(collected))
    return collected
