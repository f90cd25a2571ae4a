"""The MCP server for AI assistants. Not built yet; the service refuses to start with it on."""
