"""An agent that finds in the middle of its work that it needs something from the user.

    python -m examples.information_gathering

It asks with a form. A file does not travel in the answer: the application uploads it wherever it
keeps files, and the answer refers to it by URL or id. What the form's schema can say is checked
before the answer is accepted; what only the agent can know (is that the right receipt?) it checks
itself, and asks again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from pydantic import BaseModel, Field

from agui_bridge import Bridge, FunctionRun
from examples.guide import Answer, Say, serve_with_guide

bridge = Bridge("memory:")

FILES = {
    "file-1": "Hotel Bristol, Oslo. Total: 250 EUR",
    "https://files.example.com/bar.pdf": "Bar Bristol, Oslo. Total: 80 EUR",
}
"""Stands in for the application's file store."""

READ: list[str] = []
"""Every file that was read."""


class File(BaseModel):
    """What is known of a file without opening it."""

    name: str = Field(min_length=1, max_length=200)
    mimeType: Literal["application/pdf", "image/jpeg", "image/png"]
    size: int = Field(gt=0, le=5_000_000, description="bytes")


class StoredFile(File):
    """A file in the application's store."""

    id: str = Field(pattern=r"^file-[0-9a-z]+$")


class LinkedFile(File):
    """A file behind a link. Only our own store: a free URL would let people send us anywhere."""

    url: str = Field(pattern=r"^https://files\.example\.com/[\w./-]+$")


class Receipt(BaseModel):
    """What the form asks for."""

    amount: int = Field(gt=0, title="Amount in EUR")
    purpose: Literal["customer", "training", "other"]
    file: StoredFile | LinkedFile


@bridge.agent("expenses")
async def expenses(run: FunctionRun) -> AsyncIterator[str]:
    """Refunds what you spent, once it has your receipt."""
    limit = await run.step("look up limit", look_up_limit, run.text)
    yield f"You may spend up to {limit} EUR on that. "

    question = "Please upload the receipt."
    while True:
        receipt = await run.ask(question, schema=Receipt)
        if receipt is None:  # cancelled or expired
            yield "Without a receipt I can't refund it. Come back when you have it."
            return
        text = await run.step("read file", read_file, receipt.file)
        if f"Total: {receipt.amount} EUR" not in str(text):
            question = f"{receipt.file.name} doesn't say {receipt.amount} EUR. Which one does?"
        elif receipt.amount > limit:
            question = f"That is more than {limit} EUR. Do you have another receipt?"
        else:
            break

    yield f"Thank you: {receipt.amount} EUR ({receipt.purpose}) are on their way."


async def look_up_limit(what: str) -> int:
    """Look up what may be spent."""
    return 300 if "hotel" in what.lower() else 50


async def read_file(file: StoredFile | LinkedFile) -> str:
    """Read a file; one that is not there is empty."""
    where = file.id if isinstance(file, StoredFile) else file.url
    READ.append(where)
    return FILES.get(where, "")


def main() -> None:
    """Serve the agent, and print what to try."""
    file = {"name": "bristol.pdf", "mimeType": "application/pdf", "size": 41235}
    form = {"amount": 250, "purpose": "customer"}
    serve_with_guide(
        bridge,
        "expenses",
        Say("The agent asks for a form with a file.", "A hotel in Oslo"),
        Answer(
            "A file that is too large is refused; the question stays open.",
            {**form, "file": {**file, "id": "file-1", "size": 50_000_000}},
        ),
        Answer(
            "The wrong receipt fits the schema, but the agent asks again.",
            {**form, "file": {**file, "url": "https://files.example.com/bar.pdf"}},
        ),
        Answer("The right one.", {**form, "file": {**file, "id": "file-1"}}),
    )


if __name__ == "__main__":
    main()
