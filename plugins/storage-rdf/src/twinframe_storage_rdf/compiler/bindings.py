"""Values of a query: constants of its text and request parameters, each behind a placeholder.

SEC: a value enters the SPARQL text only here, rendered by `terms`; nothing else renders one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from twinframe.errors import InvalidArgument, QueryInvalid
from twinframe.model.values import Value
from twinframe.storage.base import CannotRun
from twinframe_storage_rdf.terms import Iri, render_iri, render_string, render_term

Render = Callable[[Value], str]

EXACT: int = 2**53
"""Integers below it are the same number as a double."""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_PLACEHOLDER = re.compile(r"\$v(\d+)_")


def render_scalar(value: Value) -> str:
    """A scalar as a literal; `CannotRun` for what SPARQL has no exact literal of."""
    match value:
        case bool() | str():
            pass
        case int():
            if not _LOWEST <= value <= _HIGHEST:
                raise CannotRun(f"The integer {value} does not fit into 64 bits.")
        case float():
            if not math.isfinite(value):
                raise CannotRun("SPARQL engines differ over NaN and infinity.")
        case _:
            raise CannotRun(f"A {type(value).__name__} is no scalar of SPARQL.")
    try:
        return render_term(value)
    except InvalidArgument as error:
        raise CannotRun("A text that holds a lone surrogate.") from error


def render_small(value: Value) -> str:
    """A scalar to be compared; `CannotRun` where an integer and a double could be confused."""
    if isinstance(value, int | float) and abs(value) >= EXACT:
        raise CannotRun("A number of more than 53 bits in a comparison.")
    return render_scalar(value)


def render_members(value: Value) -> str:
    """The scalars of a list as `(a, b)`, for IN."""
    if not isinstance(value, list) or not value:
        raise CannotRun("The operator IN over something that is no list, or over an empty one.")
    return f"({', '.join('?null' if each is None else render_small(each) for each in value)})"


def render_rows(value: Value) -> str:
    """The strings of a list, each once, as the rows of a VALUES."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise CannotRun("A list of something else than strings.")
    return f"{{ {' '.join(dict.fromkeys(map(render_scalar, value)))} }}"


def render_elements(value: Value) -> str:
    """The scalars of a list in order as the rows of a VALUES; null is UNDEF."""
    if value is None:
        value = []
    if not isinstance(value, list):
        raise CannotRun("The operator Unwind over something that is no list.")
    return f"{{ {' '.join('UNDEF' if each is None else render_scalar(each) for each in value)} }}"


def render_count(value: Value) -> str:
    """A number of rows; `CannotRun` for what is none, so that the evaluator says why."""
    if type(value) is not int or value < 0:
        raise CannotRun("SKIP or LIMIT by something that is no count.")
    return str(min(value, _HIGHEST))


def render_name(value: Value) -> str:
    """A string that is known to be one."""
    return render_string(str(value))


def render_resource(value: Value) -> str:
    """An IRI made by the mapping."""
    return render_iri(Iri(str(value)))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from: the parameter `name`, or the constant `value` if None."""

    name: str | None
    value: Value = None


class Bindings:
    """Placeholders of one query: `$v1_` and so on."""

    def __init__(self) -> None:
        self._bound: list[tuple[Source, Render]] = []

    def bind(self, source: Source, render: Render = render_scalar) -> str:
        """The placeholder of a value under a way to render it."""
        if source.name is None:
            render(source.value)  # declined now, not when it runs
        self._bound.append((source, render))
        return f"$v{len(self._bound) - 1}_"

    def build_template(self, text: str) -> Template:
        """The query with its constants in place and its parameters open."""
        parts: list[str | tuple[str, Render]] = [""]
        for at, part in enumerate(_PLACEHOLDER.split(text)):
            piece: str | tuple[str, Render] = part
            if at % 2:
                source, render = self._bound[int(part)]
                piece = render(source.value) if source.name is None else (source.name, render)
            last = parts[-1]
            if isinstance(piece, str) and isinstance(last, str):
                parts[-1] = last + piece
            else:
                parts.append(piece)
        return Template(tuple(parts))


@dataclass(frozen=True, slots=True)
class Template:
    """A SPARQL text with open parameters."""

    parts: Sequence[str | tuple[str, Render]]

    def render(self, parameters: Mapping[str, Value]) -> str:
        """The text for these values; `CannotRun` when SPARQL has none for one of them."""
        return "".join(
            part if isinstance(part, str) else part[1](read_parameter(parameters, part[0]))
            for part in self.parts
        )

    def render_open(self) -> str:
        """The text for people: parameters are `$name`."""
        return "".join(part if isinstance(part, str) else f"${part[0]}" for part in self.parts)


def read_parameter(parameters: Mapping[str, Value], name: str) -> Value:
    """The value of a request parameter; `QueryInvalid` when it was not sent."""
    try:
        return parameters[name]
    except KeyError:
        raise QueryInvalid(
            f"The query uses the parameter ${name}, which was not sent.",
            kind="ParameterMissing",
            detail="MissingParameter",
        ) from None
