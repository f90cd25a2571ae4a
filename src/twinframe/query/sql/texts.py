"""Renders parts of SQL text that all engines write alike: literals and balanced chains."""

from __future__ import annotations

from collections.abc import Sequence


def render_text(text: str) -> str:
    """`text` (without NUL) as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def render_balanced(operands: Sequence[str], operator: str) -> str:
    """The operands joined by an associative operator as a balanced tree.

    NOTE: engines bound the depth of an expression (SQLite: 1,000 levels); a chain is one level an
    operand.
    """
    if len(operands) <= 32:
        return f"({f' {operator} '.join(operands)})" if len(operands) > 1 else operands[0]
    middle = len(operands) // 2
    left, right = (
        render_balanced(operands[:middle], operator),
        render_balanced(operands[middle:], operator),
    )
    return f"({left} {operator} {right})"


def render_all(*conditions: str | None) -> str:
    """The conjunction of the conditions that are not None."""
    kept = [each for each in conditions if each is not None]
    return f"({' AND '.join(kept)})" if len(kept) > 1 else kept[0]
