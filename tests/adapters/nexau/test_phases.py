"""Runs of a NexAU agent that are stopped at every moment, and how their threads go on.

Each case was carried out on a real NexAU; here what that said is played again, and the bridge must
send what it sent then. What the model was told then is held against the conversation of now.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.adapters.nexau.real.carry_out import HERE, on_nexau, on_recording, scripted_model
from tests.adapters.nexau.real.model import Model
from tests.adapters.nexau.real.phases import PHASES, Phase
from tests.adapters.nexau.real.replay import Replay, recording_of

QUICK = {"before_it_has_begun", "text_flows", "call_begun", "tool_runs"}
CASES = [
    pytest.param(phase, force, other, marks=() if phase.name in QUICK else pytest.mark.soak)
    for phase in PHASES
    for force in (False, True)
    for other in (False, True)
    # Whether another process's stop comes before the request is by chance.
    if not (other and phase.name == "before_it_is_sent")
]


def named(value: object) -> str:
    return value.name if isinstance(value, Phase) else str(value)


@pytest.mark.parametrize(("phase", "force", "other"), CASES, ids=named)
async def test_nothing_is_lost_or_sent_twice_after_a_stop(
    phase: Phase, force: bool, other: bool
) -> None:
    replay = Replay(recording_of(phase.name, force=force))
    assert await on_recording(replay, phase, force=force, other=other) == []


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    async with scripted_model() as serving:
        yield serving


@pytest.mark.soak
@pytest.mark.skipif(
    not HERE, reason="only on machines with NexAU, which no registry has: see real/serve.py"
)
@pytest.mark.parametrize("phase", PHASES, ids=named)
@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize("other", [False, True], ids=["same_process", "other_process"])
async def test_nothing_is_lost_or_sent_twice_after_a_stop_of_a_real_server(
    model: Model, phase: Phase, force: bool, other: bool
) -> None:
    faults, _, _ = await on_nexau(model, phase, force=force, other=other)
    assert faults == []
