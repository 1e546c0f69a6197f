"""What several test modules share; each kind of help has a module of its own here."""

import os
from contextlib import ExitStack
from typing import NoReturn

import pytest

__all__ = ["at_the_end", "unavailable"]

at_the_end = ExitStack()
"""What is undone once all tests have run, the latest first."""


def unavailable(service: str, remedy: str) -> NoReturn:
    """Give up on a test because a service that it talks to is not there.

    Elsewhere than in CI the test is skipped; in CI, where every service is present, it fails.

    Args:
        service: What is missing, such as "PostgreSQL".
        remedy: What a developer does to have it, such as "start it on 127.0.0.1:5432".
    """
    message = f"{service} is not available: {remedy}"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
