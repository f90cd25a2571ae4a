"""The prompts for users: explore this graph, write a query for it, model a domain.

They contain no data but the digest of the graph.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcp_types import (
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from twinframe.errors import InvalidArgument, MissingArgument
from twinframe.errors.nearest import render_suggestion
from twinframe.mcp.describing import read_digest
from twinframe.mcp.errors import clean_text
from twinframe.mcp.tool import Toolbox

_DIGEST_TOKENS: Final = 2000
_LONGEST: Final = 4000

_RULES: Final = """Rules of the dialect:
- Read-only openCypher: MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT,
  UNION, aggregations, lists, CASE, EXISTS. No CREATE, MERGE, SET, DELETE, CALL.
- A label is an interface's name and also finds what extends it; quote a full id:
  (t:`dtmi:com:example:Room;1`). Relationship types are the names in the models.
- Members: t.name, t.climate.temperature (component), t.`$dtId`, t.`$metadata`.`$model`.
- A relationship's own properties: -[r:feeds]-> r.capacityShare. Hops: -[:feeds*1..3]->.
- Something that is missing: WHERE NOT (s)-[:feeds]->().
- Values by $parameters. Return single columns, aggregate, and set a LIMIT."""


@dataclass(frozen=True, slots=True)
class _Template:
    """A prompt, its permissions, and the function that writes its text."""

    prompt: Prompt
    permissions: tuple[str, ...]
    render: Callable[[Toolbox, Mapping[str, str]], Awaitable[str]]


def list_prompts() -> ListPromptsResult:
    """All prompts."""
    return ListPromptsResult(prompts=[one.prompt for one in _TEMPLATES.values()])


async def get_prompt(box: Toolbox, name: str, given: Mapping[str, str]) -> GetPromptResult:
    """Return a prompt with its arguments filled in.

    Errors: `InvalidArgument`, `MissingArgument`, `PermissionMissing`.
    """
    template = _TEMPLATES.get(name)
    if template is None:
        raise InvalidArgument(
            f"There is no prompt {name[:100]!r}{render_suggestion(name, _TEMPLATES)}"
        )
    _check(template.prompt, given)
    for permission in template.permissions:
        await box.access.check(permission, f"prompts/get {name}")
    values = {key: clean_text(value[:_LONGEST]) for key, value in given.items()}
    text = await template.render(box, values)
    return GetPromptResult(
        description=template.prompt.description,
        messages=[PromptMessage(role="user", content=TextContent(text=text))],
    )


def _check(prompt: Prompt, given: Mapping[str, str]) -> None:
    known = {one.name: one for one in prompt.arguments or ()}
    for name in given:
        if name not in known:
            raise InvalidArgument(
                f"The prompt {prompt.name} has no argument {name[:100]!r}"
                f"{render_suggestion(name, known)}"
            )
    for name, argument in known.items():
        if argument.required and not given.get(name, "").strip():
            raise MissingArgument(f"The prompt {prompt.name} needs the argument {name!r}.")


async def _read_digest(box: Toolbox) -> str:
    digest, _ = await read_digest(box, _DIGEST_TOKENS)
    return digest.text


async def _render_explore(box: Toolbox, given: Mapping[str, str]) -> str:
    focus = given.get("focus", "").strip()
    about = f" I am interested in: {focus}." if focus else ""
    return (
        f"Explore this digital twin graph and tell me what it models and what stands out.{about}\n"
        "Look at the interfaces and relationships below; then use query_digital_twins to count and "
        "compare (aggregations, few rows), explore_neighborhood for a typical twin, and end with "
        "five findings and three questions worth asking. Do not change anything.\n\n"
        f"{await _read_digest(box)}"
    )


async def _render_query(box: Toolbox, given: Mapping[str, str]) -> str:
    return (
        f"Write a query for this digital twin graph that answers: {given['question']}\n\n{_RULES}"
        "\n\nCheck it with explain_query, run it with query_digital_twins, and give the query, its "
        f"answer in words, and what it leaves out.\n\n{await _read_digest(box)}"
    )


async def _render_model(_box: Toolbox, given: Mapping[str, str]) -> str:
    return (
        f"Model this domain in DTDL v3: {given['description']}\n\n"
        "- One Interface for each kind of thing; what kinds share goes into one they extend.\n"
        "- Property for what is known of a thing (with schema, and unit by the quantitativeTypes "
        "extension), Telemetry for what it sends, Component for a part that is no thing of its "
        "own, Relationship (with target) between things.\n"
        "- Ids dtmi:<domain>:<Name>;1, names in camelCase, a displayName and a one-sentence "
        "description for each interface.\n"
        "- Look for what there is already by search_models, and extend it where it fits.\n"
        "Show the interfaces as a short list first. Then call create_models with dry_run: true, "
        "put right what it reports, and ask me before you upload."
    )


_FOCUS: Final = PromptArgument(
    name="focus", description="An interface or topic to look at", required=False
)
_ALL: Final = (
    _Template(
        Prompt(
            name="explore_graph",
            title="Explore this graph",
            description="Find out what the graph models and what stands out.",
            arguments=[_FOCUS],
        ),
        ("models/read", "query/read"),
        _render_explore,
    ),
    _Template(
        Prompt(
            name="write_query",
            title="Write a query",
            description="A query for a question, with the rules of the dialect.",
            arguments=[PromptArgument(name="question", description="In your words", required=True)],
        ),
        ("models/read", "query/read"),
        _render_query,
    ),
    _Template(
        Prompt(
            name="model_from_description",
            title="Model a domain",
            description="DTDL interfaces from a description in words.",
            arguments=[
                PromptArgument(name="description", description="What there is", required=True)
            ],
        ),
        (),
        _render_model,
    ),
)
_TEMPLATES: Final = {one.prompt.name: one for one in _ALL}
