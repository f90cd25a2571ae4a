"""Builds the result columns of the outermost SELECT of a statement."""

from __future__ import annotations

from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun
from twinframe.query.sql.columns import Column
from twinframe.query.sql.extensions import Extensions
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import Term


def read_column(select: Select, name: str) -> Term:
    """Return the term of the result column `name`."""
    term = select.scope.get(name)
    if term is None:
        raise CannotRun(f"The column {name}.")
    return select.refine(term)


def build_columns(query: Query, select: Select, extensions: Extensions) -> tuple[Column, ...]:
    """The columns of `query`, in order."""
    return tuple(extensions.build_column(read_column(select, name)) for name in query.columns)
