"""What every framework's agent for e-mails does alike behind a bridge, written once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from agui_bridge import Adapter, Bridge, Principal, ProposedCall, Verdict
from agui_bridge.testing import Talk, talk
from tests.docs.pages import Conversation

__all__ = ["COLOUR_TOOL", "YES", "EditableMails", "MailBridges", "Mails", "StatelessMails"]

YES = {"approved": True}
COLOUR_TOOL = {
    "name": "set_colour",
    "description": "Colour the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}


@dataclass(frozen=True)
class MailBridges:
    """Bridges with one framework's mailer, and conversations with it.

    Attributes:
        adapter: makes the adapter of a mailer and of its own options.
    """

    adapter: Callable[..., Adapter]

    def serving(self, mailer: Any, store: str = "memory:", **options: Any) -> Bridge:
        """A bridge with the agent, not yet begun."""
        bridge = Bridge(store)
        bridge.add("mailer", self.adapter(mailer, **options))
        return bridge

    def talking(self, mailer: Any, **options: Any) -> AbstractAsyncContextManager[Talk]:
        """A conversation through `agui_bridge.testing`."""
        return talk(self.serving(mailer, **options), "mailer")

    @staticmethod
    @asynccontextmanager
    async def conversing(bridge: Bridge, **options: Any) -> AsyncIterator[Conversation]:
        """A conversation whose inputs a test writes itself."""
        async with bridge.lifespan():
            yield Conversation(bridge, "mailer", **options)


class Mails:
    """The tests of any framework; a subclass names its bridges, and has a fixture `mailer`.

    Attributes:
        bridges: those of the framework.
        signature: what its model's provider wants back.
        tells_signature: whether the page is told that, as by the framework's own server.
    """

    bridges: ClassVar[MailBridges]
    signature: ClassVar[str]
    tells_signature: ClassVar[bool] = False

    async def test_a_resumed_run_pauses_again(self, mailer: Any) -> None:
        async with self.bridges.talking(mailer) as one:
            first = await one.say("twice bob")
            second = await one.answer(first, YES)
            assert [done["to"] for done in mailer.done] == ["bob"]
            assert (await one.answer(second, YES)).ending == "success"
        assert [done["to"] for done in mailer.done] == ["bob", "second-bob"]

    async def test_a_call_that_nobody_answered_is_never_executed_by_a_later_run(
        self, mailer: Any
    ) -> None:
        async with self.bridges.talking(mailer) as one:
            await one.say("send bob")
            await one.stop()
            assert (await one.say("hello")).text == "Hello."
        assert mailer.done == []
        assert len(mailer.results("send_email")) == 1

    async def test_reasoning_and_what_the_provider_wants_back_are_kept_from_turn_to_turn(
        self, mailer: Any
    ) -> None:
        async with self.bridges.talking(mailer) as one:
            thought = await one.say("think trees")
            await one.say("hello")
            await one.say("hello")
        kinds = [event["type"] for event in thought.events]
        assert kinds.index("REASONING_MESSAGE_END") < kinds.index("TEXT_MESSAGE_START")
        assert self.signature in mailer.told()
        assert (self.signature.encode() in thought.raw) == self.tells_signature
        assert mailer.told().count("think trees") == 1

    async def test_the_next_turn_has_the_text_that_a_stop_cut_off(self, mailer: Any) -> None:
        async with self.bridges.talking(mailer) as one:
            await one.say("think trees")
            stream = one.begin("slow")
            assert await stream.until("TEXT_MESSAGE_CONTENT")
            await one.stop()
            assert (await stream.rest()).ending == "cancelled"
            await one.say("hello")
            assert "Working. " in mailer.told()
            assert self.signature in mailer.told()
            await one.say("hello")
        assert mailer.told().count("Working. ") == 1

    async def test_the_application_carries_its_own_tools_out(self, mailer: Any) -> None:
        async with self.bridges.conversing(self.bridges.serving(mailer)) as one:
            await one.say("colour red", tools=[COLOUR_TOOL])
            assert await one.hand_back("it is red") == "Done with 1 calls."
            results = [e for e in one.events if e["type"] == "TOOL_CALL_RESULT"]
        assert (mailer.results("set_colour"), results) == (["it is red"], [])

    async def test_a_stop_lets_the_tool_that_runs_finish_and_begins_nothing_more(
        self, mailer: Any
    ) -> None:
        async with self.bridges.talking(mailer) as one:
            stream = one.begin("wait")
            await asyncio.wait_for(mailer.begun.wait(), 10)
            stopping = asyncio.create_task(one.stop())
            await asyncio.wait([stopping], timeout=0.2)
            mailer.finish.set()
            await stopping
            assert (await stream.rest()).ending == "cancelled"
            assert mailer.done == ["waited"]
            kept = [m["content"] for m in await one.messages() if m["role"] == "tool"]
            assert (await one.say("hello")).ending == "success"
        assert len(mailer.requests) == 2
        assert kept == mailer.results("wait") == ["it is done"]

    async def test_a_forced_stop_waits_for_no_tool(self, mailer: Any) -> None:
        async with self.bridges.talking(mailer) as one:
            stream = one.begin("wait")
            await asyncio.wait_for(mailer.begun.wait(), 10)
            await one.stop(force=True)
            assert (await stream.rest()).ending == "cancelled"
        assert mailer.done == []


class StatelessMails(Mails):
    """The tests of a framework that keeps nothing itself, and asks about each call alone."""

    async def test_the_neighbour_of_a_paused_call_runs_once(self, mailer: Any) -> None:
        async with self.bridges.talking(mailer) as one:
            asked = await one.say("mixed bob")
            assert mailer.done == ["looked up bob"]
            assert (await one.answer(asked, YES)).ending == "success"
        assert mailer.done == ["looked up bob", {"to": "bob", "body": "original"}]

    async def test_the_model_reads_why_a_person_declined_in_the_words_of_the_history(
        self, mailer: Any
    ) -> None:
        async with self.bridges.talking(mailer) as one:
            await one.answer(await one.say("send bob"), {"approved": False, "reason": "not him"})
            (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        told = "The user declined this tool call; it was not executed. Reason: not him"
        assert mailer.results("send_email") == [told]
        assert (kept, mailer.done) == (told, [])

    async def test_a_pause_outlives_the_process_and_is_answered_once(
        self, mailer: Any, tmp_path: Path
    ) -> None:
        store = f"sqlite:///{tmp_path}/agents.db"
        before, again = type(mailer)(mailer.done.append), mailer
        async with talk(self.bridges.serving(before), "mailer", store=store) as one:
            asked = await one.say("send bob")
        async with talk(self.bridges.serving(again), "mailer", store=store) as one:
            assert (await one.answer(asked, YES)).ending == "success"
            await one.answer(asked, YES)
        assert again.done == [{"to": "bob", "body": "original"}]
        assert "send bob" in again.told()

    async def test_a_message_sent_along_with_the_answer_reaches_the_model(
        self, mailer: Any
    ) -> None:
        async with self.bridges.conversing(self.bridges.serving(mailer)) as one:
            await one.say("send bob")
            entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
            await one.say("hello again", resume=[entry])
            assert one.events[-1]["outcome"]["type"] == "success"
            assert "hello again" in mailer.told()
            await one.say("hello")
        assert len(mailer.done) == 1
        assert mailer.told().count("hello again") == 1

    async def test_an_answer_that_is_asked_anew_is_not_remembered(self, mailer: Any) -> None:
        async with self.bridges.conversing(self.bridges.serving(mailer)) as one:
            await one.say("think trees")
            first = {"id": "u1", "role": "user", "content": "think trees"}
            await one._send(messages=[first])
            assert len(mailer.requests) == 2
            assert "I thought of trees." not in mailer.told()
            await one._send(messages=[{**first, "id": "u9", "content": "think stones"}])
        assert mailer.told().count("think stones") == 1

    async def test_an_approval_beside_a_frontend_tool_takes_both_answers(self, mailer: Any) -> None:
        async with self.bridges.conversing(self.bridges.serving(mailer)) as one:
            await one.say("colourandsend red", tools=[COLOUR_TOOL])
            (ask,) = one.asks
            starts = [e for e in one.events if e["type"] == "TOOL_CALL_START"]
            (call,) = [e["toolCallId"] for e in starts if e["toolCallName"] == "set_colour"]
            result = {"id": "f1", "role": "tool", "toolCallId": call, "content": "it is red"}
            entry = {"interruptId": ask["id"], "status": "resolved", "payload": YES}
            await one._send(messages=[result], resume=[entry], tools=[COLOUR_TOOL])
            assert one.events[-1]["outcome"]["type"] == "success"
        assert mailer.results("set_colour") == ["it is red"]
        assert mailer.done == [{"to": "red", "body": "original"}]


class EditableMails(Mails):
    """The tests of a framework whose calls people may edit."""

    async def test_what_was_edited_is_what_runs_and_the_card_offers_the_tools_own_schema(
        self, mailer: Any
    ) -> None:
        async with self.bridges.talking(mailer) as one:
            asked = await one.say("send bob")
            (ask,) = asked.asks
            schema = ask["responseSchema"]["properties"]["editedArgs"]
            assert set(schema["properties"]) == {"to", "body"}
            await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
        assert mailer.done == [{"to": "ann", "body": "edited"}]

    async def test_a_policy_denies_a_tool_that_needs_no_approval(self, mailer: Any) -> None:
        bridge = self.bridges.serving(mailer)
        bridge.policy(lambda call: Verdict("deny", "not him"))
        async with talk(bridge, "mailer") as one:
            assert (await one.say("look bob")).ending == "success"
        assert mailer.done == []
        assert mailer.results("look_up") == [
            "The policy denied this tool call; it was not executed. Reason: not him"
        ]

    async def test_a_policy_has_people_asked_and_learns_who_approved_what(
        self, mailer: Any
    ) -> None:
        seen = list[tuple[Any, ...]]()

        def policy(call: ProposedCall) -> Verdict:
            seen.append((dict(call.args), call.approved, call.approved_by))
            return Verdict("ask", "Look him up?", editable=True)

        bridge = self.bridges.serving(mailer)
        bridge.policy(policy)
        async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
            asked = await one.say("look bob")
            assert asked.asks[0]["message"] == "Look him up?"
            assert mailer.done == []
            await one.answer(asked, {**YES, "editedArgs": {"name": "eve"}})
        assert mailer.done == ["looked up eve"]
        assert seen == [({"name": "bob"}, False, None), ({"name": "eve"}, True, "ann")]
