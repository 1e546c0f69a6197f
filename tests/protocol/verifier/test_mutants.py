"""Whatever rule is left out of the verifier, the streams of the tests notice it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import pytest

from agui_bridge.protocol.verifier import verifier as real
from agui_bridge.protocol.verifier.verifier import Verifier
from tests.protocol.verifier.broken import BROKEN, judged
from tests.seeded.checkout import ROOT
from tests.seeded.fault import Fault
from tests.support.specification import CASES

FOLDER: Final = "agui_bridge/protocol/verifier"


def fault(family: str, file: str, before: str, after: str) -> Fault:
    return Fault(family, f"{family} is left out", f"{FOLDER}/{file}", before, after, "")


_UNOPENED: Final = "        if named not in self.open[kind]:\n            rule ="

MUTANTS: Final = (
    fault("shape", "verifier.py", "if fault := shape_fault(known):", "if fault := None:"),
    fault(
        "run.first",
        "order.py",
        "if not self.phase:\n            return Fault(",
        "if False:\n            return Fault(",
    ),
    fault("run.nested", "order.py", '        if self.phase == "running":\n', "        if False:\n"),
    fault(
        "run.finished",
        "order.py",
        """        self.end()
        return None

    def _fail""",
        """        return None

    def _fail""",
    ),
    fault("run.failed", "order.py", '        self.phase = "failed"\n', ""),
    fault("run.open", "order.py", "for kind in _FINISHED_BEFORE:", "for kind in ():"),
    fault("run.unended", "order.py", 'if self.phase in ("finished", "failed"):', "if True:"),
    fault(
        "start.twice",
        "order.py",
        "        if named not in self.open[kind]:\n            return None\n",
        "        return None\n",
    ),
    fault(
        "content.unopened",
        "order.py",
        _UNOPENED,
        f"        if kind != 'call':\n            return None\n{_UNOPENED}",
    ),
    fault(
        "arguments.unopened",
        "order.py",
        _UNOPENED,
        f"        if kind == 'call':\n            return None\n{_UNOPENED}",
    ),
    fault(
        "end.unopened",
        "order.py",
        '            return _unopened("end.unopened", event, kind, named)',
        "            return None",
    ),
    fault("step.twice", "order.py", 'if step in self.open["step"]:', "if False:"),
    fault("step.unstarted", "order.py", 'if step not in self.open["step"]:', "if False:"),
    fault(
        "owner",
        "order.py",
        "        if owner == tag:\n            return None\n",
        "        return None\n",
    ),
    fault(
        "owner",
        "order.py",
        '        if (parent := event.get("parentMessageId")) in carriers:',
        '        if (parent := event.get("parentMessageId")) is carriers:',
    ),
    fault(
        "owner",
        "order.py",
        '        self._learn(event["messages"], anew=True)',
        "        return None",
    ),
    fault("owner", "verifier.py", "if tag not in (None, owner):", "if False:"),
    fault("subagent.twice", "order.py", "if named in known:", "if False:"),
    fault("subagent.twice", "order.py", "        self._ended.add(named)\n", ""),
    fault("subagent.unstarted", "order.py", 'if named not in self.open["subagent"]:', "if False:"),
    fault(
        "subagent.parent", "order.py", "if parent is not None and parent not in known:", "if False:"
    ),
    fault("chunk.unnamed", "verifier.py", "if named is None or (kind", "if (kind"),
    fault("chunk.call", "verifier.py", ' or (kind == "call" and "toolCallName" not in event)', ""),
    fault("chunk.ambiguous", "verifier.py", "if len(open_lanes) > 1:", "if False:"),
    fault("chunk.differs", "verifier.py", '    "text": ("role", "name"),', '    "text": (),'),
    fault(
        "chunk.tool",
        "verifier.py",
        "if member in event and event[member] != lane.said.get(member):",
        "if False:",
    ),
)


@pytest.fixture
def broken_verifier(request: pytest.FixtureRequest) -> Iterator[type[Verifier]]:
    """The verifier without one rule, made of the same sources."""
    mutant: Fault = request.param
    names = {f"{FOLDER.replace('/', '.')}.{name}": name for name in ("order", "verifier")}
    kept = {module: sys.modules[module] for module in names}
    try:
        for module, name in names.items():
            source = (ROOT / FOLDER / f"{name}.py").read_text()
            if mutant.file.endswith(f"/{name}.py"):
                source = mutant.applied_to(source)
            made: Any = ModuleType(module)
            sys.modules[module] = made
            exec(compile(source, f"{name}.py", "exec"), made.__dict__)
        yield sys.modules[real.__name__].__dict__["Verifier"]
    finally:
        sys.modules |= kept


@pytest.mark.parametrize(
    ("broken_verifier", "family"),
    [(mutant, mutant.id) for mutant in MUTANTS],
    indirect=["broken_verifier"],
    ids=[f"{mutant.id}-{number}" for number, mutant in enumerate(MUTANTS)],
)
def test_a_rule_that_is_left_out_is_noticed(broken_verifier: type[Verifier], family: str) -> None:
    verdicts = []
    for stream in BROKEN[family]:
        try:
            verdicts.append(judged("consumer", stream, broken_verifier)[1])
        except (KeyError, TypeError, AttributeError) as error:
            verdicts.append([type(error).__name__])
    assert any(rules != [family] for rules in verdicts)


def test_every_rule_has_a_mutant() -> None:
    assert {mutant.id for mutant in MUTANTS} == BROKEN.keys()


@pytest.mark.parametrize("name", CASES)
def test_the_streams_of_the_specification_are_judged_alike_without_a_client(name: str) -> None:
    refused = bool(judged("consumer", CASES[name]["stream"])[1])
    assert refused == (CASES[name]["expect"]["outcome"] == "failed")
