"""An agent whose tools are an MCP server's, which asks in the middle of a call."""
