"""The bridge as an MCP server, asked by the official SDK's client over real pipes and sockets."""
