"""The question that shows a person what an agent asks for in words.

One answer goes to all requests, so nobody may answer what they were not shown: every request has a
line, and of a long one the part around its phrase is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agui_bridge.agents.sentences.code import one_line
from agui_bridge.agents.sentences.scanner import FoundRequest

__all__ = ["LONGEST_MESSAGE", "SHORTEST_LINE", "question"]

LONGEST_MESSAGE = 2000
"""Characters of a question, unless that would be too few for its requests or a phrase."""

SHORTEST_LINE = 80
"""Characters that a request is never cut below: with very many the question is longer instead."""

_CUT = "…"


def question(requests: Iterable[FoundRequest]) -> str:
    """The sentences, a line each and none twice; long ones are cut to what short ones leave."""
    distinct = {(r.sentence, r.phrase_start, r.phrase_end): r for r in requests}
    share = _share([len(request.sentence) for request in distinct.values()])
    return "\n".join(_shortened(request, share) for request in distinct.values())


def _share(lengths: Sequence[int]) -> int:
    """How long a line may be: what is shorter leaves its rest to the others."""
    room = LONGEST_MESSAGE - (len(lengths) - 1)
    for others, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        if length * others > room:
            return max(room // others, SHORTEST_LINE)
        room -= length
    return LONGEST_MESSAGE


def _shortened(request: FoundRequest, share: int) -> str:
    sentence, start, end = one_line(request.sentence), request.phrase_start, request.phrase_end
    if len(sentence) <= share:
        return sentence
    size = max(share, end - start + 2 * len(_CUT))
    # What follows the phrase comes first: before it a quarter, and what the rest has no use for.
    begin = min(start - size // 4, len(sentence) + len(_CUT) - size)
    begin = max(begin, min(end + len(_CUT), len(sentence)) + len(_CUT) - size, 0)
    head = _CUT if begin else ""
    stop = begin + size - len(head)
    if stop >= len(sentence):
        return head + sentence[begin:]
    return head + sentence[begin : stop - len(_CUT)] + _CUT
