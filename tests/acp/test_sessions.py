"""Sessions of an editor: prompts, questions, cancellations, and what is there after a kill."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.acp.agents import effects_of
from tests.acp.editor import Editor, Start, within

pytestmark = pytest.mark.soak


async def test_a_prompt_is_a_run_and_its_text_comes_in_chunks(started: Start, folder: Path) -> None:
    async with started(folder, "echo") as editor:
        assert editor.offered["agentCapabilities"]["loadSession"] is True
        session = await editor.new()
        assert await within(editor.prompt(session, "hi")) == {"stopReason": "end_turn"}
        assert editor.said() == "You said: hi"
        assert editor.said("user_message_chunk") == "", "it has its own message"


@pytest.mark.parametrize(
    ("option", "effects", "status", "said"),
    [
        ("approve", ["deleted users 7"], "completed", "About users. Done: 7 of users"),
        ("decline", [], "failed", "About users. Kept."),
    ],
)
async def test_an_approval_shows_the_whole_call_and_is_carried_out_once_if_at_all(
    started: Start, folder: Path, option: str, effects: list[str], status: str, said: str
) -> None:
    async with started(folder, "asks") as editor:
        turn = editor.prompt(await editor.new(), "users")
        asked = await editor.answer(option)
        assert asked.params["toolCall"]["rawInput"] == {"table": "users", "limit": 7}
        assert '"table": "users"' in asked.words and "Delete users?" in asked.words
        kinds = {each["optionId"]: each["kind"] for each in asked.params["options"]}
        assert kinds == {"approve": "allow_once", "decline": "reject_once"}
        assert await within(turn) == {"stopReason": "end_turn"}
        [call] = editor.calls().values()
        assert (call["status"], call["toolCallId"]) == (
            status,
            asked.params["toolCall"]["toolCallId"],
        )
        assert editor.said() == said
    assert effects_of(folder) == effects


async def test_a_killed_bridge_asks_again_after_load_and_the_answer_is_carried_out_once(
    started: Start,
    folder: Path,
) -> None:
    async with started(folder, "asks") as first:
        session = await first.new()
        turn = first.prompt(session, "users")
        before = await first.next()
        await first.kill()
        turn.cancel()
    async with started(folder, "asks") as second:
        await second.load(session)
        assert second.said("user_message_chunk") == "users"
        assert second.said() == "About users. "
        again = await second.answer("approve")
        assert again.params == before.params
        await _settled(second)
        assert second.said() == "About users. Done: 7 of users"
    assert effects_of(folder) == ["deleted users 7"]


async def test_a_prompt_after_load_is_asked_the_question_first_and_then_heard(
    started: Start,
    folder: Path,
) -> None:
    async with started(folder, "asks") as first:
        session = await first.new()
        first.prompt(session, "users").add_done_callback(lambda turn: turn.exception())
        await first.next()
        await first.kill()
    async with started(folder, "asks") as second:
        await second.load(session)
        taken_over = await second.next()
        turn = second.prompt(session, "rows")
        await within(taken_over.withdrawn.wait())
        await second.answer("approve")
        await second.answer("decline")
        assert await within(turn) == {"stopReason": "end_turn"}
        assert second.said() == "About users. Done: 7 of usersAbout rows. Kept."
    assert effects_of(folder) == ["deleted users 7"]


@pytest.mark.parametrize("options", [("approve", "approve"), ("approve", "decline")])
async def test_of_two_editors_that_answer_at_once_one_decides_and_both_are_told(
    started: Start, folder: Path, options: tuple[str, str]
) -> None:
    async with started(folder, "asks") as one, started(folder, "asks") as other:
        session = await one.new()
        turn = one.prompt(session, "users")
        asked = await one.next()
        await other.load(session)
        same = await other.next()
        for each, option in zip((asked, same), options, strict=True):
            each.answer.set_result({"outcome": {"outcome": "selected", "optionId": option}})
        assert await within(turn) == {"stopReason": "end_turn"}
        await _settled(other)
        said = [editor.said().partition("\n\n")[0] for editor in (one, other)]
        done = effects_of(folder)
        assert done in ([], ["deleted users 7"])
        if options[1] == "approve":
            assert done == ["deleted users 7"]
        end = "Done: 7 of users" if done else "Kept."
        assert all(end in editor.said() for editor in (one, other)), said
        statuses = [[c["status"] for c in editor.calls().values()] for editor in (one, other)]
        assert statuses == [["completed" if done else "failed"]] * 2


async def test_a_session_that_is_resumed_is_not_told_again_and_goes_on(
    started: Start, folder: Path
) -> None:
    async with started(folder, "echo") as first:
        session = await first.new()
        await within(first.prompt(session, "one"))
    async with started(folder, "echo") as second:
        await second.load(session, "session/resume")
        await within(second.prompt(session, "two"))
        assert second.said() == "You said: two"
        third = await second.new()
        await within(second.prompt(third, "three"))
        with pytest.raises(Exception, match="There is no such session"):
            await second.load("never-seen")


async def test_an_editor_that_goes_away_leaves_the_question_to_the_next_one(
    started: Start, folder: Path
) -> None:
    async with started(folder, "asks") as first:
        session = await first.new()
        first.prompt(session, "users").add_done_callback(lambda turn: turn.exception())
        await first.next()
    async with started(folder, "asks") as second:
        await second.load(session)
        await second.answer("decline")
        await _settled(second)
        assert second.said() == "About users. Kept."
    assert effects_of(folder) == []


async def test_an_answer_given_elsewhere_withdraws_the_request_and_is_told(
    started: Start, folder: Path
) -> None:
    async with started(folder, "asks") as one, started(folder, "asks") as other:
        session = await one.new()
        turn = one.prompt(session, "users")
        asked = await one.next()
        await other.load(session)
        await other.answer("approve")
        await within(asked.withdrawn.wait())
        assert await within(turn) == {"stopReason": "end_turn"}
        assert one.said() == "About users. Done: 7 of users"
    assert effects_of(folder) == ["deleted users 7"]


async def test_a_cancellation_at_a_question_declines_what_waits(
    started: Start, folder: Path
) -> None:
    async with started(folder, "asks") as editor:
        session = await editor.new()
        turn = editor.prompt(session, "users")
        asked = await editor.next()
        await editor.cancel(session)
        asked.answer.set_result({"outcome": {"outcome": "cancelled"}})
        assert await within(turn) == {"stopReason": "cancelled"}
        [call] = editor.calls().values()
        assert call["status"] == "failed"
        editor.updates.clear()
        turn = editor.prompt(session, "rows")
        await editor.answer("decline")
        assert await within(turn) == {"stopReason": "end_turn"}
    assert effects_of(folder) == []


async def test_a_cancellation_stops_the_run_and_the_next_prompt_works(
    started: Start, folder: Path
) -> None:
    async with started(folder, "slow") as editor:
        session = await editor.new()
        turn = editor.prompt(session, "go")
        while "5 " not in editor.said():
            await asyncio.sleep(0.01)
        await editor.cancel(session)
        assert await within(turn) == {"stopReason": "cancelled"}
        told = editor.said()
        turn = editor.prompt(session, "go")
        while len(editor.said()) < len(told) + 5:
            await asyncio.sleep(0.01)
        await editor.cancel(session)
        assert await within(turn) == {"stopReason": "cancelled"}
    assert effects_of(folder) == ["began", "began"]


async def test_a_dismissed_question_stays_and_is_asked_again_by_the_next_prompt(
    started: Start,
    folder: Path,
) -> None:
    async with started(folder, "asks") as editor:
        session = await editor.new()
        turn = editor.prompt(session, "users")
        (await editor.next()).answer.set_result({"outcome": {"outcome": "cancelled"}})
        assert await within(turn) == {"stopReason": "cancelled"}
        turn = editor.prompt(session, "rows")
        assert '"users"' in (await editor.answer("approve")).words
        assert '"rows"' in (await editor.answer("decline")).words
        assert await within(turn) == {"stopReason": "end_turn"}
    assert effects_of(folder) == ["deleted users 7"]


async def test_a_form_is_an_elicitation_and_is_asked_again_until_it_fits(
    started: Start, folder: Path
) -> None:
    async with started(folder, "form", forms=True) as editor:
        turn = editor.prompt(await editor.new(), "go")
        asked = await editor.next()
        assert asked.params["requestedSchema"]["properties"] == {
            "name": {"type": "string", "title": "Name"},
            "count": {"type": "integer"},
        }
        asked.answer.set_result({"action": "accept", "content": {"name": "Bo", "count": 1}})
        again = await editor.next()
        assert "count" in again.words and "Who, and how many?" in again.words
        again.answer.set_result({"action": "accept", "content": {"name": "Bo", "count": 3}})
        assert await within(turn) == {"stopReason": "end_turn"}
        assert editor.said() == "Got {'name': 'Bo', 'count': 3}"


async def test_without_forms_words_say_where_to_answer_and_the_next_message_is_kept_back(
    started: Start,
    folder: Path,
) -> None:
    async with started(folder, "form") as editor:
        session = await editor.new()
        for _ in range(2):
            editor.updates.clear()
            assert await within(editor.prompt(session, "go")) == {"stopReason": "end_turn"}
            assert "Who, and how many?" in editor.said()
            assert "agui-bridge inbox answer" in editor.said()
        assert "Your message was not sent" in editor.said()


@pytest.mark.parametrize(("option", "said"), [("0", "Yes!"), ("1", "No!")])
async def test_without_forms_a_confirmation_has_buttons(
    started: Start, folder: Path, option: str, said: str
) -> None:
    async with started(folder, "confirm") as editor:
        turn = editor.prompt(await editor.new(), "go")
        asked = await editor.answer(option)
        assert asked.words == "Really?"
        assert await within(turn) == {"stopReason": "end_turn"}
        assert editor.said() == said


async def test_who_may_not_answer_is_told_who_may_and_nothing_is_offered(
    started: Start, folder: Path
) -> None:
    async with started(folder, "ruled") as asker:
        session = await asker.new()
        assert await within(asker.prompt(session, "users")) == {"stopReason": "end_turn"}
        assert '"table": "users"' in asker.said() and "Only boss may answer this" in asker.said()
        assert asker.asked.empty()
    async with started(folder, "ruled", "--actor", "boss") as boss:
        await boss.load(session)
        await boss.answer("approve")
        await _settled(boss)
    assert effects_of(folder) == ["deleted users 7"]


async def test_always_is_offered_where_the_bridge_remembers_and_then_nobody_is_asked(
    started: Start,
    folder: Path,
) -> None:
    async with started(folder, "remembering") as editor:
        session = await editor.new()
        turn = editor.prompt(session, "users")
        asked = await editor.answer("approve-thread")
        kinds = [each["kind"] for each in asked.params["options"]]
        assert kinds == ["allow_once", "allow_always", "reject_once"]
        await within(turn)
        assert await within(editor.prompt(session, "users")) == {"stopReason": "end_turn"}
        assert editor.asked.empty()
    assert effects_of(folder) == ["deleted users 7"] * 2


async def test_a_vote_is_not_asked_for_twice_and_the_second_person_decides(
    started: Start, folder: Path
) -> None:
    async with started(folder, "several", "--actor", "ann") as ann:
        session = await ann.new()
        turn = ann.prompt(session, "users")
        await ann.answer("approve")
        assert await within(turn) == {"stopReason": "end_turn"}
        assert "others have to answer, too" in ann.said()
        assert effects_of(folder) == []
        async with started(folder, "several", "--actor", "bob") as bob:
            await bob.load(session)
            await bob.answer("approve")
            await _settled(bob)
    assert effects_of(folder) == ["deleted users 7"]


async def _settled(editor: Editor) -> None:
    """Wait until each call has come to its end, and the text that follows."""
    async with asyncio.timeout(40):
        while any(c["status"] == "pending" for c in editor.calls().values()):
            await asyncio.sleep(0.01)
        while not any(end in editor.said() for end in ("of users", "Kept.")):
            await asyncio.sleep(0.01)
