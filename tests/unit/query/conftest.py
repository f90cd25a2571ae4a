"""What the front end's tests share: reading a text to its plan, and catching its refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from twinframe.errors import QueryInvalid
from twinframe.query.language import ParsedQuery, parse_query
from twinframe.query.options import FrontEndOptions
from twinframe.query.render import render_query

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMETERS = ("p", "q", "list", "0", "dtId")


class Refuse(Protocol):
    """Reads a text that must be refused and returns the error."""

    def __call__(self, text: str, **options: object) -> QueryInvalid: ...


@pytest.fixture
def read() -> Callable[..., ParsedQuery]:
    """Reads a text of either language; keywords are front-end options."""

    def run(text: str, **options: object) -> ParsedQuery:
        return parse_query(
            text,
            parameters=PARAMETERS,
            options=FrontEndOptions(**options),  # type: ignore[arg-type]  # tests name real fields
        )

    return run


@pytest.fixture
def plan(read: Callable[..., ParsedQuery]) -> Callable[..., str]:
    """The rendered plan of a text."""

    def run(text: str, **options: object) -> str:
        return render_query(read(text, **options).query)

    return run


@pytest.fixture
def refuse(read: Callable[..., ParsedQuery]) -> Refuse:
    """The error a text is refused with."""

    def run(text: str, **options: object) -> QueryInvalid:
        with pytest.raises(QueryInvalid) as caught:
            read(text, **options)
        return caught.value

    return run
