"""How one surface is made: the model draws, what it drew is checked, and it may try again.

The page sees each try while it is written, as a call of its drawing tool inside the agent's call:
AG-UI's A2UI middleware makes the surface of these calls' arguments, and shows that another try is
under way where one is not valid. The calls are a sub-agent's, so that no model reads them again in
later turns: the agent's call has the whole surface for its result.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Run, close_items
from agui_bridge.emitting import emit
from agui_bridge.frameworks.a2ui.offer import Offer, toolkit
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.lifecycle.partial_json import completion
from agui_bridge.protocol.threads.records import Json

logger: Final = logging.getLogger("agui_bridge.agents")

LONGEST_SURFACE: Final = 262_144
"""Characters of one surface as a model writes it, at most."""

Pieces = Callable[[str], AsyncIterator[str]]
"""Asks a model, given what it is to read first, and gives the arguments of its drawing as text."""

_NAME: Final = "a2ui"
_STRETCH: Final = 2000
"""Characters that are told piece by piece; of longer text an eighth at once, since each look at
whether it is JSON so far reads it all."""

_MOST_ERRORS: Final = 20
_LONGEST_ERROR: Final = 300

Errors = list[dict[str, str]]


@dataclass(slots=True)
class _Written:
    """What a model writes of one surface, as the page is told it.

    Attributes:
        call: the id of the call that it is told as.
        owner: the sub-agent's.
        told: takes events.
        prefix: what the page reads before the model's first member.
    """

    call: str
    owner: str
    told: Callable[[BaseEvent], None]
    prefix: str
    text: str = ""
    sent: str = field(default="", init=False)
    _pending: str = field(default="", init=False)
    _broken: bool = field(default=False, init=False)

    def begin(self, name: str) -> None:
        self.told(
            ToolCallStartEvent(
                tool_call_id=self.call, tool_call_name=name, subagent_run_id=self.owner
            )
        )

    def add(self, piece: str) -> None:
        self.text += piece
        if self.prefix and not self.sent and not self._pending:
            # After the bracket, and before the first member: alone it would leave a comma behind.
            opened, bracket, rest = self.text.partition("{")
            if not bracket or not rest.strip():
                return
            empty = rest.lstrip().startswith("}")
            self._pending = f"{opened}{{{'' if empty else self.prefix}{rest}"
        else:
            self._pending += piece
        if len(self._pending) >= (len(self.sent) // 8 if len(self.sent) > _STRETCH else 1):
            self._flush()

    def end(self) -> None:
        self._flush()
        if self.sent and (suffix := completion(self.sent)):
            self._tell(suffix)
        self.told(ToolCallEndEvent(tool_call_id=self.call, subagent_run_id=self.owner))

    def _flush(self) -> None:
        if not self._pending or self._broken:
            return
        self._broken = completion(self.sent + self._pending) is None
        if not self._broken:
            self._tell(self._pending)
            self.sent += self._pending
            self._pending = ""

    def _tell(self, delta: str) -> None:
        self.told(
            ToolCallArgsEvent(tool_call_id=self.call, delta=delta, subagent_run_id=self.owner)
        )


class Surfaces:
    """Makes the surfaces of one run.

    Args:
        offer: the client's.
        mint: gives a new id.
        conversation: gives the thread's messages as JSON: a surface that is to be changed is there.
        stopped: tells whether the run shall end.
        words: what the application says to its models; see `Application.words`.
        tell: takes events; by default `agui_bridge.emit`, for what runs as a tool.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        mint: Callable[[], str],
        conversation: Callable[[], Sequence[Mapping[str, Json]]],
        stopped: Callable[[], bool],
        words: str = "",
        tell: Callable[[BaseEvent], None] = emit,
    ) -> None:
        self.offer = offer
        self._mint = mint
        self._conversation = conversation
        self._stopped = stopped
        self._words = words
        self._tell = tell

    async def make(self, args: Mapping[str, Any], ask: Pieces, call: str | None = None) -> str:
        """Carry out a call of the tool `generate_a2ui`.

        Args:
            args: its arguments, see `Offer.parameters`.
            ask: asks the model once; what it raises is a try that failed.
            call: its id.

        Returns:
            The call's result as JSON text: `{"a2ui_operations": […]}`, else `{"error": …}`.
        """
        kit, target = toolkit(), args.get("target_surface_id")
        prepared = kit.prepare_a2ui_request(
            intent=args.get("intent"),
            target_surface_id=target,
            changes=args.get("changes"),
            messages=list(self._conversation()),
            state={"ag-ui": {"context": [], "a2ui_schema": self.offer.schema}},
            guidelines=dict(self.offer.settings.guidelines),
        )
        if "error" in prepared:
            refused: str = kit.wrap_error_envelope(prepared["error"])
            return refused
        told = (prepared["prompt"], self.offer.guidance, self._words)
        prompt = "\n\n".join(filter(None, told))
        owner = self._mint()
        self._tell(
            SubagentStartedEvent(subagent_run_id=owner, name=_NAME, parent_tool_call_id=call)
        )
        drawn, tries = await self._tried(prompt, ask, owner)
        self._tell(SubagentFinishedEvent(subagent_run_id=owner))
        if drawn is None:
            return _exhausted(tries)
        settings = self.offer.settings
        envelope: str = kit.build_a2ui_envelope(
            args=drawn,
            is_update=prepared["is_update"],
            target_surface_id=target,
            prior=prepared.get("prior"),
            default_surface_id=settings.surface_id or kit.DEFAULT_SURFACE_ID,
            default_catalog_id=self.offer.catalog_id or kit.BASIC_CATALOG_ID,
        )
        return envelope

    async def _tried(
        self, prompt: str, ask: Pieces, owner: str
    ) -> tuple[dict[str, Any] | None, list[Json]]:
        """The first valid surface, and what was wrong with the others."""
        kit, errors, tries = toolkit(), Errors(), list[Json]()
        for number in range(1, self.offer.settings.attempts + 1):
            if self._stopped():
                break
            asked = kit.augment_prompt_with_validation_errors(prompt, errors)
            drawn, errors = await self._drawn(asked, ask, owner)
            tries.append({"attempt": number, "ok": not errors, "errors": list[Json](errors)})
            if not errors:
                return drawn, tries
        return None, tries

    async def _drawn(
        self, prompt: str, ask: Pieces, owner: str
    ) -> tuple[dict[str, Any] | None, Errors]:
        """What the model drew, and what is wrong with it."""
        written: _Written | None = None
        errors = Errors()
        pieces = ask(prompt)
        try:
            async for piece in pieces:
                if written is None:
                    written = _Written(self._mint(), owner, self._tell, self._prefix)
                    written.begin(self.offer.drawing)
                written.add(piece)
                if len(written.text) > LONGEST_SURFACE:
                    errors = [_error(f"A surface has at most {LONGEST_SURFACE} characters")]
                    break
        except Exception:
            logger.warning("A model failed while it drew an A2UI surface.", exc_info=True)
            errors = [_error("The model failed")]
        finally:
            await close_items(pieces)
        if written is None:
            return None, errors or [_error(f"The model did not call {self.offer.draw['name']}")]
        written.end()
        drawn = None if errors else _object(written.text)
        if drawn is None and not errors:
            errors = [_error("The arguments are no JSON object")]
        if drawn is not None:
            errors = self._faults(drawn)
        content: Json = {"status": "invalid", "errors": list[Json](errors)}
        self._tell(
            ToolCallResultEvent(
                message_id=self._mint(),
                tool_call_id=written.call,
                content=json.dumps(content if errors else {"status": "rendered"}),
                role="tool",
                subagent_run_id=owner,
            )
        )
        return drawn, errors

    @property
    def _prefix(self) -> str:
        """Says which catalog is meant: a page that has several can't know."""
        known = self.offer.catalog_id
        return f'"catalogId": {json.dumps(known)}, ' if known else ""

    def _faults(self, drawn: Mapping[str, Any]) -> Errors:
        data = drawn.get("data")
        try:
            found = toolkit().validate_a2ui_components(
                components=drawn.get("components"),
                data=data if isinstance(data, dict) else {},
                catalog=self.offer.catalog,
            )
        except RecursionError:
            return [_error("The components are nested too deep")]
        return [
            {name: str(text)[:_LONGEST_ERROR] for name, text in error.items()}
            for error in found["errors"][:_MOST_ERRORS]
        ]


def _object(text: str) -> dict[str, Any] | None:
    """What a model wrote, where every reader takes it for the same object."""
    if completion(text) != "":
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and find_forbidden(found) is None else None


def _error(message: str) -> dict[str, str]:
    return {"code": "invalid_surface", "path": "components", "message": f"{message}."}


def _exhausted(tries: Sequence[Json]) -> str:
    """What the middleware tells the page as a failure."""
    text = f"Failed to generate valid A2UI after {len(tries)} attempt(s)"
    code = "a2ui_recovery_exhausted"
    return json.dumps({"error": text, "code": code, "attempts": list(tries)})


def surfaces_of(run: Run, offer: Offer, words: str = "") -> Surfaces:
    """Makes the surfaces of an adapter's run, inside its framework's tools.

    Args:
        run: the run.
        offer: the client's.
        words: see `Surfaces`; "" where its requests have them anyway.
    """
    return Surfaces(
        offer,
        mint=run.mint,
        conversation=run.conversation,
        stopped=lambda: run.stop.requested,
        words=words,
    )
