"""What tools tell the page besides their results: what they yield, and settings of ag_ui_strands.

`yield {"state": …}` in a tool becomes the shared state, as behind Strands' own AG-UI server; events
of `ag_ui.core` go out as they are. The tool behaviours of a StrandsAgent of ag_ui_strands are read
here, too. Their functions only tell: if one fails, the log says so, and the run goes on.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, StateDeltaEvent, StateSnapshotEvent

from agui_bridge.adapters import Run
from agui_bridge.emitting import events_in
from agui_bridge_strands.content import result_text, to_json

_LOGGER: Final = logging.getLogger(__name__)


class ToolEvents:
    """Of one run.

    Args:
        run: the run.
        behaviors: the behaviours of tools, by their names.
    """

    def __init__(self, run: Run, behaviors: Mapping[str, Any]) -> None:
        self._run = run
        self._behaviors = behaviors
        self._is_object = isinstance(run.state, Mapping)

    def ends_run(self, name: str) -> bool:
        """Whether the model says nothing to the result of a tool."""
        return bool(getattr(self._behaviors.get(name), "stop_streaming_after_result", False))

    async def begun(self, name: str, call: str, args: Any) -> AsyncIterator[BaseEvent]:
        """What is told right before a tool is carried out.

        Args:
            name: the tool.
            call: the call's id.
            args: what it is given.
        """
        function = getattr(self._behaviors.get(name), "state_from_args", None)
        if function is not None:
            context = self._context("ToolCallContext", name, call, args)
            async for event in self._told(name, self._state, function, context):
                yield event

    async def streamed(self, name: str, call: str, data: Any) -> AsyncIterator[BaseEvent]:
        """What is told of something that a tool yields.

        Args:
            name: the tool.
            call: the call's id.
            data: what it yields.
        """
        handler = getattr(self._behaviors.get(name), "tool_stream_event_handler", None)
        if handler is not None:
            context = _context_class("ToolStreamEventContext")(call, name, data)
            async for event in self._told(name, handler, context):
                yield event
        elif isinstance(data, Mapping) and "state" in data:
            yield self._snapshot(to_json(data["state"]))
        else:
            for event in events_in(data):
                yield event

    async def returned(
        self, name: str, call: str, args: Any, result: Mapping[str, Any]
    ) -> AsyncIterator[BaseEvent]:
        """What is told after the result of a tool that was carried out.

        Args:
            name: the tool.
            call: the call's id.
            args: what it was given.
            result: Strands' own.
        """
        behavior = self._behaviors.get(name)
        function = getattr(behavior, "state_from_result", None)
        handler = getattr(behavior, "custom_result_handler", None)
        if function is None and handler is None:
            return
        context = self._context(
            "ToolResultContext",
            name,
            call,
            args,
            result_data=_value_of(result_text(result)),
            message_id=self._run.mint(),
        )
        if function is not None:
            async for event in self._told(name, self._state, function, context):
                yield event
        if handler is not None:
            async for event in self._told(name, handler, context):
                yield event

    async def _told(
        self, name: str, tell: Callable[..., AsyncIterator[BaseEvent | None]], *given: Any
    ) -> AsyncGenerator[BaseEvent, None]:
        """What a function tells, without what the bridge does itself: which messages there are."""
        try:
            async for event in tell(*given):
                for one in events_in(event):
                    if not isinstance(one, MessagesSnapshotEvent):
                        yield one
        except Exception:
            _LOGGER.exception("A function of the tool behaviour of %r failed.", name)

    async def _state(
        self, function: Callable[[Any], Any], context: Any
    ) -> AsyncGenerator[BaseEvent, None]:
        """The keys of the state that a function gives; the others stay."""
        given = function(context)
        if inspect.isawaitable(given):
            given = await given
        if not given:
            return
        if not self._is_object:
            yield self._snapshot(to_json(given))
            return
        yield StateDeltaEvent(
            delta=[
                {"op": "add", "path": f"/{_escaped(key)}", "value": value}
                for key, value in to_json(given).items()
            ]
        )

    def _snapshot(self, state: Any) -> BaseEvent:
        self._is_object = isinstance(state, Mapping)
        return StateSnapshotEvent(snapshot=state)

    def _context(self, kind: str, name: str, call: str, args: Any, **more: Any) -> Any:
        return _context_class(kind)(
            input_data=self._run.input.model_copy(update={"state": self._run.state}),
            tool_name=name,
            tool_use_id=call,
            tool_input=args,
            args_str=json.dumps(to_json(args), ensure_ascii=False),
            **more,
        )


def _context_class(kind: str) -> Any:
    """A class of ag_ui_strands: whoever gave a behaviour has it."""
    from ag_ui_strands import config

    return getattr(config, kind)


def _value_of(text: str) -> Any:
    """A result as ag_ui_strands gives it to functions: what JSON, or Python's own form, says."""
    for written in (text, text.replace("'", '"')):
        try:
            return json.loads(written)
        except ValueError:
            continue
    return text


def _escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
