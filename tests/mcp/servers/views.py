"""A real MCP server whose tools have a view (MCP Apps), by the official SDK's own extension.

python -m tests.mcp.servers.views EFFECTS --port N
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import uvicorn
from mcp.server import MCPServer
from mcp.server.apps import Apps, client_supports_apps
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations

__all__ = ["HTML", "VIEW", "main"]

VIEW: Final = "ui://shop/orders.html"
HTML: Final = """<!doctype html><title>Orders</title><h1>Orders</h1>
<button onclick="ask('refresh', {})">Refresh</button>
<button onclick="ask('cancel', {item: 'hat'})">Cancel the hat</button>
<pre id="told"></pre>
<script>
let last = 0;
const send = (method, params, id) =>
  parent.postMessage({jsonrpc: "2.0", method, params, ...(id ? {id} : {})}, "*");
const ask = (name, args) => send("tools/call", {name, arguments: args}, ++last);
const told = document.getElementById("told");
addEventListener("message", ({data}) => {
  if (data.method === "ui/notifications/tool-result")
    told.textContent += "given " + data.params.content[0].text + "\\n";
  else if (data.id === 1) send("ui/notifications/initialized", {});
  else if (data.result) told.textContent += "told " + JSON.stringify(data.result.content) + "\\n";
});
send("ui/initialize", {protocolVersion: "2026-01-26", appCapabilities: {},
  appInfo: {name: "orders", version: "1"}}, ++last);
</script>"""


def main() -> None:
    """Serve it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("effects", type=Path)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    apps = Apps()
    apps.add_html_resource(VIEW, HTML)

    def note(line: str) -> None:
        with options.effects.open("a") as file:
            file.write(f"{line}\n")

    @apps.tool(resource_uri=VIEW, annotations=ToolAnnotations(read_only_hint=True))
    def orders(ctx: Context) -> str:
        """Show the orders."""
        note("listed")
        return "1 hat" if client_supports_apps(ctx) else "no views here"

    @apps.tool(
        resource_uri=VIEW, visibility=["app"], annotations=ToolAnnotations(read_only_hint=True)
    )
    def refresh() -> str:
        note("refreshed")
        return "2 hats"

    @apps.tool(resource_uri=VIEW)
    def cancel(item: str) -> str:
        """Cancel an order."""
        note(f"cancelled {item}")
        return f"{item} cancelled"

    @apps.tool(resource_uri=VIEW, visibility=["model"])
    def secret() -> str:
        """For the model alone."""
        note("told")
        return "told"

    app = MCPServer("shop", extensions=[apps]).streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
