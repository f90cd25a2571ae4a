"""A typed SQL expression: its text, the kinds it can have, and what else is known of it.

`expressions` turns Cypher expressions into terms; a dialect writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Source
from twinframe.query.sql.traps import has_trap


class Owner(Protocol):
    """The statement that binds an entity; it gives the entity's table an alias, joining it when
    needed.
    """

    def read_table(self, kind: int, row: str) -> str:
        """Alias of the row of the twins' or relationships' table whose id is the SQL `row`."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a JSON document: `names` from the root of the SQL expression `document`."""

    document: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A term equal to a column that another table's row maps to: `column` = (`query` of a value).

    `query` has one `{}` for the value and yields the id to search in `column`, by index.
    """

    column: str
    query: str


@dataclass(frozen=True, slots=True)
class Term:
    """A value in SQL.

    `value` is NULL for null; an entity is its row id. Of a term that is *plain*
    (`Dialect.is_plain`) the native value alone tells its kind; of any other, `tag` is its JSON type
    and `json` its JSON text. `elements` are the kinds of a list's elements: entities are row ids. A
    path is a list of row ids, nodes and relationships in turn; without `elements` it is its length.
    `items` are those of a list literal, `entries` those of a map literal; they replace those of the
    map `base` if it has one, and all is null if that is. `finite` says that a
    float is no infinity; `assumed` that `kinds` relies on a trap in `value`, so that a value that
    is never read is of a kind that was never checked.
    """

    kinds: int
    value: str
    tag: str | None = None
    json: str | None = None
    owner: Owner | None = None
    member: Member | None = None
    lookup: Lookup | None = None
    source: Source | None = None
    items: tuple[Term, ...] | None = None
    entries: tuple[tuple[str, Term], ...] | None = None
    base: Term | None = None
    elements: int = k.JSON
    finite: bool = False
    assumed: bool = False

    @property
    def holds_entities(self) -> bool:
        """Whether it is a map of nodes or relationships: it has a `json`, its `value` is a trap."""
        return any(
            term.kinds & k.ENTITIES
            or term.holds_entities
            or (term.kinds & k.LIST and term.elements & k.ENTITIES)
            for _, term in self.entries or ()
        )


NULL_TERM = Term(k.NULL, "NULL")


def may_fail(term: Term) -> bool:
    """Return whether computing the term may fail, so that skipping it would hide an error."""
    return term.assumed or has_trap(f"{term.value} {term.tag or ''}")


def check_droppable(*terms: Term) -> None:
    """Raise `CannotRun` where types alone decide, so that an operand that may fail is skipped."""
    if any(may_fail(term) for term in terms):
        raise CannotRun("An operation that the types of computed values decide.")


def check_path(term: Term) -> None:
    """Raise `CannotRun` for a path of which only the length is known."""
    if term.kinds & k.PATH and not term.elements:
        raise CannotRun("More of a shortest path than its length.")


def find_entry(subject: Term, key: str) -> Term | None:
    """Return the entry `key` of a map literal, if reading the others cannot fail."""
    if subject.entries is None or subject.assumed:
        return None
    return dict(subject.entries).get(key, NULL_TERM if subject.base is None else None)


def read_owner(term: Term) -> Owner:
    """The statement that binds an entity."""
    if term.owner is None:
        raise AssertionError("an entity without its statement")
    return term.owner


def read_table(term: Term) -> str:
    """Return the alias of the row of an entity, joining its table if needed."""
    return read_owner(term).read_table(term.kinds & ~k.NULL, term.value)
