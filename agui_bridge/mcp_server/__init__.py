"""The bridge as an MCP server: a tool for each agent, and pauses as requests for input.

A call of a tool is a message on a thread. A pause is an input-required result, and the call that
comes again with what people answered is an input with `resume`, admitted like any other. So a
retry, two at once, and one after a restart are carried out once.

Clients of before 2026-07-28, which know no such result, and those that can't ask people, are told
where people answer. Nothing here lets a model answer.

Source: Model Context Protocol 2026-07-28, "Multi Round-Trip Requests", "Elicitation"; the wire is
the official SDK's (extra `mcp`).
"""
