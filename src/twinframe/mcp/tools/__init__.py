"""The tools, each with its texts and schemas: what assistants can do. They run use cases only."""

from __future__ import annotations

from typing import Any, Final

from twinframe.mcp.tool import Tool
from twinframe.mcp.tools.exploring import EXPLORING
from twinframe.mcp.tools.models import MODELS
from twinframe.mcp.tools.querying import QUERYING
from twinframe.mcp.tools.relationships import RELATIONSHIPS
from twinframe.mcp.tools.twins import TWINS

TOOLS: Final[tuple[Tool[Any], ...]] = (*EXPLORING, *QUERYING, *TWINS, *RELATIONSHIPS, *MODELS)
"""All of them, in the order in which they are listed: what to begin with stands first."""
