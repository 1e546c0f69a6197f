"""A Pydantic AI agent behind pydantic-ai's own AG-UI endpoint, which keeps nothing at all.

    python -m tests.servers.peers.pydantic_ai --port 8000

It is that of examples/proxy_pydantic_ai.
"""

from __future__ import annotations

from examples.proxy_pydantic_ai.server import make_app
from tests.servers.peers.script import serve

if __name__ == "__main__":
    serve(lambda options: make_app(options.effects))
