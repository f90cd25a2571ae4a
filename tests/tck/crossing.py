"""Every reading query of the kit over graphs of other scenarios: all engines must agree.

The kit says what one query gives on one graph; this asks only that no engine and no rewrite makes a
difference, for many more pairs. It knows no expected results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import orjson

from tests.tck.comparison import build_row_key
from tests.tck.engines import ENGINES, Answer, Engine, open_engine
from tests.tck.scenarios import Scenario
from tests.tck.values import parse_value
from tests.tck.writing import find_procedure_call, find_writing_clause
from twinframe.model.values import Value

_READS_GRAPH = re.compile(r"\bMATCH\b|--|\]-", re.IGNORECASE)
# SPEC: which rows SKIP and LIMIT let through without a total order, and what an id is, is left to
# the engine.
_FREE = re.compile(r"\b(?:SKIP|LIMIT|id|elementId|rand)\b", re.IGNORECASE)
_SMALLEST_GRAPH = 100
_LARGEST_GRAPH = 5_000


@dataclass(frozen=True, slots=True)
class Question:
    """A query of the scenario `name` with its parameters."""

    name: str
    text: str
    parameters: Mapping[str, Value] = field(compare=False, hash=False)


@dataclass(frozen=True, slots=True)
class Difference:
    """What the engines gave for one question over one graph, by engine."""

    question: Question
    graph: str
    answers: tuple[Hashable, ...]


def find_questions(scenarios: Iterable[Scenario]) -> list[Question]:
    """The queries that read a graph, leave nothing to the engine and are refused by none."""
    found: dict[str, Question] = {}
    for scenario in scenarios:
        steps = scenario.steps
        tables = (step.table for step in steps if step.text == "parameters are:")
        parameters = {name: parse_value(text) for table in tables for name, text in table}
        for step in steps:
            text = step.document or ""
            wanted = step.text == "executing query:" and _READS_GRAPH.search(text)
            if wanted and not _FREE.search(text) and only_reads(text):
                found.setdefault(text, Question(scenario.name, text, parameters))  # type: ignore[arg-type]  # plain values
    return list(found.values())


def find_graphs(scenarios: Iterable[Scenario]) -> list[str]:
    """The set-ups of the scenarios that make more than a few nodes."""
    found: dict[str, None] = {}
    for scenario in scenarios:
        setups = [step.document for step in scenario.steps if step.text == "having executed:"]
        text = ";\n".join(setup for setup in setups if setup)
        if _SMALLEST_GRAPH < len(text) < _LARGEST_GRAPH and "range(" not in text:
            found.setdefault(text)
    return list(found)


def find_differences(questions: Sequence[Question], graphs: Iterable[str]) -> Iterator[Difference]:
    """Ask each question over each graph: the evaluator with and without rewrites, and stores."""
    with ExitStack() as stack:
        engines = [stack.enter_context(open_engine(name)) for name in ENGINES]
        engines.append(stack.enter_context(open_engine(ENGINES[0], optimized=False)))
        for graph in graphs:
            for engine in engines:
                engine.graph.clear()
                engine.graph.execute(graph, {})
            for question in questions:
                answers = tuple(_ask(engine, question) for engine in engines)
                if len(set(answers)) > 1:
                    yield Difference(question, graph, answers)


def only_reads(text: str) -> bool:
    """Whether a query neither writes nor calls a procedure."""
    return find_writing_clause(text) is None and find_procedure_call(text) is None


def _ask(engine: Engine, question: Question) -> Hashable:
    answer = engine.run(question.text, question.parameters)
    if answer.error is not None:
        return (answer.error.kind, answer.error.detail, answer.phase)
    return (answer.columns, _build_rows_key(answer), _build_texts_key(answer))


def _build_rows_key(answer: Answer) -> Hashable:
    rows = (dict(zip(answer.columns, row, strict=True)) for row in answer.rows)
    return _count(build_row_key(row, any_order=True) for row in rows)


def _build_texts_key(answer: Answer) -> Hashable:
    # NOTE: documents carry the ids of their store, so only the texts of plain values are compared.
    texts = (orjson.loads(text) for text in answer.texts if b'"$' not in text)
    return _count(build_row_key(text, any_order=True) for text in texts)


def _count(keys: Iterable[Hashable]) -> Hashable:
    return frozenset(Counter(keys).items())
