"""Words before a phrase that say of whom it is told: others, a custom, a law."""

from __future__ import annotations

from agui_bridge.agents.wording.phrase_groups import NEEDS, REQUIRED, WAITS
from agui_bridge.agents.wording.rule import Rule, preceded

__all__ = ["OTHERS"]

_OTHERS = (
    "hr|legal|lawyers?|people who|those who|(?:customer|supplier|seller|buyer|vendor|bank|insurer|"
    "client|manager|director|colleague|landlord|tenant|doctor|airline|hotel|school)s?|company|"
    "department|office|team|partner|carrier|court|council|government|board|editor|warehouse|"
    "courier|driver|contractor|recipient|applicant|author"
)
_OF_SOMEBODY_ELSE = preceded(
    WAITS,
    rf"\b(?:{_OTHERS})(?:'s? [\w ]{{1,20}})?(?: in \w+)? (?:(?:is|are) )?(?:still )?",
    r"(?:部|公司|方面|律师|律師|客户|客戶|老师|老師|那边|那邊)(?:那边|那邊)?[还還正]?在?",
)
_OF_ANOTHERS = preceded(
    REQUIRED,
    r"\b(?:their|his|her|its|my|our|[\w-]+'s) (?:\w+ )?",
    r"(?:\A|[.?!] )\W*(?:is|are|was|were) (?:any |an? |your |user )?",
)
# "An order that is waiting for confirmation".
_OF_A_KIND = preceded(
    WAITS,
    r"\b(?:an?|any|every|each|those|all) [\w '-]{1,30}\b(?:that|which|who)(?: (?:is|are|still))* ",
    r"\b(?:when|whenever|if|while|as long as) (?:an?|any|some|the|your|such) [^.?!,;]{1,40} "
    r"(?:(?:is|are) )?(?:still )?",
)
_OTHERS_CONFIRM = preceded(
    "(?:确认|批准)后我",
    r"(?:他|她|客户|客戶|老板|老闆|经理|經理|对方|對方|法务|财务|部|方|总|總|主任|医生|老师|老師)"
    r"(?:们|們|那边|那邊)?(?:先)?",
)
_A_CUSTOM = preceded(
    NEEDS,
    r"(?<!\bgoing )\bto ",
    r"\b(?:always|usually|never|normally|typically|often|users?|they|customers?|admins?|people|"
    r"everyone|teams?|engineers?|operators?|he|she|systems?|apps?|sites?|websites?|browsers?|"
    r"banks?|airlines?|merchants?|laws?|companies|firms|employers|shops|doctors|hospitals|schools|"
    r"landlords|insurers|authorities|(?:he|she|they)(?:'d| would)|"
    r"(?:most|many|certain) (?:[\w-]+ ){0,2}[\w-]+s) (?:that |which )?"
    r"(?:(?:must|should|have to|need to|can|will|may) )?(?:always )?",
)
_OF_THOSE_WHO_CONFIRM = preceded(
    "confirm before",
    r"(?<!\bplease )(?<!\bkindly )(?<!\bthen )(?<!\band )(?<!\bso )(?<!\byou to )(?<!\byou must )"
    r"(?<!(?<!made )(?<!makes )\byou )(?<!\byou should )(?<!\bneed to )"
    r"(?<!\byou have to )(?<!'ll have to )(?<!\bsure to )(?<!\bremember to )(?<=\w )",
)

OTHERS: tuple[Rule, ...] = (
    _OF_SOMEBODY_ELSE,
    _OF_ANOTHERS,
    _OF_A_KIND,
    _OTHERS_CONFIRM,
    _A_CUSTOM,
    _OF_THOSE_WHO_CONFIRM,
)
