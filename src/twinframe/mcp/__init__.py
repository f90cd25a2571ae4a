"""The MCP server for AI assistants."""
