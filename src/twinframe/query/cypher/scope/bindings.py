"""The scope at a point of the query: its visible variables and their static types."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from twinframe.query.cypher.static_types import StaticType


class Scope:
    """Variables in order of declaration, over those of an enclosing query (`outer`) if any.

    `captured` lists the names that were looked up in `outer`, in order of first use. With
    `constant` it is the scope of an expression that must not depend on the row.
    """

    __slots__ = ("captured", "constant", "outer", "types")

    def __init__(
        self,
        types: dict[str, StaticType] | None = None,
        outer: Scope | None = None,
        *,
        constant: bool = False,
    ) -> None:
        self.types = {} if types is None else types
        self.outer = outer
        self.captured: dict[str, None] = {}
        self.constant = constant

    def lookup(self, name: str) -> StaticType | None:
        """Return the static type of the variable, None if there is none of this name."""
        found = self.types.get(name)
        if found is None and self.outer is not None:
            found = self.outer.lookup(name)
            if found is not None:
                self.captured[name] = None
        return found

    def declare(self, name: str, kind: StaticType) -> None:
        """Add a variable, or replace its type."""
        self.types[name] = kind

    @contextmanager
    def local(self, names: Iterable[tuple[str, StaticType]]) -> Iterator[None]:
        """Add variables that hide others of the same name, while an expression is checked."""
        before = self.types
        self.types = {**before, **dict(names)}
        try:
            yield
        finally:
            self.types = before

    def names(self) -> Iterator[str]:
        """Yield every visible name, the innermost first."""
        yield from self.types
        if self.outer is not None:
            yield from self.outer.names()
