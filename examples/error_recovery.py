"""When a step fails the agent asks what to do: try again, skip it, use another value, or give up.

    python -m examples.error_recovery

A step that failed stays failed: it is as much a result as a value is, and the agent's next run sees
the same failure without doing the step again. It is repeated only if the agent calls it once more,
here because somebody said so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Literal

from pydantic import BaseModel, Field

from agui_bridge import Bridge, FunctionRun, StepFailed
from examples.guide import Answer, Say, serve_with_guide

bridge = Bridge("memory:")

RATES = {"USD": 0.9, "GBP": 1.2}
FETCHED: Counter[str] = Counter()
"""How often each rate was asked for."""


class Choice(BaseModel):
    """What to do without a value."""

    action: Literal["retry", "skip", "abort"]


class Replacement(BaseModel):
    """A value to use instead."""

    action: Literal["replace"]
    rate: float = Field(gt=0)


GUIDANCE: Any = Choice | Replacement


class GivenUp(Exception):
    """Somebody chose to end it here."""


@bridge.agent("converter")
async def converter(run: FunctionRun) -> AsyncIterator[str]:
    """Adds amounts up in EUR, such as `10 USD 5 JPY 7 GBP`."""
    total = 0.0
    for amount, currency in re.findall(r"(\d+(?:\.\d+)?) ([A-Z]{3})", run.text):
        try:
            rate = await find_rate(run, currency)
        except GivenUp:
            yield "Given up: nothing was added up."
            return
        if rate is None:
            yield f"{currency}: left out. "
            continue
        yield f"{currency}: {rate}. "
        total += float(amount) * rate
    yield f"Together {total:.2f} EUR."


async def find_rate(run: FunctionRun, currency: str) -> float | None:
    """Fetch a rate, and ask for guidance for as long as that fails; None leaves it out."""
    while True:
        try:
            return float(await run.step("fetch rate", fetch_rate, currency))
        except StepFailed as failed:
            # Its text may hold what people shouldn't read, such as an address with a password.
            problem = f"The rate of {currency} could not be fetched ({failed.error})."
        guidance = await run.ask(
            problem, schema=GUIDANCE, metadata={"step": "fetch rate", "currency": currency}
        )
        match guidance:
            case Choice(action="retry"):
                continue
            case Choice(action="skip"):
                return None
            case Replacement(rate=rate):
                return float(rate)
            case _:  # abort, cancelled or expired
                raise GivenUp


async def fetch_rate(currency: str) -> float:
    """Fetch a rate. The yen's server is down for two calls."""
    FETCHED[currency] += 1
    if currency == "JPY" and FETCHED[currency] <= 2:
        raise TimeoutError("https://user:password@rates.example.com/JPY")
    return {**RATES, "JPY": 0.006}[currency]


def main() -> None:
    """Serve the agent, and print what to try."""
    serve_with_guide(
        bridge,
        "converter",
        Say("The yen's rate can't be fetched.", "10 USD 500 JPY 10 GBP"),
        Answer("Try again; it fails once more.", {"action": "retry"}),
        Answer(
            "Use a value of your own. USD is not fetched again.",
            {"action": "replace", "rate": 0.0061},
        ),
        Say("An unknown currency:", "10 USD 10 XYZ"),
        Answer("leave it out.", {"action": "skip"}),
    )


if __name__ == "__main__":
    main()
