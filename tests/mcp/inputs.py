"""Tools that need input of the client before they can answer, as the official suite asks for."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
)

from tests.mcp.contents import refuse_missing, text

Input = CallToolResult | InputRequiredResult


def ask(message: str, **kinds: str) -> ElicitRequest:
    """A question to the user; `kinds` are the types of its fields."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }
    return ElicitRequest.model_validate(
        {"params": {"mode": "form", "message": message, "requestedSchema": schema}}
    )


def sample(question: str, limit: int) -> CreateMessageRequest:
    """A question to the client's model."""
    message = SamplingMessage(role="user", content=text(question))
    return CreateMessageRequest.model_validate(
        {"params": {"messages": [message], "maxTokens": limit}}
    )


def need(requests: dict[str, Any], state: str | None = None) -> InputRequiredResult:
    """What the client must answer before it asks again."""
    return InputRequiredResult(input_requests=requests, request_state=state)


def done(value: str) -> CallToolResult:
    """A complete result."""
    return CallToolResult(content=[text(value)])


def find_field(context: Context, key: str, field: str) -> str | None:
    """What the user put into a field, if it is there in its form."""
    found = (context.input_responses or {}).get(key)
    if isinstance(found, ElicitResult) and found.content is not None:
        value = found.content.get(field)
        return value if isinstance(value, str) else None
    return None


def add_inputs(server: MCPServer) -> None:
    """Tools of one round of input."""

    @server.tool(structured_output=False)
    async def test_input_required_result_elicitation(context: Context) -> Input:
        """Asks for a name."""
        name = find_field(context, "user_name", "name")
        if name is None:
            return need({"user_name": ask("What is your name?", name="string")})
        return done(f"Hello, {name}!")

    @server.tool(structured_output=False)
    async def test_input_required_result_sampling(context: Context) -> Input:
        """Asks a model."""
        found = (context.input_responses or {}).get("capital_question")
        if found is None:
            return need({"capital_question": sample("What is the capital of France?", 100)})
        return done(f"The model says: {found.model_dump_json()}")

    @server.tool(structured_output=False)
    async def test_input_required_result_list_roots(context: Context) -> Input:
        """Asks for roots."""
        found = (context.input_responses or {}).get("client_roots")
        if found is None:
            return need({"client_roots": ListRootsRequest(params=None)})
        return done(f"Roots: {found.model_dump_json()}")

    @server.tool(structured_output=False)
    async def test_input_required_result_capabilities(context: Context) -> Input:
        """Asks for what the client can."""
        able = context.client_capabilities
        requests: dict[str, Any] = {}
        if able is not None and able.sampling is not None:
            requests["question"] = sample("What is the capital of France?", 100)
        if able is not None and able.elicitation is not None:
            requests["user_name"] = ask("What is your name?", name="string")
        return need(requests) if requests and not context.input_responses else done("done")

    @server.tool(structured_output=False)
    async def test_missing_capability(context: Context) -> str:
        """Needs a client that samples."""
        able = context.client_capabilities
        if able is None or able.sampling is None:
            raise refuse_missing("sampling")
        return "done"

    @server.tool(structured_output=False)
    async def test_streaming_elicitation(context: Context) -> Input:
        """Says how far it is, then asks."""
        await context.report_progress(1, 2)
        if not context.input_responses:
            return need({"user_name": ask("What is your name?", name="string")})
        return done("done")


def add_rounds(server: MCPServer) -> None:
    """Tools whose state goes to the client and back."""

    @server.tool(structured_output=False)
    async def test_input_required_result_request_state(context: Context) -> Input:
        """One round with state."""
        if context.request_state is None:
            return need({"confirm": ask("Please confirm", ok="boolean")}, "first")
        return done("state-ok")

    @server.tool(structured_output=False)
    async def test_input_required_result_tampered_state(context: Context) -> Input:
        """One round with state that must come back as it went."""
        if context.request_state is None:
            return need({"confirm": ask("Please confirm", ok="boolean")}, "first")
        return done("state-ok")

    @server.tool(structured_output=False)
    async def test_input_required_result_multiple_inputs(context: Context) -> Input:
        """Three inputs at once."""
        requests = {
            "user_name": ask("What is your name?", name="string"),
            "greeting": sample("Generate a greeting", 50),
            "client_roots": ListRootsRequest(params=None),
        }
        answered = context.input_responses or {}
        return done("done") if requests.keys() <= answered.keys() else need(requests, "first")

    @server.tool(structured_output=False)
    async def test_input_required_result_multi_round(context: Context) -> Input:
        """Two rounds, the second with what came in the first."""
        if context.request_state is None:
            return need({"step1": ask("Step 1: What is your name?", name="string")}, "1:")
        if context.request_state.startswith("1:"):
            name = find_field(context, "step1", "name")
            question = ask("Step 2: What is your favorite color?", color="string")
            return need({"step2": question}, f"2:{name}")
        color = find_field(context, "step2", "color")
        return done(f"{context.request_state[2:]} likes {color}")

    async def prompt(context: Context) -> Any:
        found = find_field(context, "user_context", "context")
        if found is None:
            question = ask("What context should the prompt use?", context="string")
            return need({"user_context": question})
        return f"Use this context: {found}"

    name = "test_input_required_result_prompt"
    server.add_prompt(Prompt.from_function(prompt, name=name, description="Asks first."))


def add_requests_to_clients(server: MCPServer) -> None:
    """Tools of the older era, which ask the client while they run: it needs a session."""

    @server.tool(structured_output=False)
    async def test_sampling(prompt: str, context: Context) -> str:
        """Asks the client's model."""
        message = SamplingMessage(role="user", content=text(prompt))
        found = await context.session.create_message([message], max_tokens=100)
        return f"LLM response: {found.content}"

    async def elicit(context: Context, message: str, schema: dict[str, Any]) -> str:
        found = await context.session.elicit_form(message, schema)
        return f"Elicitation completed: action={found.action}, content={found.content}"

    @server.tool(structured_output=False)
    async def test_elicitation(message: str, context: Context) -> str:
        """Asks the user."""
        return await elicit(context, message, {"type": "object", "properties": {}})

    @server.tool(structured_output=False)
    async def test_elicitation_sep1034_defaults(context: Context) -> str:
        """Asks the user, with defaults."""
        return await elicit(context, "defaults", {"type": "object", "properties": {}})

    @server.tool(structured_output=False)
    async def test_elicitation_sep1330_enums(context: Context) -> str:
        """Asks the user, with choices."""
        return await elicit(context, "enums", {"type": "object", "properties": {}})
