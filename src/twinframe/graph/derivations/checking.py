"""Checks the definition of a derivation against the stored models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twinframe.dtdl.interfaces import Content
from twinframe.dtdl.values import render_type
from twinframe.errors import DerivationInvalid
from twinframe.errors.nearest import render_hint
from twinframe.graph.context.model_cache import LoadedModel, ModelView
from twinframe.graph.derivations.footprint import Footprint
from twinframe.graph.documents.derivations import Derivation
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Binary,
    BinaryOperator,
    Case,
    Expression,
    FunctionCall,
    HasLabels,
    ListExpression,
    Literal,
    Project,
    Query,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.functions import FUNCTIONS_BY_NAME
from twinframe.query.cypher.static_types import Kind, StaticType
from twinframe.query.traversal import walk_inputs
from twinframe.storage.base import GraphSession

VALUE: Final = "value"
_SYSTEM: Final = ("$etag", "$metadata")
_PROBES: Final[Mapping[Kind, object]] = {
    Kind.BOOLEAN: True,
    Kind.INTEGER: 1,
    Kind.FLOAT: 1.5,
    Kind.LIST: [],
}
_NUMBERS: Final = frozenset({Kind.INTEGER, Kind.FLOAT})
_ARITHMETIC: Final = frozenset(
    {
        BinaryOperator.ADD,
        BinaryOperator.SUBTRACT,
        BinaryOperator.MULTIPLY,
        BinaryOperator.DIVIDE,
        BinaryOperator.MODULO,
    }
)
_AGGREGATES: Final[Mapping[AggregateKind, StaticType]] = {
    AggregateKind.COUNT: t.INTEGER,
    AggregateKind.COUNT_ROWS: t.INTEGER,
    AggregateKind.AVG: t.FLOAT,
    AggregateKind.STDEV: t.FLOAT,
    AggregateKind.STDEVP: t.FLOAT,
    AggregateKind.PERCENTILE_CONT: t.FLOAT,
}


def check_model(session: GraphSession, models: ModelView, derivation: Derivation) -> LoadedModel:
    """Return the model of a derivation, which declares its property as one that may be left out.

    Raises `DerivationInvalid`.
    """
    model = models.find(derivation.model)
    if model is None:
        hint = render_hint(derivation.model, sorted(session.read_model_ids()))
        raise DerivationInvalid(f"The model {derivation.model} is not stored. {hint}")
    content = model.interface.contents.get(derivation.property_name)
    declared = model.interface.properties.get(derivation.property_name)
    if declared is None:
        raise DerivationInvalid(_explain_property(model, derivation, content))
    if "Required" in declared.types:
        raise DerivationInvalid(
            f"The property {derivation.property_name} of {derivation.model} is required, but a new "
            "twin has no derived value yet. Derive a property that may be left out."
        )
    return model


def _explain_property(model: LoadedModel, derivation: Derivation, content: Content | None) -> str:
    name = derivation.property_name
    if content is not None:
        return f"{name} of {derivation.model} is a {type(content).__name__}, not a Property."
    hint = render_hint(name, sorted(model.interface.properties), "Its properties:")
    return f"{derivation.model} has no property {name}. {hint}"


def check_members(footprint: Footprint, model: LoadedModel) -> None:
    """Raise `DerivationInvalid` for members that `this` does not have, or that no one may follow.

    Names that no model knows are found with those of other queries.
    """
    for node in footprint.all_nodes:
        for name in _SYSTEM:
            if node.keys is not None and name in node.keys:
                raise DerivationInvalid(
                    f"{name} changes with each write, also with that of a derived value, so a "
                    "derivation cannot read it."
                )
    own = footprint.own.keys or ()
    for name in sorted(own):
        if not name.startswith("$") and name not in model.interface.contents:
            hint = render_hint(name, sorted(model.interface.contents), "It declares:")
            raise DerivationInvalid(
                f"{model.interface.id}, the model of this, has no {name}. {hint}"
            )


def check_type(query: Query, model: LoadedModel, derivation: Derivation) -> None:
    """Raise `DerivationInvalid` if the value is certainly of a type that the property does not
    take.
    """
    kind = _find_value_type(query).kind
    name = derivation.property_name
    validate = model.validator.validate_content
    if kind in _PROBES:
        fits = not validate(name, _PROBES[kind])
    elif kind is Kind.STRING:
        fits = all(validate(name, probe) for probe in _PROBES.values())
    else:
        return
    if not fits:
        schema = render_type(model.interface.properties[name].schema)
        whole = " toInteger(round(...)) makes an integer." if kind is Kind.FLOAT else ""
        raise DerivationInvalid(
            f"value gives {kind.value}, but {name} of {derivation.model} is of type {schema}."
            f"{whole}"
        )


def _find_value_type(query: Query) -> StaticType:
    aggregates: dict[str, AggregateCall] = {}
    value: Expression | None = None
    for operator in walk_inputs(query.root):
        if isinstance(operator, Aggregate):
            aggregates.update(operator.aggregates)
        if isinstance(operator, Project):
            found = dict(operator.items).get(VALUE)
            value = value if found in (None, Variable(VALUE)) else found
    return _find_type(value or Variable(VALUE), aggregates)


def _find_type(expression: Expression, aggregates: Mapping[str, AggregateCall]) -> StaticType:
    """Return the type of an expression as far as it is certain."""
    match expression:
        case Variable(name=name) if name in aggregates:
            return _AGGREGATES.get(aggregates[name].kind, t.ANY)
        case Literal(value=value):
            return _find_literal_type(value)
        case HasLabels() | Unary(operator=UnaryOperator.NOT):
            return t.BOOLEAN
        case Unary(operator=UnaryOperator.IS_NULL | UnaryOperator.IS_NOT_NULL):
            return t.BOOLEAN
        case Unary(operand=operand):
            return _find_type(operand, aggregates)
        case Binary(operator=BinaryOperator.POWER):
            return t.FLOAT
        case Binary(operator=operator, left=left, right=right) if operator in _ARITHMETIC:
            kinds = {_find_type(one, aggregates).kind for one in (left, right)}
            if not kinds <= _NUMBERS:
                return t.ANY
            return t.FLOAT if Kind.FLOAT in kinds else t.INTEGER
        case Binary():
            return t.BOOLEAN
        case FunctionCall(name=name):
            function = FUNCTIONS_BY_NAME.get(name.lower())
            return t.ANY if function is None else function.result
        case Case(branches=branches, default=default):
            results = [value for _, value in branches]
            results += [] if default is None else [default]
            return t.common_type([_find_type(one, aggregates) for one in results])
        case ListExpression():
            return t.LIST
        case _:
            return t.ANY


def _find_literal_type(value: bool | float | str | None) -> StaticType:
    match value:
        case None:
            return t.NULL
        case bool():
            return t.BOOLEAN
        case int():
            return t.INTEGER
        case float():
            return t.FLOAT
        case str():
            return t.STRING
