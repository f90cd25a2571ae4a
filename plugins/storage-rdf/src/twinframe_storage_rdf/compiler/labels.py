"""Label expressions and model membership as patterns over the hierarchy of interfaces."""

from __future__ import annotations

import re
from typing import assert_never

from twinframe.cypher.algebra import LabelAnd, LabelExpression, LabelName, LabelNot, LabelOr
from twinframe.storage.base import CannotRun
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.bindings import Source, render_name, render_resource
from twinframe_storage_rdf.compiler.group import Group, Statement
from twinframe_storage_rdf.terms import XSD_INTEGER, Iri, render_iri

_MODEL = render_iri(v.MODEL)
_HEIR = f"{render_iri(v.RDFS_SUBCLASS)}*"
_LABEL = render_iri(v.LABEL)
_INTEGER = render_iri(Iri(XSD_INTEGER))
_VERSION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?)?")


def add_labels(labels: LabelExpression, node: str, group: Group) -> None:
    """Keep only the rows in which the node satisfies `labels`, as patterns where they can be."""
    match labels:
        case LabelName(name="Twin"):
            pass
        case LabelName(name=name):
            model = group.read(node, v.MODEL, certain=True, nullable=False)
            group.triples.append(_render_heirs(name, model, group.statement))
        case LabelAnd(left=left, right=right):
            add_labels(left, node, group)
            add_labels(right, node, group)
        case LabelNot() | LabelOr():
            model = group.read(node, v.MODEL, certain=True, nullable=False)
            group.filters.append(render_labels(labels, model, group.statement))
        case _:
            assert_never(labels)


def render_labels(labels: LabelExpression, model: str, statement: Statement) -> str:
    """Whether the twin whose interface is in `model` satisfies `labels`; never an error."""
    match labels:
        case LabelName(name="Twin"):
            return "true"
        case LabelName(name=name):
            return f"EXISTS {{ {_render_heirs(name, model, statement)} }}"
        case LabelNot(operand=operand):
            return f"(!{render_labels(operand, model, statement)})"
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            word = "&&" if isinstance(labels, LabelAnd) else "||"
            sides = [render_labels(each, model, statement) for each in (left, right)]
            return f"({sides[0]} {word} {sides[1]})"
        case _:
            assert_never(labels)


def _render_heirs(name: str, model: str, statement: Statement) -> str:
    """The pattern that `model` is an interface with this label or extends one, once for each."""
    if name == "Model":
        raise CannotRun("The label Model: models are not twins.")
    if name.startswith("dtmi:"):
        iri = statement.names.build_model_iri(name)
        ancestor = statement.bindings.bind(Source(None, iri), render_resource)
        # SPEC: SPARQL 1.1 section 18.4: a path of any length gives each end once.
        return f"{model} {_HEIR} {ancestor} ."
    named = statement.build_variable("l")
    label = statement.bindings.bind(Source(None, name), render_name)
    return f"{{ SELECT DISTINCT {model} {{ {named} {_LABEL} {label} . {model} {_HEIR} {named} }} }}"


def render_of_model(model_id: str, model: str, statement: Statement, *, exact: bool) -> str:
    """Whether the twin whose interface is in `model` is of the model `model_id`; never an error.

    SPEC: without `exact` the twin's model, or one it extends, has the given name and a version not
    lower than the given one.
    """
    iri = statement.bindings.bind(
        Source(None, statement.names.build_model_iri(model_id)), render_resource
    )
    if exact:
        return f"({model} = {iri})"
    ancestor = statement.build_variable("d")
    dtmi = statement.build_variable("i")
    later = _render_later(model_id, dtmi, statement)
    return (
        f"EXISTS {{ {model} {_HEIR} {ancestor} . {ancestor} {render_iri(v.ID)} {dtmi}"
        f" FILTER({later}) }}"
    )


def _render_later(model_id: str, dtmi: str, statement: Statement) -> str:
    """Whether the DTMI in `dtmi` is `model_id` or one of its versions not below it."""
    family, _, version = model_id.partition(";")
    if "#" in model_id or not _VERSION.fullmatch(version):
        raise CannotRun("is_of_model() of something that is no model id.")
    bind = statement.bindings.bind
    same = f"{dtmi} = {bind(Source(None, model_id), render_name)}"
    base = f'STRBEFORE(CONCAT({dtmi}, ";"), ";") = {bind(Source(None, family), render_name)}'
    if not version:
        return f"{same} || {base}"
    major, _, minor = version.partition(".")
    own = f'STRAFTER({dtmi}, ";")'
    own_major = f'{_INTEGER}(STRBEFORE(CONCAT({own}, "."), "."))'
    least = bind(Source(None, int(major)))
    if not minor:
        return f"{same} || ({base} && {own_major} >= {least})"
    own_minor = f'{_INTEGER}(STRAFTER({own}, "."))'
    rest = f"({own_major} = {least} && {own_minor} >= {bind(Source(None, int(minor)))})"
    return f"{same} || ({base} && ({own_major} > {least} || {rest}))"


def render_types(labels: LabelExpression, name: str, statement: Statement) -> str:
    """Whether the relationship with the name in `name` satisfies a label expression."""
    match labels:
        case LabelName(name=wanted):
            return f"({name} = {statement.bindings.bind(Source(None, wanted), render_name)})"
        case LabelNot(operand=operand):
            return f"(!{render_types(operand, name, statement)})"
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            word = "&&" if isinstance(labels, LabelAnd) else "||"
            sides = [render_types(each, name, statement) for each in (left, right)]
            return f"({sides[0]} {word} {sides[1]})"
        case _:
            assert_never(labels)
