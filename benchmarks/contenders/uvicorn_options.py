"""How every contender is served; imported by servers without agui-bridge too."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp


def serve(app: ASGIApp, port: int) -> None:
    """Serve a contender, each with the same options."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        http="httptools",
        loop="uvloop",
        lifespan="auto",
        access_log=False,
        log_level="warning",
    )
