"""Who says what stands in a quotation, or behind a name: the agent itself or another."""

from __future__ import annotations

import re

__all__ = ["HEADINGS", "OWN_WORDS", "SPEAKER", "TELLING"]

OWN_WORDS = re.compile(
    r"\b(?:let me|i ask|i repeat|my question|question for you|"
    r"i(?: (?:must|have to|need to|want to|should|will|would like to|now)|"
    r"'(?:ll|d like to|m going to|ve got to)))\b[^“”\"‘’「」]{0,60}\Z"
    r"|(?:我(?:想|要|需要|必须|得|再)|请问|請問)[^“”\"「」]{0,12}\Z"
)
"""Before a quotation: it is what the speaker says itself."""

TELLING = re.compile(r"\b(?:asked|said|wrote|told|replied|answered)\b")
"""Before a quotation: it is not."""

SPEAKER = re.compile(
    r"(?:\A|[.?!)\"”*] +)(?P<name>[A-Z][A-Z-]{2,}): ?\Z|\A>[>\s]*\*\*(?P<bold>[\w ]+):\*\* ?\Z"
    r"|\A\W*(?P<role>[QA]|Nurse|Patient|Doctor|Teacher|Student|Pupil|Customer|Clerk|Waiter|Guest|"
    r"Client|Host|Interviewer|Caller|Pilot|Tower|Captain|Judge|Lawyer|Mother|Father|Son|Daughter|"
    r"Boss|Employee|Seller|Buyer|Robot|护士|病人|患者|医生|老师|学生|顾客|客户|客服|店员|主持人|嘉宾|"
    r"旁白|法官|律师|记者|爸爸|妈妈|[问答甲乙丙丁])\*{0,2}[:：]\*{0,2} ?\Z"
)
"""Before a line of a play or a chat: who says it. Here case and emphasis count."""

HEADINGS = re.compile(
    r"note|warning|caution|important|attention|urgent|alert|reminder|question|next|final|todo|"
    r"step.*|action.*|confirm.*|approv.*|pending.*|heads.*|please.*|.*required"
)
"""What looks like a speaker's name and is none, in lower case."""
