"""What a seeded fault is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fault"]


@dataclass(frozen=True)
class Fault:
    """One small wrong change to the package, as somebody might make it by mistake.

    Attributes:
        id: its name.
        broken: what no longer holds, as a sentence.
        file: where it is made, from the root of the checkout.
        before: the text that it changes, which stands in the file once. Short and without
            imports, so that a module may move.
        after: what stands there instead; the file still compiles.
        tests: files or tests that should notice it, separated by spaces.
    """

    id: str
    broken: str
    file: str
    before: str
    after: str
    tests: str

    def applied_to(self, text: str) -> str:
        """The file's text with the fault in it.

        Raises:
            ValueError: the fault does not fit: `before` stands there not once.
        """
        if (count := text.count(self.before)) != 1:
            raise ValueError(f"{self.file} has the text of {self.id} {count} times, not once")
        return text.replace(self.before, self.after)
