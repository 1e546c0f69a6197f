"""The bridge within a FastAPI app: what a mount leaves out of the app's own OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from agui_bridge.errors import ConfigurationError
from agui_bridge.http.app.openapi import openapi
from agui_bridge.http.app.routes import ROUTES
from agui_bridge.http.service import Service

__all__ = ["FastAPIApp", "document_bridge"]

_OWN: Final = "agui_bridge."
"""Before the names of our components: the app may have a schema `Message` of its own."""


class FastAPIApp(Protocol):
    """A FastAPI app, as far as its document goes."""

    def openapi(self) -> dict[str, Any]:
        """Make the document."""
        ...


def document_bridge(app: FastAPIApp, bridge: Service, path: str) -> None:
    """Show a bridge's routes in the OpenAPI document of the FastAPI app that it is mounted in.

    ::

        app = FastAPI(lifespan=bridge.lifespan)
        app.mount("/ai", bridge.app())
        document_bridge(app, bridge, "/ai")

    Args:
        app: the FastAPI app.
        bridge: the bridge.
        path: where it is mounted, such as `/ai`.

    Raises:
        ConfigurationError: the path is none that something can be mounted at, or the app documents
            something else there.
    """
    place = path.rstrip("/")
    if not place.startswith("/"):
        raise ConfigurationError(f"A bridge is mounted at a path such as '/ai', not at {path!r}.")
    plain = app.openapi
    ours: dict[str, Any] = {}

    def document() -> dict[str, Any]:
        if not ours:
            ours.update(_document_of(bridge))
        return _joined(plain(), ours, place)

    # As FastAPI has it: who extends the document replaces the method that makes it.
    vars(app)["openapi"] = document


def _document_of(bridge: Service) -> dict[str, Any]:
    """The bridge's document, its components under names that are its own."""
    made = openapi(
        [(method, path) for method, path, _ in ROUTES],
        authenticated=bridge.authenticate is not None,
        copilotkit=bridge.copilotkit,
    )
    kinds = made["components"]
    text = json.dumps(made)
    for kind in kinds:
        text = text.replace(f'"#/components/{kind}/', f'"#/components/{kind}/{_OWN}')
    text = text.replace('{"bearer": []}', f'{{"{_OWN}bearer": []}}')
    renamed: dict[str, Any] = json.loads(text)
    renamed["components"] = {
        kind: {_OWN + name: part for name, part in parts.items()}
        for kind, parts in renamed["components"].items()
    }
    return renamed


def _joined(app: Mapping[str, Any], ours: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The app's document with ours in it; both stay as they are, FastAPI keeps its own."""
    paths = {place + path: item for path, item in ours["paths"].items()}
    if taken := paths.keys() & app.get("paths", {}).keys():
        raise ConfigurationError(
            f"The app documents {min(taken)!r} already, where the bridge's routes would stand."
        )
    components = dict(app.get("components", {}))
    for kind, parts in ours["components"].items():
        components[kind] = {**components.get(kind, {}), **parts}
    known = {tag["name"] for tag in app.get("tags", ())}
    tags = [*app.get("tags", ()), *(tag for tag in ours["tags"] if tag["name"] not in known)]
    return {
        **app,
        "paths": {**app.get("paths", {}), **paths},
        "components": components,
        "tags": tags,
    }
