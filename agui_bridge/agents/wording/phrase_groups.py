"""Groups of phrases that rules are about, by their first words."""

from __future__ import annotations

__all__ = ["ANY", "NEED", "NEEDS", "QUESTIONS", "REQUIRED", "STATEMENTS", "WAITS"]

ANY = ""
STATEMENTS = "(?!(?:do|would|are|can|could) you|(?:shall|should|may|can) i|ok)"
QUESTIONS = (
    "(?:do|would|are|can|could) you|(?:shall|should|may|can) i|ok|是否|您确定|可以|要|"
    "确认(?:继续|执行)"
)
REQUIRED = "(?:confirmation|approval) (?:required|needed)"
NEED = "need your|require your"
WAITS = f"waiting|awaiting|{NEED}|{REQUIRED}|等|需要"
NEEDS = f"{REQUIRED}|{NEED}"
