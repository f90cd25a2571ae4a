"""Compiles label expressions and model membership to conditions on a twin's model, by the closure
table.

Each function takes `wanted` as `comparison` does: the SQL is 1 exactly when the answer is `wanted`.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from typing import assert_never

from twinframe.model.values import Value
from twinframe.query.algebra import LabelAnd, LabelExpression, LabelName, LabelNot, LabelOr
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Bindings, Source, SqlValue
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.select import Statement
from twinframe.query.sql.term import Term, read_table


def compile_labels(
    labels: LabelExpression, model: str, statement: Statement, *, wanted: bool
) -> str:
    """Whether the twin whose interface has the row id `model` (SQL) satisfies `labels`."""
    match labels:
        case LabelName(name=name):
            return _compile_name(name, model, statement, wanted=wanted)
        case LabelNot(operand=operand):
            return compile_labels(operand, model, statement, wanted=not wanted)
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            word = "AND" if isinstance(labels, LabelAnd) == wanted else "OR"
            sides = [
                compile_labels(each, model, statement, wanted=wanted) for each in (left, right)
            ]
            return f"({sides[0]} {word} {sides[1]})"
        case _:
            assert_never(labels)


def _compile_name(name: str, model: str, statement: Statement, *, wanted: bool) -> str:
    if name == "Model":
        raise CannotRun("The label Model: models are not twins.")
    if name == "Twin":
        # NOTE: null for the absent node of an optional match, whose model is null too.
        return f"{model} IS NOT NULL" if wanted else statement.dialect.no
    known = statement.dialect.render_models(name)
    if known is not None:
        # NOTE: in SQL, NULL is certainly not in an empty set; in Cypher that is null as well.
        test = f"{model} <> ALL ({known})"
        return f"{model} = ANY ({known})" if wanted else f"({model} IS NOT NULL AND {test})"
    column = "dtmi" if name.startswith("dtmi:") else "name"
    label = statement.bindings.bind(Source(None, name))
    interfaces = _render_descendants(f"i.{column} = {label}", statement.dialect)
    return _render_member(model, interfaces, wanted=wanted)


def _render_descendants(condition: str, dialect: Dialect) -> str:
    """Render the query of the interfaces that are, or extend, an interface `i`."""
    return (
        f"SELECT c.descendant FROM interface AS i {dialect.ordered_join} interface_closure AS c"
        f" ON c.ancestor = i.id WHERE {condition}"
    )


def _render_member(model: str, interfaces: str, *, wanted: bool) -> str:
    """Render whether the row id `model` (SQL) is one of `interfaces` (a query); null for null."""
    if wanted:
        return f"{model} IN ({interfaces})"
    # NOTE: in SQL, NULL is certainly not in an empty set; in Cypher that is null as well.
    return f"({model} IS NOT NULL AND {model} NOT IN ({interfaces}))"


def compile_types(labels: LabelExpression, name: str, bindings: Bindings, *, wanted: bool) -> str:
    """Whether the relationship with the name `name` (SQL) satisfies a label expression."""
    match labels:
        case LabelName(name=wanted_name):
            return f"{name} {'=' if wanted else '<>'} {bindings.bind(Source(None, wanted_name))}"
        case LabelNot(operand=operand):
            return compile_types(operand, name, bindings, wanted=not wanted)
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            word = "AND" if isinstance(labels, LabelAnd) == wanted else "OR"
            sides = [compile_types(each, name, bindings, wanted=wanted) for each in (left, right)]
            return f"({sides[0]} {word} {sides[1]})"
        case _:
            assert_never(labels)


def compile_has_labels(
    subject: Term, labels: LabelExpression, statement: Statement, *, wanted: bool
) -> str:
    """`subject:labels`; null for null."""
    known = subject.kinds & ~k.NULL
    if not known:
        return statement.dialect.no
    if known == k.NODE:
        return compile_labels(labels, f"{read_table(subject)}.model", statement, wanted=wanted)
    if known == k.RELATIONSHIP:
        return compile_types(
            labels, f"{read_table(subject)}.name", statement.bindings, wanted=wanted
        )
    raise CannotRun(f"Labels of a {k.render_kinds(known)}.")


# --- model membership ---------------------------------------------------------------------------


def build_family_start(value: Value) -> SqlValue:
    """Return the prefix of the ids of all versions of a model: its id without version, and `;`."""
    return _read_model_id(value).partition(";")[0] + ";"


def build_family_end(value: Value) -> SqlValue:
    """Return the least text above all of those."""
    return _read_model_id(value).partition(";")[0] + "<"


def build_major(value: Value) -> SqlValue:
    """The first number of the version; 0 without one."""
    return _parse_version(value)[0]


def build_minor(value: Value) -> SqlValue:
    """The second number of the version; 0 without one."""
    return _parse_version(value)[1]


def _parse_version(value: Value) -> tuple[int, int]:
    version = _read_model_id(value).partition(";")[2]
    if not version:
        return 0, 0
    major, dot, minor = version.partition(".")
    if not (major.isdecimal() and major.isascii() and len(version) < 19):
        raise CannotRun(f"is_of_model() with {version!r} as a version.")
    if dot and not (minor.isdecimal() and minor.isascii()):
        raise CannotRun(f"is_of_model() with {version!r} as a version.")
    return int(major), int(minor or 0)


def _read_model_id(value: Value) -> str:
    # NOTE: the evaluator treats a name that is no DTMI, or one of a fragment, as a label.
    if not isinstance(value, str) or not value.startswith("dtmi:") or "#" in value:
        raise CannotRun("is_of_model() of something that is no model id.")
    return value


def compile_is_of_model(
    subject: Term, model: Source, statement: Statement, *, exact: bool, wanted: bool
) -> str:
    """`is_of_model(subject, model [, exact])`; null for null.

    SPEC: without `exact` the twin's model, or one it extends, has the given name and a version not
    lower than the given one.
    """
    bindings, dialect = statement.bindings, statement.dialect
    column = f"{read_table(subject)}.model"
    dtmi = bindings.bind(model)
    if exact:
        own = f"SELECT id FROM interface WHERE dtmi = {dtmi}"
        return _render_member(column, own, wanted=wanted)
    start, end = bindings.bind(model, build_family_start), bindings.bind(model, build_family_end)
    major, minor = bindings.bind(model, build_major), bindings.bind(model, build_minor)
    own, own_minor = dialect.render_version(f"substr(i.dtmi, length({start}) + 1)")
    later = f"({own} > {major} OR {own} = {major} AND ({minor} = 0 OR {own_minor} >= {minor}))"
    family = f"i.dtmi >= {start} AND i.dtmi < {end} AND {later}"
    interfaces = _render_descendants(f"(i.dtmi = {dtmi} OR {family})", dialect)
    return _render_member(column, interfaces, wanted=wanted)
