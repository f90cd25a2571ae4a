"""The description of a tool: name, texts, schemas, permissions and function; `tools` has the
tools.

Deletions need the etag of the object, or an explicit confirmation. NOTE: an elicitation would ask
the user, but stateless transports cannot carry one, so it cannot be the only way. Clients that ask
their user do so because of the tool's `destructiveHint`.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from mcp_types import Tool as ToolDocument
from mcp_types import ToolAnnotations

from twinframe.graph import Graph
from twinframe.mcp.access import ToolAccess
from twinframe.mcp.arguments import Arguments, build_schema
from twinframe.mcp.budget import Budget, Shortening
from twinframe.mcp.errors import NotConfirmed
from twinframe.model.json import JsonLimits
from twinframe.model.values import JsonValue
from twinframe.settings import McpSettings, Settings

A = TypeVar("A", bound=Arguments)

_ENVELOPE_BYTES = 512
"""The bytes for the text around the rows of an answer."""

_LEAST_BYTES = 1024


class Effect(enum.Enum):
    """The effect of a call on the graph: READ nothing; ADD and CHANGE write; DELETE removes; ANY
    may do all of that.
    """

    READ = "read"
    ADD = "add"
    CHANGE = "change"
    DELETE = "delete"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool: `document` by its output schema; `text` is shown instead, if given."""

    document: dict[str, JsonValue]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The objects that tools use: the use cases, the settings, and the access checks."""

    graph: Graph
    settings: Settings
    access: ToolAccess

    @property
    def limits(self) -> McpSettings:
        """The limits of one call."""
        return self.settings.mcp

    @property
    def json_limits(self) -> JsonLimits:
        """The limits on the JSON of a call: the same as of a request."""
        return JsonLimits(self.settings.json_.max_depth, self.settings.json_.max_keys)

    def open_budget(self, rows: int, *, full: bool = False, carried: str = "") -> Budget:
        """Open the budget of an answer of at most this many rows.

        `carried` is a text that its token will contain, or the token that it continues after: both
        take room in the answer.
        """
        token = len(carried.encode()) * 4 // 3  # base64
        size = max(self.limits.max_bytes - _ENVELOPE_BYTES - token, _LEAST_BYTES)
        return Budget(min(rows, self.limits.max_rows), size, Shortening(full))


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One tool. `permissions` are all required; `example` are valid arguments.

    `narrow`, if there is one, returns the permissions of a call from its arguments instead:
    `permissions` are those of one without optional arguments.

    One that `rehearses` keeps nothing unless the call says `dry_run: false`. `switch` is the member
    of `McpSettings` that turns it on, empty for one that is always on.

    `description` is for a model that has never seen a twin; it is read at the beginning of each
    session, so every word of it costs.
    """

    name: str
    title: str
    description: str
    effect: Effect
    permissions: tuple[str, ...]
    arguments: type[A]
    output: Mapping[str, Any]
    run: Callable[[Toolbox, A], Awaitable[Answer]]
    example: Mapping[str, JsonValue] = field(default_factory=dict)
    narrow: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    rehearses: bool = False
    switch: str = ""

    def find_permissions(self, given: Mapping[str, Any]) -> Sequence[str]:
        """Return those that a call needs; its arguments were not checked yet."""
        return self.permissions if self.narrow is None else self.narrow(given)

    def is_rehearsal(self, given: Mapping[str, Any]) -> bool:
        """Return whether a call with these arguments keeps nothing."""
        asked = given.get("dry_run")
        return asked is True or (self.rehearses and asked is not False)

    @property
    def writes(self) -> bool:
        """Whether it may change the graph."""
        return self.effect is not Effect.READ

    def build_document(self) -> ToolDocument:
        """Build the form in which `tools/list` shows it."""
        return ToolDocument(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=dict(build_schema(self.arguments)),
            output_schema=dict(self.output),
            annotations=_build_annotations(self.effect),
        )


_SCHEMAS: Final[Mapping[str, Any]] = {
    "objects": {"type": "array", "items": {"type": "object"}},
    "texts": {"type": "array", "items": {"type": "string"}},
    "text or null": {"type": ["string", "null"]},
}


def build_output(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Build the schema of an answer: an object with these members, types as JSON Schema or their
    name, such as `integer` or `texts`.
    """
    members = {**required, **optional}
    properties = {
        name: _SCHEMAS.get(schema, {"type": schema}) if isinstance(schema, str) else schema
        for name, schema in members.items()
    }
    return {"type": "object", "properties": properties, "required": list(required)}


def _build_annotations(effect: Effect) -> ToolAnnotations:
    # NOTE: hints that readers assume by default are left out, except that of the open world, whose
    # default is yes.
    if effect is Effect.READ:
        return ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=effect is not Effect.ADD,
        idempotent_hint=effect in (Effect.CHANGE, Effect.DELETE),
        open_world_hint=False,
    )


def build_action(name: str, *about: str, rehearses: bool) -> str:
    """Build the action of a call for the audit log."""
    return " ".join(["tools/call", name, *about, *(["(dry run)"] if rehearses else [])])


def require_confirmation(if_match: str | None, *, confirmed: bool) -> None:
    """Raise `NotConfirmed` unless one of the two is given. `*` is no etag that was read."""
    if confirmed or (if_match is not None and if_match.strip() != "*"):
        return
    raise NotConfirmed(
        "A deletion cannot be undone. Give if_match with the $etag that you read, or confirm: true "
        "when the user wants it. dry_run: true shows what would go."
    )
