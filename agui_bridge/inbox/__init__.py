"""One question at a time, for people who see no conversation: found, shown, and answered."""

from agui_bridge.inbox.answering import AnswerOutcome
from agui_bridge.inbox.pending import Listed, Page, Why
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.inbox.settings import Inbox

__all__ = ["AnswerOutcome", "Inbox", "Listed", "Page", "Reference", "References", "Why"]
