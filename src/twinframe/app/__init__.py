"""The composition root: settings, plugins, use cases and edge put together. It decides nothing."""

from __future__ import annotations

from twinframe.app.application import build_app, build_mcp_app, create_app, open_graph

__all__ = ["build_app", "build_mcp_app", "create_app", "open_graph"]
