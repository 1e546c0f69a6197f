"""Agents whose text asks for confirmation: the turn is held until people have answered."""

from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import CHINESE_PHRASES, ENGLISH_PHRASES

__all__ = ["CHINESE_PHRASES", "ENGLISH_PHRASES", "KeywordAdapter"]
