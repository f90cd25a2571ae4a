"""Renders SQL literals, JSON paths of members, and balanced chains of operators.

It is the only module that writes a member name into SQL text.

Expression indexes must be declared with the text rendered here to be used by compiled queries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def render_text(text: str) -> str:
    """`text` (without NUL) as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def render_path(names: tuple[str, ...]) -> str:
    """The SQL literal of the JSON path to a nested member: `'$.a.b'`.

    SEC: a name that is not a plain ASCII word becomes a JSON string inside the path, so that dots,
    brackets, quotes, backslashes and control characters are taken literally.
    """
    steps = (
        name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in names
    )
    return render_text("$." + ".".join(steps))


def render_balanced(operands: Sequence[str], operator: str) -> str:
    """The operands joined by an associative operator as a balanced tree.

    NOTE: SQLite refuses expressions deeper than 1,000 levels; a chain is one level an operand.
    """
    if len(operands) <= 32:
        return f"({f' {operator} '.join(operands)})" if len(operands) > 1 else operands[0]
    middle = len(operands) // 2
    left, right = (
        render_balanced(operands[:middle], operator),
        render_balanced(operands[middle:], operator),
    )
    return f"({left} {operator} {right})"
