"""The composition root: builds the service from settings, plugins, use cases and HTTP."""

from __future__ import annotations

from twinframe.service.application import build_app, build_mcp_app, create_app, open_graph

__all__ = ["build_app", "build_mcp_app", "create_app", "open_graph"]
