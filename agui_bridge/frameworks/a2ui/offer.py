"""What a client says that shows A2UI surfaces, and the tool that its agent gets for it.

AG-UI's A2UI middleware, on a page or in CopilotKit's runtime, marks each input: `injectA2UITool` in
`forwardedProps`, a tool that draws (`render_a2ui`), and in the context a guide to that tool and the
components that the page has. An agent gets one tool in the drawing tool's place, `generate_a2ui`,
behind which a second request to its model draws. The texts for models, and what makes a surface
valid, are those of AG-UI's own toolkit, the package ag-ui-a2ui-toolkit.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from ag_ui.core import Context, RunAgentInput, Tool

from agui_bridge.adapters import Run
from agui_bridge.frameworks.a2ui.settings import A2UI
from agui_bridge.frameworks.application import Application
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.versions import OFFERS_SURFACES

logger: Final = logging.getLogger("agui_bridge.agents")

GENERATE: Final = "generate_a2ui"
"""The name of the tool, as behind every AG-UI server."""

LONGEST_SCHEMA: Final = 262_144
"""Characters of the page's components that a model is told at most."""

_RENDER: Final = "render_a2ui"
_GUIDE: Final = "A2UI render tool usage guide"
_SCHEMA: Final = "A2UI Component Schema"
"""How the descriptions of the client's entries begin."""

_FLAG: Final = OFFERS_SURFACES
_CATALOGS: Final = "A2UI catalog capabilities"
_GUIDELINES: Final = ("A2UI generation guidelines", "A2UI design guidelines")
"""How CopilotKit's entries begin, which it adds to those of the middleware."""

_ABOUT_SURFACES: Final = (_SCHEMA, _GUIDE, _CATALOGS, *_GUIDELINES)


@dataclass(frozen=True, slots=True)
class Offer:
    """Surfaces that a run may make.

    Attributes:
        settings: the author's.
        drawing: the name of the tool that draws, as the client knows it.
        schema: the page's components, as the model reads them; "" where nobody said.
        catalog: the same as `{"components": {name: JSON Schema}}`, None where they are not that.
        catalog_id: of new surfaces, "" for A2UI's basic catalog.
        guidance: what else the page says of surfaces, as a model reads it.
    """

    settings: A2UI
    drawing: str
    schema: str
    catalog: Mapping[str, Any] | None
    catalog_id: str
    guidance: str = ""

    @property
    def description(self) -> str:
        """What the agent's model reads of the tool `generate_a2ui`."""
        text: str = toolkit().GENERATE_A2UI_TOOL_DESCRIPTION
        return self.settings.tool_description or text

    @property
    def parameters(self) -> dict[str, Json]:
        """JSON Schema of that tool's arguments."""
        told = toolkit().GENERATE_A2UI_ARG_DESCRIPTIONS
        kinds: dict[str, dict[str, Json]] = {
            "intent": {"type": "string", "enum": ["create", "update"]},
            "target_surface_id": {"type": "string"},
            "changes": {"type": "string"},
        }
        return {
            "type": "object",
            "properties": {
                name: {**kind, "description": told[name]} for name, kind in kinds.items()
            },
            "additionalProperties": False,
        }

    @property
    def tool(self) -> dict[str, Any]:
        """The agent's tool: `name`, `description`, `parameters`."""
        told = {"description": self.description, "parameters": self.parameters}
        return {"name": GENERATE, **told}

    @property
    def draw(self) -> dict[str, Any]:
        """The tool that the second request must call: `name`, `description`, `parameters`."""
        return dict(toolkit().RENDER_A2UI_TOOL_DEF["function"])


@dataclass(frozen=True, slots=True)
class Page:
    """What a run's input says of the page.

    Attributes:
        tools: the application's, without the one that draws where there is an offer.
        context: what the page shows, without what is about surfaces where there is one, or where
            the agent draws by itself.
        offer: the surfaces that may be made, None for none.
    """

    tools: Sequence[Tool]
    context: Sequence[Context]
    offer: Offer | None = None


def page_of(run: Run, settings: A2UI | None, own: Collection[str] = ()) -> Page:
    """Read what the page shows, has and offers.

    Args:
        run: the run.
        settings: the author's; None takes no offer.
        own: names of the agent's tools: one that has a tool `generate_a2ui` keeps it, and no tool
            is taken out.
    """
    found = run.input
    page = Page(found.tools or (), found.context or ())
    if draws_itself(run, {*own, *(tool.name for tool in page.tools)}):
        return Page(page.tools, without_surfaces(page.context))
    if settings is None or GENERATE in own:
        return page
    flag = _flag(run)
    # An offer that the client takes back counts more than the author's.
    if not (settings.always if flag is None else flag) and not _has_made(run):
        return page
    if not _has_toolkit():
        return page
    drawing = _drawing(run)
    schema = next((one.value for one in page.context if one.description.startswith(_SCHEMA)), "")
    # The catalogs' entry has the same components, written at length.
    told = _GUIDELINES if schema else (*_GUIDELINES, _CATALOGS)
    guidance = [entry for entry in page.context if entry.description.startswith(told)]
    return Page(
        [tool for tool in page.tools if tool.name != drawing],
        without_surfaces(page.context),
        _offer(settings, drawing, schema, Application().words(run, guidance)),
    )


def draws_itself(run: Run, tools: Collection[str]) -> bool:
    """Whether a model has a tool of its agent's for surfaces, and not the page's that draws.

    What the page says of surfaces is how to draw with the latter.

    Args:
        run: the run.
        tools: names of the tools that the model has.
    """
    return GENERATE in tools and _drawing(run) not in tools


def without_surfaces(context: Sequence[Context]) -> list[Context]:
    """The entries of a context that are not about A2UI surfaces."""
    return [entry for entry in context if not entry.description.startswith(_ABOUT_SURFACES)]


def in_state(given: RunAgentInput, context: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What graphs find in their state that were made for AG-UI's own server of LangGraph.

    Args:
        given: the run's input.
        context: its context as JSON.

    Returns:
        `context` without the page's components, these as `a2ui_schema`, and the client's word as
        `inject_a2ui_tool`; nothing where the client says nothing of surfaces.
    """
    props = given.forwarded_props
    found = dict[str, Any]()
    if isinstance(props, Mapping) and _FLAG in props:
        found["inject_a2ui_tool"] = props[_FLAG]
    for entry in context:
        if entry["description"].startswith(_SCHEMA):
            found["a2ui_schema"] = entry["value"]
            found["context"] = [one for one in context if one is not entry]
    return found


def _offer(settings: A2UI, drawing: str, schema: str, guidance: str) -> Offer:
    if len(schema) > LONGEST_SCHEMA:
        logger.warning(
            "The page's A2UI components were left out: they have %d characters, at most %d are "
            "told to a model.",
            len(schema),
            LONGEST_SCHEMA,
        )
        schema = ""
    told = settings.catalog if settings.catalog is not None else _object(schema)
    if settings.catalog is not None:
        schema = json.dumps(dict(settings.catalog), ensure_ascii=False)
    components = told.get("components")
    known = isinstance(components, Mapping) and all(
        isinstance(one, Mapping) for one in components.values()
    )
    own = told.get("catalogId")
    catalog_id = settings.catalog_id or (own if isinstance(own, str) else "")
    catalog = {"components": components} if known and components else None
    return Offer(settings, drawing, schema, catalog, catalog_id, guidance)


def _flag(run: Run) -> Any:
    """What the client says of surfaces, None for nothing."""
    props = run.input.forwarded_props
    return props.get(_FLAG) if isinstance(props, Mapping) else None


def _drawing(run: Run) -> str:
    """The name of the page's tool that draws."""
    flag = _flag(run)
    return flag if isinstance(flag, str) else _RENDER


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _has_made(run: Run) -> bool:
    """Whether it goes on with calls of the tool: who answered may be no page that shows them."""
    if run.resume is None and run.handoff is None:
        return False
    calls = (call for message in run.raw_messages for call in message.get("toolCalls") or ())
    return any(call["function"]["name"] == GENERATE for call in calls)


def toolkit() -> Any:
    """The package ag-ui-a2ui-toolkit, which every offer that was taken has."""
    return import_module("ag_ui_a2ui_toolkit")


@cache
def _has_toolkit() -> bool:
    try:
        toolkit()
    except ModuleNotFoundError as error:
        if error.name != "ag_ui_a2ui_toolkit":
            raise
        logger.warning(
            "A client offers A2UI surfaces, and the agents here have no tool for them. "
            'It takes a package: pip install "agui-bridge[a2ui]"'
        )
        return False
    return True
