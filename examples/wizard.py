"""A form of several pages, with a way back and a summary at the end.

    python -m examples.wizard --store sqlite:///wizard.db

The pages are a table and the wizard is a loop over it. Each page waits for its answer for as long
as it takes: end the server in the middle, start it again with the same store, and go on where you
were. Instead of its fields every page takes `{"back": true}`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from agui_bridge import Bridge, FunctionRun
from examples.guide import Answer, Say, serve_with_guide

bridge = Bridge("memory:")  # a file keeps the threads: "sqlite:///wizard.db", or --store

ORDERS: list[dict[str, Any]] = []
"""Stands in for the shop."""


class Back(BaseModel):
    """Go to the page before."""

    back: Literal[True]


class Address(BaseModel):
    """The first page."""

    name: str = Field(min_length=1)
    city: str = Field(min_length=2)


class Delivery(BaseModel):
    """The second page."""

    speed: Literal["standard", "express"]


class Confirmed(BaseModel):
    """The last page."""

    confirm: Literal[True]


@dataclass(frozen=True)
class Page:
    """One page: its name in the order, what people read, and the form."""

    name: str
    question: str
    form: Any


PAGES = (
    Page("address", "Where shall it go?", Address | Back),
    Page("delivery", "How fast?", Delivery | Back),
    Page("summary", "Is this right?", Confirmed | Back),
)


@bridge.agent("wizard")
async def wizard(run: FunctionRun) -> AsyncIterator[str]:
    """Takes an order, page by page."""
    order: dict[str, Any] = {"item": run.text}
    at = 0
    while at < len(PAGES):
        page = PAGES[at]
        run.state["order"] = dict(order)  # the frontend shows it while it grows
        answer = await run.ask(
            page.question,
            schema=page.form,
            # The order so far: a summary, and what the frontend can fill the form in with.
            metadata={"page": at + 1, "pages": len(PAGES), "order": order},
        )
        if answer is None:  # cancelled or expired
            yield "Nothing was ordered."
            return
        if isinstance(answer, Back):
            at = max(at - 1, 0)
            continue
        if page.name != "summary":
            order[page.name] = answer.model_dump()
        at += 1

    number = await run.step("place order", place_order, order)
    yield f"Order {number}: {json.dumps(order)}"


async def place_order(order: dict[str, Any]) -> int:
    """Place an order; gives its number."""
    ORDERS.append(order)
    return len(ORDERS)


def main() -> None:
    """Serve the wizard, and print what to try."""
    serve_with_guide(
        bridge,
        "wizard",
        Say("The wizard begins.", "a kettle"),
        Answer("Fill in the first page.", {"name": "Ann", "city": "Oslo"}),
        Answer("Go back from the second,", {"back": True}),
        Answer("and mend the first.", {"name": "Ann", "city": "Bergen"}),
        Answer("The last form.", {"speed": "express"}),
        Answer("Confirm the summary.", {"confirm": True}),
    )


if __name__ == "__main__":
    main()
