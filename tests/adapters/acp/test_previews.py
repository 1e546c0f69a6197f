"""What people read before they approve a call is what the agent asks for, or nobody approves it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.previews import CommandPreview, DiffPreview
from agui_bridge_acp.calls import AgentCall
from tests.adapters.acp.bench import Bench, bridged
from tests.docs.pages import Conversation
from tests.protocol.test_previews import LINES, patched

pytestmark = pytest.mark.timeout(180)

YES = {"approved": True}
NO = {"approved": False, "reason": "not on a Friday"}

Told = dict[str, Any]
FILES = st.lists(
    st.tuples(st.text(min_size=1, max_size=20), st.none() | LINES, LINES), min_size=1, max_size=3
)


def asked(*told: Told) -> AgentCall:
    """A call as the agent told of it, the request last."""
    call = AgentCall("call-1")
    for one in told:
        call.take(one)
    return call


def diff(path: str, old: str | None, new: str) -> Told:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


# --- changes ---


@given(FILES)
def test_a_diff_makes_of_each_file_what_the_agent_wants_it_to_be(
    files: list[tuple[str, str | None, str]],
) -> None:
    made = asked({"kind": "edit", "content": [diff(*one) for one in files]}).preview("/work")
    assert isinstance(made, DiffPreview)
    assert (list(made.paths), made.is_cut) == ([path for path, _, _ in files], False)
    left = made.diff
    for path, old, new in files:
        one = DiffPreview.of(path, old, new)
        assert left.startswith(one.diff)
        left = left.removeprefix(one.diff)
        assert patched(old or "", DiffPreview([path], one.diff)) == new
    assert left == ""


@pytest.mark.parametrize(
    "files",
    [
        [diff("a", "", "line\n" * 20_000)],
        [diff("a", "", "x" * 600_000)],
        [diff("a", "", "x\n"), diff("b" * 2_000, "", "y\n")],
        [diff(str(n), "", "x\n") for n in range(101)],
        [diff("a", "", "line\n" * 6_000), diff("b", "", "line\n" * 6_000)],
    ],
    ids=["much", "a long file", "a long path", "many files", "much together"],
)
def test_what_is_too_long_to_be_shown_whole_is_cut_so_that_nobody_approves_it(
    files: list[Told],
) -> None:
    made = asked({"kind": "edit", "content": files}).preview("/work")
    assert isinstance(made, DiffPreview) and made.is_cut


def test_the_change_is_the_one_that_was_told_last() -> None:
    first, then = diff("a", "1\n", "2\n"), diff("a", "1\n", "3\n")
    announced = {"kind": "edit", "content": [first]}
    made = asked(announced, {"content": [then]}).preview("/work")
    assert isinstance(made, DiffPreview) and "+3\n" in made.diff and "+2\n" not in made.diff


TEXT = {"type": "content", "content": {"type": "text", "text": "Waiting for you."}}


@pytest.mark.parametrize(
    "later", [{"title": "a"}, {"content": None}, {"content": []}, {"content": [TEXT]}]
)
def test_what_an_update_does_not_say_again_is_still_read_and_still_counts(later: Told) -> None:
    announced = {"kind": "edit", "rawInput": {"p": 1}, "content": [diff("a", "1\n", "2\n")]}
    call = asked(announced, later)
    made = call.preview("/work")
    assert isinstance(made, DiffPreview) and "+2\n" in made.diff and not made.is_cut
    other = {**announced, "content": [diff("a", "1\n", "3\n")]}
    assert call.likeness != asked(other, later).likeness


@pytest.mark.parametrize(
    "change",
    [
        {"oldText": "1\n"},
        {},
        {"oldText": "1\n", "newText": None},
        {"oldText": "1\n", "newText": ["2"]},
        {"oldText": 1, "newText": "2\n"},
    ],
)
def test_a_change_that_says_not_what_becomes_of_the_file_is_approved_by_nobody(
    change: Told,
) -> None:
    told = {"kind": "edit", "content": [{"type": "diff", "path": "a", **change}]}
    made = asked(told).preview("/work")
    assert isinstance(made, DiffPreview) and made.is_cut


def test_calls_that_would_change_other_things_are_not_alike() -> None:
    call = {"kind": "edit", "rawInput": {"path": "a"}}
    one, same, other = (
        asked({**call, "content": [diff("a", "1\n", new)]}).likeness
        for new in ("2\n", "2\n", "3\n")
    )
    assert one == same != other


# --- commands ---


def test_a_command_comes_before_changes_and_has_all_its_words() -> None:
    words = {"command": "git", "args": ["push", "--force", "a b"]}
    told = {"kind": "execute", "rawInput": words, "content": [diff("a", "1\n", "1\n")]}
    assert asked(told).preview("/work") == CommandPreview("git push --force 'a b'", "/work")
    odd = {"kind": "execute", "rawInput": {"command": "git", "args": "--force"}}
    assert asked(odd).preview("/work") is None


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5).filter(any))
def test_a_command_of_parts_is_read_by_a_shell_as_the_same_parts(parts: list[str]) -> None:
    made = asked({"kind": "execute", "rawInput": {"command": parts}}).preview("/work")
    assert isinstance(made, CommandPreview)
    assert (shlex.split(made.command), made.folder) == (parts, "/work")


@pytest.mark.parametrize("name", ["cwd", "workdir", "directory"])
def test_a_command_has_the_folder_that_it_runs_in(name: str) -> None:
    made = asked({"kind": "execute", "rawInput": {"command": "rm a", name: "/srv"}})
    assert made.preview("/work") == CommandPreview("rm a", "/srv")


def test_a_command_that_is_too_long_to_be_shown_whole_is_cut() -> None:
    made = asked({"kind": "execute", "rawInput": {"command": "x" * 10_001}}).preview("/work")
    assert made == CommandPreview("x" * 10_000, "/work", is_cut=True)


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "execute"},
        {"kind": "execute", "rawInput": {"command": ""}},
        {"kind": "execute", "rawInput": {"command": [1]}},
        {"kind": "fetch", "rawInput": {"command": "rm a"}},
    ],
)
def test_what_is_no_command_has_no_preview(told: Told) -> None:
    assert asked(told).preview("/work") is None


# --- before an agent ---


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.soak
async def test_a_change_is_shown_as_a_diff_and_another_change_is_another_question(
    bench: Bench,
) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("change moved")
        (ask,) = talk.asks
        assert ask["metadata"]["agui_bridge"]["preview"] == {
            "type": "diff",
            "paths": ["/a.txt"],
            "diff": "--- a//a.txt\n+++ b//a.txt\n@@ -1 +1 @@\n-one\n+two\n",
            "cut": False,
        }
        await talk.answer(YES)
        # The file had changed meanwhile: with equal arguments the call would do something else.
        (again,) = talk.asks
        assert "-zero\n+two\n" in again["metadata"]["agui_bridge"]["preview"]["diff"]
        assert bench.effects == []


@pytest.mark.soak
async def test_a_change_that_is_approved_as_it_was_shown_is_made(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("change")
        await talk.answer(YES)
        assert bench.effects == [{"path": "a.txt"}]


@pytest.mark.soak
async def test_a_change_that_nobody_can_read_whole_can_only_be_declined(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("big")
        (ask,), asked = talk.asks, talk.events
        assert ask["metadata"]["agui_bridge"]["preview"]["cut"] is True
        await talk.answer(YES)
        refused, talk.events = talk.events, asked
        assert refused[-1]["code"] == "INVALID_RESUME_PAYLOAD"
        await talk.answer(NO)
        assert bench.effects == []
        assert "not on a Friday" in bench.heard


@pytest.mark.soak
async def test_a_command_is_shown_with_its_folder(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("run")
        (ask,) = talk.asks
        assert ask["metadata"]["agui_bridge"]["preview"] == {
            "type": "command",
            "command": "rm -r 'my files'",
            "folder": "/srv",
            "cut": False,
        }
