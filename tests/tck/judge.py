"""Runs one scenario on an engine and says what became of it. It knows no list of failures."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from tests.tck.comparison import build_row_key
from tests.tck.engines import Answer, Engine
from tests.tck.graph import State, find_side_effects
from tests.tck.procedures import install, parse_procedure
from tests.tck.scenarios import NotUnderstood, Scenario, Step, read_named_graph
from tests.tck.values import Expected, parse_value
from twinframe.errors import TwinframeError
from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.writing.procedures import Procedure

_ERROR = re.compile(r"an? (\w+) should be raised at (compile time|runtime|any time): (\S+)")
_RESULT = re.compile(
    r"the result should be, (?P<order>in any order|in order)"
    r"(?P<lists> \(ignoring element order for lists\))?:"
    r"|the result should be (?P<bare>\(ignoring element order for lists\)):"
)


class Verdict(enum.Enum):
    """What became of a scenario."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A scenario's verdict with its reason; `answer` is that of its query, when it was run."""

    verdict: Verdict
    reason: str = ""
    answer: Answer | None = None


class _Failed(Exception):
    """What a scenario asks for is not so."""


@dataclass(slots=True)
class _Course:
    """A scenario underway."""

    engine: Engine
    features: Path
    parameters: dict[str, Value] = field(default_factory=dict)
    procedures: dict[str, Procedure] = field(default_factory=dict)
    before: State | None = None
    answer: Answer | None = None


def judge(scenario: Scenario, engine: Engine, features: Path) -> Outcome:
    """Run the scenario on an emptied graph; what this runner cannot judge has failed."""
    engine.graph.clear()
    course = _Course(engine, features)
    try:
        for step in scenario.steps:
            _take_step(course, step)
    except _Failed as failure:
        return Outcome(Verdict.FAILED, str(failure), course.answer)
    except NotUnderstood as error:
        return Outcome(Verdict.FAILED, f"this runner cannot judge it: {error}", course.answer)
    if course.answer is None:
        return Outcome(Verdict.FAILED, "this runner cannot judge it: it runs no query")
    return Outcome(Verdict.PASSED, answer=course.answer)


def _take_step(course: _Course, step: Step) -> None:
    for pattern, take in _STEPS:
        found = pattern.fullmatch(step.text)
        if found is not None:
            take(course, step)
            return
    statement = read_named_graph(step.text, course.features)
    if statement is None:
        raise NotUnderstood(f"a step that is not understood: {step.text}")
    _execute(course, statement)


# --- given ---------------------------------------------------------------------------------------


def _ignore(course: _Course, step: Step) -> None:
    """The graph is empty at the start."""


def _execute_setup(course: _Course, step: Step) -> None:
    _execute(course, step.document or "")


def _execute(course: _Course, statement: str) -> None:
    try:
        course.engine.graph.execute(statement, course.parameters)
    except TwinframeError as error:
        raise _Failed(f"set-up: {error.message}") from error
    except Exception as error:  # a crash of one set-up must not end the run
        raise _Failed(f"set-up crashed: {type(error).__name__}: {error}") from error


def _read_parameters(course: _Course, step: Step) -> None:
    for name, text in step.table:
        course.parameters[name] = parse_value(text)  # type: ignore[assignment]  # plain values


def _add_procedure(course: _Course, step: Step) -> None:
    procedure = parse_procedure(step)
    course.procedures[procedure.name] = procedure
    course.engine.graph.offer(install(course.procedures.values()))


# --- when ----------------------------------------------------------------------------------------


def _execute_query(course: _Course, step: Step) -> None:
    course.before = course.engine.graph.measure()
    course.answer = _run(course, step.document or "")


def _run(course: _Course, text: str) -> Answer:
    try:
        return course.engine.run(text, course.parameters)
    except TwinframeError as error:
        raise _Failed(f"{type(error).__name__}: {error.message}") from error
    except Exception as error:  # a crash of one query must not end the run
        raise _Failed(f"crashed: {type(error).__name__}: {error}") from error


# --- then ----------------------------------------------------------------------------------------


def _check_error(course: _Course, step: Step) -> None:
    found = _ERROR.fullmatch(step.text)
    if found is None:
        raise NotUnderstood(f"an expected error that is not understood: {step.text}")
    kind, phase, detail = found.groups()
    answer = _read_answer(course)
    error = answer.error
    if error is None:
        raise _Failed(f"expected {kind} at {phase}: {detail}, got {len(answer.rows)} rows")
    right = error.kind == kind and (detail in {"*", error.detail}) and error.phase == answer.phase
    if not right or phase not in {"any time", answer.phase}:
        raise _Failed(f"expected {kind} at {phase}: {detail}, got {_describe(answer)}")


def _check_no_side_effects(course: _Course, step: Step) -> None:
    _compare_side_effects(course, {})


def _check_side_effects(course: _Course, step: Step) -> None:
    _compare_side_effects(course, {name: int(number) for name, number in step.table})


def _compare_side_effects(course: _Course, wanted: dict[str, int]) -> None:
    if course.before is None:
        raise NotUnderstood("it expects side effects before it runs a query")
    found = find_side_effects(course.before, course.engine.graph.measure())
    if found != wanted:
        raise _Failed(f"expected the side effects {wanted}, got {found}")


def _check_empty(course: _Course, step: Step) -> None:
    answer = _read_rows(course)
    if answer.rows:
        raise _Failed(f"expected no row, got {_show(answer.rows)}")


def _check_result(course: _Course, step: Step) -> None:
    found = _RESULT.fullmatch(step.text)
    if found is None:
        raise NotUnderstood(f"an expected result that is not understood: {step.text}")
    any_order = bool(found["lists"] or found["bare"])
    answer = _read_rows(course)
    columns, *cells = step.table
    if sorted(columns) != sorted(answer.columns):
        raise _Failed(f"expected the columns {columns}, got {answer.columns}")
    wanted = [_build_expected_key(columns, row, any_order=any_order) for row in cells]
    given = [
        build_row_key(dict(zip(answer.columns, row, strict=True)), any_order=any_order)
        for row in answer.rows
    ]
    ordered = found["order"] == "in order"
    if wanted != given if ordered else Counter(wanted) != Counter(given):
        raise _Failed(f"expected {_show(cells)}, got {_show(answer.rows)}")


def _build_expected_key(columns: Sequence[str], row: Sequence[str], *, any_order: bool) -> Hashable:
    cells: dict[str, Expected] = {
        name: parse_value(cell) for name, cell in zip(columns, row, strict=True)
    }
    return build_row_key(cells, any_order=any_order)


def _read_rows(course: _Course) -> Answer:
    answer = _read_answer(course)
    if answer.error is not None:
        raise _Failed(f"expected rows, got {_describe(answer)}: {answer.error.message}")
    texts = [render_row(answer.columns, row) for row in answer.rows]
    if Counter(map(_build_text_key, texts)) != Counter(map(_build_text_key, answer.texts)):
        raise _Failed(f"the rows' JSON is {answer.texts[:5]}, their values {texts[:5]}")
    return answer


def _build_text_key(text: bytes) -> Hashable:
    return build_row_key(orjson.loads(text))


def _read_answer(course: _Course) -> Answer:
    if course.answer is None:
        raise NotUnderstood("it expects a result before it runs a query")
    return course.answer


def _describe(answer: Answer) -> str:
    error = answer.error
    if error is None:
        return f"{len(answer.rows)} rows"
    raised = "" if error.phase == answer.phase else f" (raised at {answer.phase})"
    return f"{error.kind} at {error.phase}{raised}: {error.detail}"


def _show(rows: Sequence[object]) -> str:
    shown = ", ".join(map(str, rows[:6]))
    return f"{len(rows)} rows: {shown}"


_STEPS: tuple[tuple[re.Pattern[str], Callable[[_Course, Step], None]], ...] = tuple(
    (re.compile(pattern), take)
    for pattern, take in (
        (r"an empty graph|any graph", _ignore),
        (r"no side effects", _check_no_side_effects),
        (r"the side effects should be:", _check_side_effects),
        (r"having executed:", _execute_setup),
        (r"parameters are:", _read_parameters),
        (r"there exists a procedure .*", _add_procedure),
        (r"executing (control )?query:", _execute_query),
        (r"the result should be empty", _check_empty),
        (r"the result should be.*:", _check_result),
        (r"an? \w+ should be raised at .*", _check_error),
    )
)
