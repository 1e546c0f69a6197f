"""Faults of what pages bring, bring again, and take back."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["CONVERSATIONS"]

_MODEL: Final = (
    "tests/model/conversations/test_conversations.py::"
    "test_conversations_of_stale_and_repeating_pages_keep_their_promises"
)

CONVERSATIONS: Final = (
    Fault(
        id="repeats-unknown",
        broken="The row of admission that knows an input again is gone.",
        file="agui_bridge/protocol/contract/admission.py",
        before='    ("8a", _repeated),\n',
        after="",
        tests=_MODEL,
    ),
    Fault(
        id="repeat-of-lost-is-success",
        broken="The same input again, whose run was lost, is told as one that went well.",
        file="agui_bridge/protocol/contract/admission.py",
        before='    if receipt.outcome in ("failed", "lost"):\n        code = _code_of(receipt)\n'
        "        return _reject(code, f",
        after='    if receipt.outcome == "failed":\n        code = _code_of(receipt)\n'
        "        return _reject(code, f",
        tests=_MODEL,
    ),
    Fault(
        id="stale-sign-counts",
        broken="A sign counts whichever message it names, also of a page that is behind.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before='return None if self.sign == turns[-1].id else "behind"',
        after="return None",
        tests=_MODEL,
    ),
    Fault(
        id="sign-ignored",
        broken="The sign of what a page knew is not looked at: nothing with a call goes back.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before="        if self.sign is not None:\n",
        after="        if self.sign is not None and self.sign != turns[-1].id:\n",
        tests=_MODEL,
    ),
    Fault(
        id="calls-go-unsigned",
        broken="A list that ends early takes executed calls back without a sign.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before='                    return "calls"\n',
        after="                    continue\n",
        tests=_MODEL,
    ),
    Fault(
        id="known-message-again",
        broken="A list that ends with a known message has it answered again, whatever followed it.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before="    if added or not (superseded or (turns and turns[-1].id == again)):\n",
        after="    if added:\n",
        tests=_MODEL,
    ),
    Fault(
        id="taken-back-comes-in-again",
        broken="A message that was taken back counts as new in the list of a page that has it.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before="and id not in known and id not in had\n",
        after="and id not in known\n",
        tests=_MODEL,
    ),
    Fault(
        id="said-again-without-ids",
        broken="A client that gives its messages new ids has each of them stored again.",
        file="agui_bridge/protocol/threads/client_messages.py",
        before="retold = find_retold(stored, past, listed)",
        after="retold: dict[str, str] = {}",
        tests=_MODEL,
    ),
    Fault(
        id="pages-stay-behind",
        broken="A page that is behind is never shown the thread as it is.",
        file="agui_bridge/engine/run/claim.py",
        before="            opening=Opening(\n                level,\n",
        after="            opening=Opening(\n                True,\n",
        tests=_MODEL,
    ),
    Fault(
        id="out-of-place-for-ever",
        broken="What a page lacked in the middle comes to stand at its end, and stays there.",
        file="agui_bridge/engine/run/claim.py",
        before="None if level else incoming.told_alone(history)",
        after="None",
        tests=_MODEL,
    ),
)
