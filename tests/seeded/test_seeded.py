"""Every seeded fault still fits the code, so that `make seeded` tries what it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.seeded.checkout import ROOT, Copy
from tests.seeded.fault import Fault
from tests.seeded.faults import FAULTS

PACKAGES = ("agui_bridge/", "adapters/agui_bridge_")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_fits_its_file_and_compiles(fault: Fault) -> None:
    right = (ROOT / fault.file).read_text(encoding="utf-8")

    wrong = fault.applied_to(right)

    assert fault.file.startswith(PACKAGES)
    compile(right, fault.file, "exec")
    compile(wrong, fault.file, "exec")
    assert wrong != right


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_tests_that_should_find_a_fault_exist(fault: Fault) -> None:
    assert fault.tests.split()
    for test in fault.tests.split():
        file, _, name = test.partition("::")
        assert (ROOT / file).exists(), file
        function = name.partition("[")[0].rpartition("::")[2]
        if function:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"def {function}\(", text), test


def test_every_fault_has_a_name_of_its_own_and_a_sentence() -> None:
    assert [id for id, count in Counter(fault.id for fault in FAULTS).items() if count > 1] == []
    assert [fault.id for fault in FAULTS if not fault.broken.endswith(".")] == []


def test_a_fault_that_does_not_fit_is_refused() -> None:
    fault = Fault("twice", "It stands there twice.", "x.py", before="a", after="b", tests="")

    with pytest.raises(ValueError, match="2 times, not once"):
        fault.applied_to("a = a")


def test_a_copy_is_broken_for_the_length_of_a_block(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("right = True\n")
    fault = Fault("x", "It is wrong.", "x.py", before="True", after="False", tests="")

    with Copy(tmp_path).broken_by(fault):
        broken = path.read_text()

    assert (broken, path.read_text()) == ("right = False\n", "right = True\n")
