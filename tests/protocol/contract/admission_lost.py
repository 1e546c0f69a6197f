"""The admission table, rows 0 and 0a for a lost run with a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agui_bridge.protocol.contract.requests import Join, Recover, Replay, Request, TakeUp
from agui_bridge.protocol.threads.checkpoint import KEPT_FOR, BegunAct, Checkpoint
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import StopRequest
from tests.protocol.contract.admission_before import Case, by, not_by
from tests.protocol.loaded_threads import CLAIMED, MESSAGE, NOW, ask, idle, resume, running, yes

__all__ = ["LOST"]

NOBODY: Final = Request(brings=False, ends_with_input=False, takes_up=True)
"""What the sweeper sends in nobody's name."""

OPEN_ACT = BegunAct("run.step('pay')", "", "key")
AGAIN = replace(OPEN_ACT, idempotent=True)


def lost(left: float = 0.0, *, stop: str | None = None, **standing: Any) -> Loaded:
    """A thread whose run has a checkpoint, and is lost."""
    loaded = running(ask("a", CLAIMED, answer=yes("a")), left=left)
    assert loaded.record is not None
    asked = StopRequest(stop, False, NOW + 30.0) if stop is not None else None
    record = replace(loaded.record, checkpoint=Checkpoint({}, **standing), stop=asked)
    return replace(loaded, record=record)


LOST: Final[Mapping[str, tuple[Case, ...]]] = {
    "0": (
        by("it is taken up", lost(), NOBODY, TakeUp),
        by("whoever finds it", lost(), MESSAGE, TakeUp),
        by("an act that may begin again does", lost(begun=(AGAIN,)), NOBODY, TakeUp),
        by("another one does not", lost(begun=(AGAIN, OPEN_ACT)), NOBODY, Recover),
        by("the third attempt is the last", lost(attempts=3), NOBODY, Recover),
        by("before it there is one", lost(attempts=2), NOBODY, TakeUp),
        by("at its time", lost(not_before=NOW), NOBODY, TakeUp),
        by("a stop waits for no attempt", lost(not_before=NOW + 1, stop="token"), NOBODY, TakeUp),
        by("nor one of an earlier lease", lost(not_before=NOW + 1, stop="old", tokens=("old",)),
           NOBODY, TakeUp),
        by("a stop begins nothing again", lost(begun=(AGAIN,), stop="token"), NOBODY, Recover),
        by("in the end nobody waits for it", lost(-KEPT_FOR), NOBODY, Recover),
        not_by("before its time it stands", lost(not_before=NOW + 1), MESSAGE, "RUN_IN_PROGRESS"),
        not_by("and its answers are joined", lost(not_before=NOW + 1), resume(yes("a")), Join),
        not_by("a stop of another run is none", lost(not_before=NOW + 1, stop="other"), MESSAGE,
               "RUN_IN_PROGRESS"),
    ),
    "0a": (
        by("what is not due is left alone", lost(not_before=NOW + 1), NOBODY, Replay),
        by("so is what goes on by now", lost(10.0), NOBODY, Replay),
        by("and what is over", idle(), NOBODY, Replay),
    ),
}  # fmt: skip
