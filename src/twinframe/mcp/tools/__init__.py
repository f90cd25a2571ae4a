"""The tools for assistants, each with its texts and schemas, over the use cases."""

from __future__ import annotations

from typing import Any, Final

from twinframe.mcp.tool import Tool
from twinframe.mcp.tools.exploring import EXPLORING
from twinframe.mcp.tools.history import HISTORY
from twinframe.mcp.tools.models import MODELS
from twinframe.mcp.tools.querying import QUERYING
from twinframe.mcp.tools.relationships import RELATIONSHIPS
from twinframe.mcp.tools.twins import TWINS
from twinframe.mcp.tools.writing import WRITING

TOOLS: Final[tuple[Tool[Any], ...]] = (
    *EXPLORING,
    *QUERYING,
    *WRITING,
    *TWINS,
    *RELATIONSHIPS,
    *HISTORY,
    *MODELS,
)
"""All of them in the order of listing, which begins with the tools to start with."""
