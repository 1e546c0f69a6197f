"""What people answer at the prompt: approvals, confirmations, forms, anything else as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ag_ui.core import Interrupt

from agui_bridge.cli.chat.edited_arguments import edit_arguments
from agui_bridge.cli.chat.forms import fill_form
from agui_bridge.cli.chat.lines import drop_typed_ahead
from agui_bridge.cli.chat.screen import (
    Screen,
    Unread,
    agreed_arguments,
    is_approval,
    proposal_of,
)
from agui_bridge.cli.chat.typed import Withdrawn, read_all, refuse, typed
from agui_bridge.client import Cancelled, Client, Resolved, is_expired
from agui_bridge.protocol.answers.question_schemas import (
    DECLINED,
    find_answer_fault,
    has_decline,
)
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema

__all__ = ["answer_all"]

Answer = Resolved | Cancelled


def answer_all(client: Client, screen: Screen) -> dict[str, Answer]:
    """Ask one open question after the other.

    Raises:
        EOFError: the input ended, or somebody typed /quit.
        KeyboardInterrupt: Ctrl-C; in either case nothing was sent and all stays open.
    """
    open_now = client.pending_interrupts
    answers: dict[str, Answer] = {}
    for number, interrupt in enumerate(open_now, start=1):
        position = f" {number} of {len(open_now)}" if len(open_now) > 1 else ""
        unread = screen.question(client, interrupt, position)
        drop_typed_ahead()
        try:
            if is_expired(interrupt):
                _dismiss(screen)
            answers[interrupt.id] = Resolved(_payload(client, screen, interrupt, unread))
        except Withdrawn:
            answers[interrupt.id] = Cancelled()
    return answers


def _dismiss(screen: Screen) -> NoReturn:
    # Asked for all the same: where a cancel fails, the question comes again at once.
    while typed(screen, "The time to answer is over. Enter: cancel it > "):
        refuse(screen.note, "Nothing was sent. Press Enter alone.")
    raise Withdrawn


def _payload(client: Client, screen: Screen, interrupt: Interrupt, unread: Unread) -> Any:
    schema = _usable(interrupt.response_schema)
    approves = is_approval(client, interrupt) and not find_answer_fault(
        schema or {}, {"approved": True}
    )
    if not read_all(screen, unread, may_decline=approves):
        return {"approved": False, **_reason(screen)}
    if approves:
        _, present = proposal_of(client, interrupt) or ("", None)
        return _approval(screen, schema, present, agreed_arguments(interrupt))
    if has_decline(schema) and not _will_answer(screen):
        return {DECLINED: True, **_reason(screen)}
    return fill_form(screen, schema or {})


def _usable(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema, if a form can be made of it without harm."""
    if schema is None:
        return None
    try:
        check_schema(schema)
    except UnsafeSchema:
        return None
    return schema


def _approval(
    screen: Screen,
    schema: Mapping[str, Any] | None,
    present: Any,
    agreed: Mapping[str, Any] | None,
) -> dict[str, Any]:
    # Who agrees, agrees to what was shown: without these it were a vote for what was proposed.
    approved = {"approved": True} if agreed is None else {"approved": True, "editedArgs": agreed}
    offered = (schema or {}).get("properties", {})
    editable, takes_text = "editedArgs" in offered, "respond" in offered
    more = f"{'[e]dit, ' if editable else ''}{'[r]espond, ' if takes_text else ''}"
    keys = f"[y]es, [n]o, {more}[c]ancel"
    while True:
        said = typed(screen, f"{keys} > ").lower()
        if said in ("y", "yes"):
            return approved
        if said in ("n", "no"):
            return {"approved": False, **_reason(screen)}
        if said in ("c", "cancel"):
            raise Withdrawn
        if said in ("e", "edit") and editable:
            edited = edit_arguments(screen, present if agreed is None else agreed, schema)
            if edited is not None:
                return {"approved": True, "editedArgs": edited}
        elif said in ("r", "respond") and takes_text:
            text = typed(screen, "the result, in place of the tool's (Enter: back) > ")
            if text:
                return {"approved": False, "respond": text}
        elif said:
            refuse(screen.note, f"Nothing was sent. Type {keys}.")


def _will_answer(screen: Screen) -> bool:
    while True:
        said = typed(screen, "[a]nswer, [d]ecline, [c]ancel > ").lower()
        if said in ("c", "cancel"):
            raise Withdrawn
        if said in ("a", "answer", "d", "decline"):
            return said.startswith("a")
        if said:
            refuse(screen.note, "Nothing was sent. Type a, d or c.")


def _reason(screen: Screen) -> dict[str, Any]:
    reason = typed(screen, "why not (Enter: no reason) > ")
    return {"reason": reason} if reason else {}
