"""The organisation decides what tools may do, whatever an agent or its model says.

    python -m examples.policy_enforcement

The policy is a function on the bridge. It sees each tool call of each agent before it is executed,
with its arguments and the person who asks: it allows it, has somebody approve it first, or denies
it. The agent knows nothing of that but that a call may be denied. Who asks is told by a token here:
`ann` is a manager, `ian` an intern, and both work on the same threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agui_bridge import (
    BearerTokens,
    Bridge,
    CallDenied,
    FunctionRun,
    Principal,
    ProposedCall,
    Verdict,
)
from examples.guide import Answer, Say, serve_with_guide

MANAGERS = {"ann"}
STAFF = {"token-of-manager-ann": "ann", "token-of-intern-ian": "ian"}  # real ones are secret
FREE, MOST = 100, 10_000

DONE: list[str] = []
"""Stands in for the bank."""

bridge = Bridge(
    "memory:",
    # All are of one scope, so that one can approve what another has started.
    authenticate=BearerTokens({token: Principal("acme", who) for token, who in STAFF.items()}),
)


@bridge.policy
def spending(call: ProposedCall) -> Verdict | str:
    """Small payments are free, larger ones need a manager, and accounts stay open."""
    if call.name == "close_account":
        return Verdict("deny", "Agents don't close accounts.")
    if call.name != "pay":
        return "allow"
    amount = call.args["amount"]
    if not 0 < amount <= MOST:
        return Verdict("deny", f"A payment is of 1 to {MOST} EUR.")
    if amount <= FREE:
        return "allow"
    if not call.approved:
        return Verdict("ask", f"Pay {amount} EUR to {call.args['to']}?", editable=True)
    # It is judged again once it is approved.
    if call.approved_by not in MANAGERS:
        return Verdict("deny", "Only a manager can approve that.")
    return "allow"


@bridge.agent("bookkeeper")
async def bookkeeper(run: FunctionRun) -> AsyncIterator[str]:
    """Understands `balance`, `pay AMOUNT NAME` and `close NAME`, a line each."""
    for number, line in enumerate(run.text.splitlines()):
        try:
            match line.split():
                case ["balance"]:
                    yield f"{await run.call('balance', {}, balance)}. "
                case ["pay", amount, name] if amount.isdecimal():
                    payment = {"to": name, "amount": int(amount)}
                    yield f"{await run.call('pay', payment, pay)}. "
                case ["close", name]:
                    yield f"{await run.call('close_account', {'of': name}, close_account)}. "
                case _:
                    yield f"I don't understand line {number + 1}. "
        except CallDenied as denied:
            yield f"Not done: {denied.reason or denied.cause or 'declined'} "


async def balance() -> str:
    """Look the balance up."""
    return "There are 25000 EUR"


async def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    DONE.append(f"paid {amount} to {to}")
    return f"{amount} EUR went to {to}"


async def close_account(of: str) -> str:
    """Close an account."""
    DONE.append(f"closed {of}")
    return f"The account of {of} is closed"


def main() -> None:
    """Serve the agent, and print what to try."""
    ann, ian = STAFF
    serve_with_guide(
        bridge,
        "bookkeeper",
        Say("The intern may look, and pay a little.", "balance\npay 20 bob", ian),
        Say("Nobody may do this.", "close bob\npay 50000 bob", ann),
        Say("This needs an approval,", "pay 500 bob", ian),
        Answer("which is not the intern's to give.", {"approved": True}, ian),
        Say("Once more:", "pay 500 bob", ian),
        Answer("the manager approves it.", {"approved": True}, ann),
    )


if __name__ == "__main__":
    main()
