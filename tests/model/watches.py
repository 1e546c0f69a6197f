"""What must hold of work that a run has left, as checks of single steps."""

from __future__ import annotations

from collections.abc import Mapping

from agui_bridge.protocol.contract.requests import Resume, Start
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import Json, ThreadRecord, ThreadStatus

__all__ = ["Violation", "askers_left", "check_look", "check_watch", "note_look"]

DAY = 24 * 60 * 60.0


class Violation(AssertionError):
    """A promise of the contract was broken."""


def note_look(taken: set[tuple[Json, int]], watch: Watch) -> None:
    """Note a look that is taken now; no other process has taken the same."""
    if (watch.note, watch.looks) in taken:
        raise Violation(
            f"two processes looked after {watch.note}, both for the {watch.looks}. time"
        )
    taken.add((watch.note, watch.looks))


def askers_left(loaded: Loaded) -> tuple[str, ...]:
    """Who asked for the run whose work is looked after."""
    record = loaded.record
    return record.watch.askers if record is not None and record.watch is not None else ()


def check_look(loaded: Loaded, decision: Start | Resume) -> None:
    """Check the claim of a run that nobody's input begins."""
    if isinstance(decision, Resume):
        return  # Row 10b: the answers are here already.
    if loaded.status is not ThreadStatus.IDLE:
        raise Violation(f"a look began a run on a thread that is {loaded.status}")
    if not askers_left(loaded):
        raise Violation("a look began a run, though nothing is left")


def check_watch(
    before: ThreadRecord | None,
    after: ThreadRecord,
    why: str,
    now: float,
    dropped: set[Json],
    noted: Mapping[str, Json],
) -> None:
    """Check what a commit makes of what is left; note what nobody looks after from now on.

    Args:
        before: the record that it changes.
        after: the record that it makes.
        why: which write it is.
        now: the store's time.
        dropped: what nobody is to look after any more; it is added to.
        noted: by the token of a run what it went on with after it had noted that.
    """
    was, left = before.watch if before is not None else None, after.watch
    if why == "look":
        _check_claim(before, left, now)
    elif why not in ("end", "note", "stop") and was != left:
        raise Violation(f"{why} made {left} of what was left: {was}")
    stopped = after.ended is not None and after.ended.outcome == "stopped"
    if left is not None and (why == "stop" or (why == "end" and stopped)):
        raise Violation(f"a stop leaves {left}")
    if why == "recover" and before is not None and before.run is not None:
        note = noted.get(before.run.token)
        if note is not None and (left is None or left.note != note):
            raise Violation(f"a lost run had noted {note}, and left {left}")
    if left is not None and left.note in dropped:
        raise Violation(f"{why}: {left.note} is looked after, though nobody was to any more")
    if left is not None and not now <= left.until + DAY <= now + 2 * DAY + left.looks * DAY:
        raise Violation(f"{left} is looked after for ever")
    if was is not None and (left is None or left.note != was.note):
        dropped.add(was.note)


def _check_claim(before: ThreadRecord | None, left: Watch | None, now: float) -> None:
    was = before.watch if before is not None else None
    if before is None or was is None or before.status is not ThreadStatus.IDLE or now < was.at:
        raise Violation(f"a look was taken of {before}")
    if left is None and now < was.until:
        raise Violation(f"{was} is forgotten")
