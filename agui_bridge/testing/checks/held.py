"""Questions that are held: the framework's side waits in one process, and answers come to any."""

from __future__ import annotations

from agui_bridge.adapters import Run
from agui_bridge.errors import Fenced
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import expect

HELD = Table(needs=("pause",))


@HELD.check(
    hint="Find what waits by the continuation, and give it the decision when run.resume.held is "
    "true; yield the Pause with held=True.",
    declared="holds",
    optional=True,
)
async def held_answer(case: Case) -> None:
    """What waits gets the answer that another process took, and carries it out, once."""
    async with case.paused(holds=True) as paused, case.process(holds=True) as other:
        expect(paused.pause.held, "its Pause is not held, and it declares holds=True")
        await (await paused.within(other)).agree(of="the run of what waited")
        done = await paused.done()
        last, others = paused.process.watched.runs[-1].run, other.watched.runs
    expect(not others, "the answer was carried out by another process than the one that waits")
    expect(last.resume is not None and last.resume.held, "nothing went on where it waited")
    expect(len(done) == 1, f"it carried out {done}")


@HELD.check(
    hint="End in closed() what waits for that continuation, and let nothing of it begin any more; "
    "keep in the continuation what another process needs.",
    declared="holds",
    optional=True,
)
async def held_end(case: Case) -> None:
    """What waits is ended when the question is let go, and any process goes on with an answer."""
    async with case.paused(holds=True) as paused, case.process(holds=True) as other:
        await paused.process.let_go()
        faults = paused.process.watched.not_closed
        expect(not faults, f"closed() raised {faults}")
        await paused.expect_nothing_done("nobody has answered")
        again = await paused.within(other)
        await again.agree(of="the run in another process")
        done = await again.done()
    expect(len(done) == 1, f"once it was let go it carried out {done}")


@HELD.check(
    hint="Call run.check_lease() right before what waits is given an answer.",
    declared="holds",
    optional=True,
)
async def held_lease(case: Case) -> None:
    """What waits is given no answer by a process that has lost the run to another."""

    def lose(run: Run) -> None:
        def lost() -> None:
            raise Fenced("another process has the run")

        if run.resume is not None:
            run.check_lease = lost

    async with case.paused(before=lose, holds=True) as paused:
        await paused.agree()
        done = await paused.done()
    expect(not done, f"without the lease it carried out {done}")
