"""What a surface must know of agents that ask in their text."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from agui_bridge.adapters import Adapter

if TYPE_CHECKING:  # The words that it knows take a tenth of what a bridge takes to import.
    from agui_bridge.agents.sentences.scanner import SentenceScanner

__all__ = ["AsksInWords"]


class AsksInWords(Adapter):
    """An adapter whose agent's text may hold a question, which is then shown apart from it."""

    @abstractmethod
    def scanner(self) -> SentenceScanner:
        """A scanner for one message of this agent, for a surface that shows questions apart."""
