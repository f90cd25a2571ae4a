"""Placeholders for the values of a query: constants of its text and request parameters.

SEC: a value enters the SPARQL text only here, rendered by `terms`; nothing else renders one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from twinframe.errors import InvalidArgument, QueryInvalid
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.abilities import render_plain
from twinframe_storage_rdf.terms import Iri, render_iri, render_string, render_term
from twinframe_storage_rdf.vocabulary import BASE

Render = Callable[[Value], str]

NOWHERE = render_iri(BASE + "nowhere")
"""An IRI that is in no triple, for an absent entity where an unbound variable would match all."""

HIDDEN = "\0"
"""The prefix of placeholders that are not filled from a request parameter."""

EXACT: int = 2**53
"""Integers below it are exactly representable as a double."""

MOST_MEMBERS: int = 1000
"""The longest list that is searched for each row.

PERF: Oxigraph takes 0.1 to 0.5 us an element and row; the evaluator, which makes the list a set,
about 50 us a row.
"""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_PLACEHOLDER = re.compile(r"\$v(\d+)_")


def find_element_kinds(values: Sequence[Value]) -> int:
    """The kinds of these values; any other value counts as a node, which no text can hold."""
    kinds = 0
    for value in values:
        kinds |= k.find_kind(value) or k.NODE
    return kinds


def render_scalar(value: Value) -> str:
    """Render a scalar as a literal. Raises `CannotRun` if SPARQL has no exact literal for it."""
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
    """Render a scalar to compare with.

    Raises `CannotRun` if an integer and a double could be confused.
    """
    if isinstance(value, int | float) and abs(value) >= EXACT:
        raise CannotRun("A number of more than 53 bits in a comparison.")
    return render_scalar(value)


def render_members(value: Value) -> str:
    """The scalars of a list as `(a, b)`, for IN."""
    if not isinstance(value, list) or not value:
        raise CannotRun("The operator IN over something that is no list, or over an empty one.")
    _check_length(value)
    return f"({', '.join('?null' if each is None else render_small(each) for each in value)})"


def render_rows(value: Value) -> str:
    """Render the rows of a VALUES: each term that equals one of the scalars of a list, once.

    Null equals nothing. An integer and a double may be equal, but are two terms.
    """
    if not isinstance(value, list):
        raise CannotRun("The operator IN over something that is no list.")
    rows = dict.fromkeys(term for each in value if each is not None for term in _render_equal(each))
    return f"{{ {' '.join(rows)} }}"


def render_few_rows(value: Value) -> str:
    """`render_rows` for a VALUES that is searched for each row of another group."""
    if isinstance(value, list):
        _check_length(value)
    return render_rows(value)


def _check_length(members: list[Value]) -> None:
    if len(members) > MOST_MEMBERS:
        raise CannotRun(f"The operator IN over {len(members)} elements, but as a join.")


def _render_equal(value: Value) -> Iterator[str]:
    yield render_scalar(value)
    if value == 0 and type(value) is not bool:
        yield from map(render_scalar, (0, 0.0, -0.0))
    elif type(value) is int and (same := float(value)) == value:
        yield render_scalar(same)
    elif type(value) is float and _LOWEST <= value <= _HIGHEST and value.is_integer():
        yield render_scalar(int(value))


def render_elements(value: Value) -> str:
    """The scalars of a list in order as the rows of a VALUES; null is UNDEF."""
    if value is None:
        value = []
    if not isinstance(value, list):
        raise CannotRun("The operator Unwind over something that is no list.")
    return f"{{ {' '.join('UNDEF' if each is None else render_scalar(each) for each in value)} }}"


def render_count(value: Value) -> str:
    """Render a number of rows.

    Raises `CannotRun` for any other value; the evaluator then reports it.
    """
    if type(value) is not int or value < 0:
        raise CannotRun("SKIP or LIMIT by something that is no count.")
    return str(min(value, _HIGHEST))


def render_name(value: Value) -> str:
    """Render a value known to be a string."""
    return render_string(str(value))


def render_resource(value: Value) -> str:
    """An IRI made by the mapping."""
    return render_iri(Iri(str(value)))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from: the parameter `name`, or the constant `value` if None."""

    name: str | None
    value: Value = None


@dataclass(frozen=True, slots=True)
class Models:
    """The interfaces whose labels pass a test, found at run time; `shown` describes them."""

    holds: Callable[[frozenset[str]], bool]
    shown: str


@dataclass(frozen=True, slots=True)
class Open:
    """A place in a text for a value, and the function that renders it."""

    source: Source
    render: Render


@dataclass(frozen=True, slots=True)
class OpenModels:
    """A place in a text for the IRIs of interfaces; `form` is ROWS or MEMBERS."""

    models: Models
    form: str

    def render(self, found: Sequence[str]) -> str:
        """The list of these rendered IRIs."""
        separator = f"{self.form[1]} "
        # NOTE: in some engines membership in an empty list is an error.
        listed = found or ([NOWHERE] if self.form == MEMBERS else [])
        return f"{self.form[0]}{separator.join(listed)}{self.form[2]}"


Part: TypeAlias = str | Open | OpenModels

ROWS, MEMBERS = "{ }", "(,)"
"""The opening and closing text of a list, and its separator besides a space."""


class Bindings:
    """Placeholders of one query: `$v1_` and so on."""

    def __init__(self) -> None:
        self._bound: list[Open | OpenModels] = []

    def bind(self, source: Source, render: Render = render_scalar) -> str:
        """The placeholder of a value under a way to render it."""
        if source.name is None:
            render(source.value)  # raises `CannotRun` now instead of at run time
        return self._add(Open(source, render))

    def bind_models(self, models: Models, form: str) -> str:
        """The placeholder of interfaces as ROWS of a VALUES, or as MEMBERS for IN."""
        return self._add(OpenModels(models, form))

    def _add(self, bound: Open | OpenModels) -> str:
        self._bound.append(bound)
        return f"$v{len(self._bound) - 1}_"

    def build_template(self, text: str) -> Template:
        """Return the query with its constants filled in and the rest open."""
        text = render_plain(text)
        parts: list[Part] = [""]
        for at, part in enumerate(_PLACEHOLDER.split(text)):
            piece: Part = part
            if at % 2:
                bound = self._bound[int(part)]
                piece = bound
                if isinstance(bound, Open) and bound.source.name is None:
                    piece = bound.render(bound.source.value)
            last = parts[-1]
            if isinstance(piece, str) and isinstance(last, str):
                parts[-1] = last + piece
            else:
                parts.append(piece)
        return Template(tuple(parts))


@dataclass(frozen=True, slots=True)
class Template:
    """A SPARQL text with open places."""

    parts: Sequence[Part]

    def render(
        self, parameters: Mapping[str, Value], find_models: Callable[[Models], Sequence[Iri]]
    ) -> str:
        """Render the text for these values.

        Raises `CannotRun` if SPARQL has none for one of them.
        """
        return self._fill(
            lambda each: each.render(read_parameter(parameters, str(each.source.name))),
            lambda each: [render_iri(iri) for iri in find_models(each.models)],
        )

    def render_shown(self) -> str:
        """Render the text for display: `$name` for parameters, the test for interfaces."""

        def show(each: Open) -> str:
            name = str(each.source.name)
            return "" if name.startswith(HIDDEN) else f"${name}"

        return self._fill(show, lambda each: [f"$models[{each.models.shown}]"])

    def _fill(
        self, render: Callable[[Open], str], list_models: Callable[[OpenModels], Sequence[str]]
    ) -> str:
        texts = []
        for part in self.parts:
            match part:
                case str():
                    texts.append(part)
                case Open():
                    texts.append(render(part))
                case OpenModels():
                    texts.append(part.render(list_models(part)))
        return "".join(texts)


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
