"""How many examples of a property are tried: a few before every commit, many by `make soak`."""

from __future__ import annotations

import pytest

__all__ = ["few_or_many"]


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with its argument `examples` as each of both numbers."""
    patient = [pytest.mark.soak, pytest.mark.timeout(600)]
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=patient)])
