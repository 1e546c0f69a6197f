"""A model as an agent of one run has it: no two calls of the thread have one id.

It reads what the application says, which the conversation does not have; and nobody else's file is
named to it by a handle.

The SDK wants this of models. Else it drops the earlier one of two calls, and its output, from what
the model is told; and to people both would be one call.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agents import ModelResponse, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agents.run_internal import run_loop

from agui_bridge.adapters import ReplyIds, close_items
from agui_bridge.media import NO_HANDLES, Handles, handles_at
from agui_bridge_openai_agents.content import readable, with_words

_NAME: Final = "agui_bridge"
_ITEMS: Final = frozenset({"response.output_item.added", "response.output_item.done"})
_WHOLE: Final = frozenset({"response.completed", "response.incomplete"})
_WITH_CALLS: Final = _ITEMS | _WHOLE


def hold_models(hold: Callable[[Any], Any]) -> None:
    """Have the SDK ask the models that a function makes of its own. Once per process.

    Args:
        hold: gets the model of an agent that is about to be asked.
    """
    plain = run_loop.get_model
    if getattr(plain, _NAME, False):
        return

    @functools.wraps(plain)
    def get_model(agent: Any, run_config: Any) -> Any:
        return hold(plain(agent, run_config))

    setattr(get_model, _NAME, True)
    # `RunConfig` replaces the models of agents by one, or none of them. This one function gives
    # each agent's, inside tools too; outside of a run of the bridge nothing changes.
    run_loop.get_model = get_model


class UniqueModel:
    """Stands before a model.

    Args:
        model: the model.
        new: gives the id of a new call, as `CallIds.new` does.
        words: gives what the application says to whoever asks it now.
    """

    def __init__(
        self, model: Any, new: Callable[[str | None], str], words: Callable[[], str]
    ) -> None:
        self._model = model
        self._new = new
        self._words = words
        self._handles = _handles_of(model)
        self._told: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The model's reply in one piece."""
        args, kwargs = self._asked(args, kwargs)
        response: ModelResponse = await self._model.get_response(*args, **kwargs)
        return replace(response, output=_named(response.output, ReplyIds(self._new)))

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """What the model streams."""
        args, kwargs = self._asked(args, kwargs)
        reply = ReplyIds(self._new)
        events = self._model.stream_response(*args, **kwargs)
        try:
            async for event in events:
                yield _renamed(event, reply) if event.type in _WITH_CALLS else event
        finally:
            await close_items(events)

    def _asked(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the SDK asks, with the application's words."""
        if "input" in kwargs:
            return args, {**kwargs, "input": self._items(kwargs["input"])}
        before, items, *others = args
        return (before, self._items(items), *others), kwargs

    def _items(self, items: Any) -> Any:
        items = readable(items, self._handles, self._told)
        words = self._words()
        return with_words(items, words) if words else items


def _handles_of(model: Any) -> Handles:
    """The handles of files that a model takes."""
    if isinstance(model, OpenAIResponsesModel):
        return handles_at(model._get_client().base_url, {"image", "document"})
    if isinstance(model, OpenAIChatCompletionsModel):
        # The API has no member for a picture's handle, and the SDK refuses one.
        return handles_at(model._get_client().base_url, {"document"})
    return NO_HANDLES


def _renamed(event: Any, reply: ReplyIds) -> Any:
    """An event of a stream, its calls under ids of their own; mostly the same one."""
    kind = event.type
    if kind in _ITEMS and _is_call(event.item):
        item = _under(event.item, reply.piece(event.output_index, event.item.call_id))
        return event if item is event.item else _with(event, item=item)
    if kind in _WHOLE:
        given, output = event.response.output, _named(event.response.output, reply)
        if any(one is not other for one, other in zip(given, output, strict=True)):
            return _with(event, response=_with(event.response, output=output))
    return event


def _named(output: Sequence[Any], reply: ReplyIds) -> list[Any]:
    """The items of a whole reply, its calls under ids of their own."""
    own = iter(reply.whole(item.call_id for item in output if _is_call(item)))
    return [_under(item, next(own)) if _is_call(item) else item for item in output]


def _under(call: Any, own: str) -> Any:
    return call if call.call_id == own else _with(call, call_id=own)


def _is_call(item: Any) -> bool:
    return getattr(item, "type", None) == "function_call"


def _with(model: Any, **changed: Any) -> Any:
    # A copy: a model may give the same objects again.
    return model.model_copy(update=changed)
