"""Fills templates of test queries with every combination of choices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator


def build_each(*templates: str, **choices: Iterable[str]) -> Iterator[str]:
    """Yield every template with every combination of the choices it names."""
    lists = {name: list(each) for name, each in choices.items()}
    for template in templates:
        used = {name: each for name, each in lists.items() if f"<{name}>" in template}
        for values in itertools.product(*used.values()):
            text = template
            for name, value in zip(used, values, strict=True):
                text = text.replace(f"<{name}>", value)
            yield text


def build_filtered(*expressions: str, **choices: Iterable[str]) -> Iterator[str]:
    """Yield each expression as a condition, negated, tested for null, and as a column."""
    for each in build_each(*expressions, **choices):
        yield f"MATCH (t) WHERE {each} RETURN t.$dtId AS i"
        yield f"MATCH (t) WHERE NOT ({each}) RETURN t.$dtId AS i"
        yield f"MATCH (t) WHERE ({each}) IS NULL RETURN t.$dtId AS i"
        yield f"MATCH (t) RETURN t.$dtId AS i, {each} AS v"
