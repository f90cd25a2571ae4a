"""The dataclasses of a route: its name, parameters, body, answers, permission and responder.

The routes themselves are in `routes`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

SIGNED_IN: Final = "signed-in"
"""Stands for a permission if valid credentials are enough: for data about the caller itself, and
for data that every known caller may read.
"""

Responder = Callable[..., Awaitable[None]]
"""`async def responder(api, request, response, **path_parameters) -> None`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter or request header. `kind` is its Python type, for the schema."""

    name: str
    position: Literal["query", "header"]
    description: str
    kind: Any = str
    required: bool = False


PAGE_SIZE: Final = Parameter("max-items-per-page", "header", "Most items of the page.", int)
TOKEN: Final = Parameter("continuationToken", "query", "Where to go on; part of a nextLink.")
AS_OF: Final = Parameter(
    "asOf",
    "query",
    "Answer as of this moment: a date and time with an offset, or the position of an event.",
)
"""An operation with it shows earlier states; all others refuse it."""


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON request body: `kind` is the Python type of its value."""

    kind: Any
    media_types: tuple[str, ...] = ("application/json",)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of success. `kind` None is no body; `headers` maps names to descriptions."""

    status: int
    description: str
    kind: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API.

    `call` is its method and path, such as `GET /models/{model_id}`; `permission` is what a caller
    needs, `SIGNED_IN` for no more than credentials, None for the few operations open to everybody;
    `errors` maps statuses to the codes documented for them. If `is_strict`, unknown query
    parameters are refused, except `api-version`, which is ignored.
    """

    call: str
    operation_id: str
    summary: str
    permission: str | None
    responder: Responder
    answer: Answer
    tag: str
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    errors: Mapping[int, str] = field(default_factory=dict)
    is_strict: bool = False

    @property
    def method(self) -> str:
        """The method."""
        return self.call.partition(" ")[0]

    @property
    def path(self) -> str:
        """The template of the path."""
        return self.call.partition(" ")[2]

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Names of the path's parameters, in order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))
