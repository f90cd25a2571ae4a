"""Compiles label expressions and model membership to conditions on a twin's interface.

A single DTMI becomes a property path up the hierarchy, where the engine is exact about paths. For
other engines, and for other expressions, of which engines make slow plans, the evaluator finds the
interfaces that satisfy them when the query runs.
"""

from __future__ import annotations

from typing import assert_never

from twinframe.model.ids import MODEL_LABEL, TWIN_LABEL
from twinframe.model.values import Node
from twinframe.query.algebra import LabelAnd, LabelExpression, LabelName, LabelNot, LabelOr
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.functions.digitaltwins import is_of_model
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe.query.render import render_labels as render_label_text
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW, PATHS
from twinframe_storage_rdf.compiler.bindings import (
    MEMBERS,
    ROWS,
    Models,
    Source,
    render_name,
    render_resource,
)
from twinframe_storage_rdf.compiler.term import Group, Statement
from twinframe_storage_rdf.terms import render_iri

_HEIR = f"{render_iri(v.RDFS_SUBCLASS)}*"


def add_labels(labels: LabelExpression, node: str, group: Group) -> None:
    """Keep only the rows in which the node satisfies `labels`."""
    match labels:
        case LabelName(name="Twin"):
            return
        case LabelAnd(left=left, right=right):
            add_labels(left, node, group)
            add_labels(right, node, group)
            return
        case _:
            pass
    model = group.read(node, v.MODEL, certain=True, nullable=False)
    statement = group.statement
    # PERF: before the triples of the twin: engines that keep the order of patterns would otherwise
    # walk the hierarchy once per twin.
    if (
        isinstance(labels, LabelName)
        and labels.name.startswith("dtmi:")
        and statement.abilities.has(PATHS)
    ):
        iri = Source(None, statement.names.build_model_iri(labels.name))
        # SPEC: SPARQL 1.1 section 18.4: a path of any length gives each end once.
        group.heads.append(f"{model} {_HEIR} {statement.bindings.bind(iri, render_resource)} .")
    else:
        models = _build_models(labels)
        rows = statement.bindings.bind_models(models, ROWS)
        group.heads.append(f"VALUES{NARROW} {model} {rows}")


def render_labels(labels: LabelExpression, model: str, statement: Statement) -> str:
    """Render the test that the twin whose interface is in `model` satisfies `labels`."""
    if labels == LabelName(TWIN_LABEL):
        return f"BOUND({model})"
    members = statement.bindings.bind_models(_build_models(labels), MEMBERS)
    return f"({model} IN{NARROW} {members})"


def _build_models(labels: LabelExpression) -> Models:
    if MODEL_LABEL in find_label_names(labels):
        raise CannotRun("The label Model: models are not twins.")
    return Models(compile_labels(labels), render_label_text(labels))


def add_of_model(model_id: str, node: str, group: Group, *, exact: bool) -> None:
    """Keep only the rows in which the node is of the model, as `is_of_model()` defines it."""
    model = group.read(node, v.MODEL, certain=True, nullable=False)
    bindings = group.statement.bindings
    if exact:
        iri = Source(None, group.statement.names.build_model_iri(model_id))
        group.heads.append(f"VALUES{NARROW} {model} {{ {bindings.bind(iri, render_resource)} }}")
    else:
        group.heads.append(
            f"VALUES{NARROW} {model} {bindings.bind_models(_find_descendants(model_id), ROWS)}"
        )


def render_of_model(model_id: str, model: str, statement: Statement, *, exact: bool) -> str:
    """Render `is_of_model()` for the twin whose interface is in `model`."""
    if exact:
        iri = Source(None, statement.names.build_model_iri(model_id))
        return f"({model} ={NARROW} {statement.bindings.bind(iri, render_resource)})"
    members = statement.bindings.bind_models(_find_descendants(model_id), MEMBERS)
    return f"({model} IN{NARROW} {members})"


def _find_descendants(model_id: str) -> Models:
    def holds(held: frozenset[str]) -> bool:
        return is_of_model(Node("", {}, held), model_id) is True

    return Models(holds, f"is_of_model({model_id})")


def render_types(labels: LabelExpression, name: str, statement: Statement) -> str:
    """Render the test that the relationship named `name` satisfies a label expression."""
    match labels:
        case LabelName(name=wanted):
            wanted_name = statement.bindings.bind(Source(None, wanted), render_name)
            return f"({name} ={NARROW} {wanted_name})"
        case LabelNot(operand=operand):
            return f"(!{render_types(operand, name, statement)})"
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            word = "&&" if isinstance(labels, LabelAnd) else "||"
            sides = [render_types(each, name, statement) for each in (left, right)]
            return f"({sides[0]} {word} {sides[1]})"
        case _:
            assert_never(labels)
