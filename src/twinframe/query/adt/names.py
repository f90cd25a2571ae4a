"""Resolves the names of a query in the vendor's language to variables and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.errors.nearest import render_suggestion
from twinframe.query import algebra as al
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from twinframe.query.adt import ast
    from twinframe.query.errors import Source


class Names:
    """The aliases of a query.

    `default` is the alias that paths may leave out: only queries over one collection have it. A
    relationship without an alias in a JOIN is named by its own name, unless that is an alias.
    """

    def __init__(self, source: Source) -> None:
        self.default: str | None = None
        self._source = source
        self._kinds: dict[str, type] = {}
        self._joined: dict[str, list[str]] = {}

    def declare(self, name: str, kind: type, span: Span) -> None:
        """Add an alias for a twin (`NodePattern`) or relationship (`RelationshipPattern`)."""
        if name in self._kinds:
            raise self._source.error(
                span, "VariableAlreadyBound", f"the alias '{name}' is defined twice"
            )
        self._kinds[name] = kind

    def declare_joined(self, relationship: str, variable: str, span: Span) -> None:
        """Add the relationship of a JOIN without an alias: a variable with the relationship's
        name.
        """
        self.declare(variable, al.RelationshipPattern, span)
        self._joined.setdefault(relationship, []).append(variable)

    def require(self, name: str, kind: type, span: Span) -> None:
        """Refuse a name that is no alias of this kind."""
        if self._kinds.get(name) is kind:
            return
        if self._find(name, span) is not None:
            raise self._source.error(
                span,
                "VariableTypeConflict",
                "a relationship stands where a twin is needed"
                if kind is al.NodePattern
                else "a twin stands where a relationship is needed",
            )
        hint = render_suggestion(name, (*self.named(), *self._joined))
        raise self._source.error(span, "UndefinedVariable", f"there is no alias '{name}'{hint}")

    def _find(self, name: str, span: Span) -> str | None:
        """Return the variable of a name; an alias takes precedence over a relationship's name."""
        if name in self._kinds:
            return name
        variables = self._joined.get(name, ())
        if len(variables) > 1:
            raise self._source.error(
                span,
                "AmbiguousVariable",
                f"'{name}' names {len(variables)} relationships; give each an alias: "
                f"JOIN ... RELATED ... .{name} R1",
            )
        return variables[0] if variables else None

    def named(self) -> list[str]:
        """List the aliases that the query itself gives, in order."""
        return [name for name in self._kinds if not name.startswith(" ")]

    def resolve(self, path: ast.Path) -> al.Expression:
        """Return the value of a path.

        Raises QueryInvalid where several collections are queried and it begins with no alias.
        """
        first, *members = path.names
        if (variable := self._find(first, path.span)) is not None:
            found: al.Expression = al.Variable(variable, path.span)
        elif self.default is not None:
            found = al.Property(al.Variable(self.default, path.span), first, path.span)
        else:
            hint = render_suggestion(first, (*self.named(), *self._joined))
            raise self._source.error(
                path.span,
                "UndefinedVariable",
                f"there is no alias '{first}'{hint}; with JOIN and MATCH each name needs one",
            )
        for member in members:
            found = al.Property(found, member, path.span)
        return found

    def resolve_twin(self, path: ast.Path | None, span: Span) -> al.Expression:
        """Return the twin of a function: an alias, or None for the only one."""
        if path is None:
            if self.default is None:
                raise self._source.error(
                    span, "UndefinedVariable", "with JOIN and MATCH this function needs an alias"
                )
            self.require(self.default, al.NodePattern, span)
            return al.Variable(self.default, span)
        if len(path.names) != 1:
            raise self._source.error(path.span, "InvalidArgumentType", "an alias is expected here")
        self.require(path.names[0], al.NodePattern, path.span)
        return al.Variable(path.names[0], path.span)
