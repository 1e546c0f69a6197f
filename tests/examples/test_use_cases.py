"""The examples of AG-UI's use cases do what they say, over HTTP, each effect counted outside."""

from __future__ import annotations

from tests.examples.conftest import Serving

TO, HI, MEET = "ann@example.com", "Hi", "Shall we meet?"
FILE = {"name": "bristol.pdf", "mimeType": "application/pdf", "size": 41235}
BAR = {**FILE, "url": "https://files.example.com/bar.pdf"}
HOTEL = {**FILE, "id": "file-1"}
ANN, IAN = "token-of-manager-ann", "token-of-intern-ian"
ADDRESS = {"name": "Ann", "city": "Oslo"}


# --- human_approval ---


async def test_an_email_is_sent_once_as_it_was_edited(example: Serving) -> None:
    async with example("human_approval", "mailer") as mailer:
        assert await mailer.say(TO) == "I have drafted an e-mail. "
        assert mailer.effects("SENT") == []
        edited = {"to": TO, "subject": "Lunch?", "body": "Noon?"}
        said = await mailer.answer({"approved": True, "editedArgs": edited})
        assert said == f"The e-mail to {TO} is sent."
        await mailer.send_again()
        await mailer.restart()
        await mailer.send_again()
        assert mailer.effects("SENT") == [edited]


async def test_edited_arguments_must_fit_the_tool(example: Serving) -> None:
    async with example("human_approval", "mailer") as mailer:
        await mailer.say(TO)
        await mailer.answer({"approved": True, "editedArgs": {"to": TO}})
        assert mailer.error == "INVALID_RESUME_PAYLOAD"
        await mailer.answer({"approved": True})
        assert mailer.effects("SENT") == [{"to": TO, "subject": HI, "body": MEET}]


async def test_nothing_is_sent_that_was_declined_or_cancelled(example: Serving) -> None:
    async with example("human_approval", "mailer") as mailer:
        await mailer.say(TO)
        assert "not today" in await mailer.answer({"approved": False, "reason": "not today"})
        await mailer.say(TO)
        assert "Nobody decided" in await mailer.answer(None)
        assert mailer.effects("SENT") == []


async def test_an_approval_tells_its_context_and_takes_modifications(example: Serving) -> None:
    async with example("human_approval", "janitor") as janitor:
        await janitor.say("clean up")
        (ask,) = janitor.asks
        assert ask["metadata"]["affectedRows"] == 42
        assert ask["metadata"]["rollbackPlan"] == "Restore from backup snapshot-2025-01-23"
        assert "expiresAt" in ask
        args = {"inactive_since": "2023-01-01", "batch_size": 5000, "dry_run": True}
        await janitor.answer({"approved": True, "editedArgs": args})
        assert janitor.error == "INVALID_RESUME_PAYLOAD"  # a batch that large is not allowed
        args["batch_size"] = 10
        said = await janitor.answer({"approved": True, "editedArgs": args})
        assert said == "Done with your changes: 0 deleted, 42 would be."
        assert janitor.effects("DELETED") == []

        await janitor.say("now really")
        await janitor.answer({"approved": True})
        assert janitor.effects("DELETED") == [{"inactive_since": "2023-01-01", "batch_size": 100}]

        await janitor.say("once more")
        assert "no backup" in await janitor.answer({"approved": False, "reason": "no backup"})
        assert len(janitor.effects("DELETED")) == 1


# --- information_gathering ---


async def test_the_form_asks_for_a_file_by_reference_and_the_agent_goes_on(
    example: Serving,
) -> None:
    async with example("information_gathering", "expenses") as expenses:
        assert "up to 300 EUR" in await expenses.say("A hotel in Oslo")
        properties = expenses.asks[0]["responseSchema"]["properties"]
        assert set(properties) == {"amount", "purpose", "file"}
        form = {"amount": 250, "purpose": "customer"}
        for wrong in (
            {**HOTEL, "size": 50_000_000},
            {**HOTEL, "mimeType": "text/html"},
            {**FILE, "url": "http://169.254.169.254/latest/meta-data"},
            FILE,
        ):
            await expenses.answer({**form, "file": wrong})
            assert expenses.error == "INVALID_RESUME_PAYLOAD"
        assert expenses.effects("READ") == []

        assert await expenses.answer({**form, "file": BAR}) == ""
        assert "doesn't say 250 EUR" in expenses.asks[0]["message"]
        await expenses.restart()
        said = await expenses.answer({**form, "file": HOTEL})
        assert said == "Thank you: 250 EUR (customer) are on their way."
        assert expenses.effects("READ") == [BAR["url"], HOTEL["id"]]


async def test_a_receipt_above_the_limit_is_asked_for_again_and_cancelled(
    example: Serving,
) -> None:
    async with example("information_gathering", "expenses") as expenses:
        await expenses.say("Drinks")
        await expenses.answer({"amount": 80, "purpose": "other", "file": BAR})
        assert "more than 50 EUR" in expenses.asks[0]["message"]
        assert "Come back" in await expenses.answer(None)


# --- policy_enforcement ---


async def test_the_policy_allows_asks_and_denies_whatever_the_agent_says(
    example: Serving,
) -> None:
    async with example("policy_enforcement", "bookkeeper") as bookkeeper:
        bookkeeper.token = IAN
        said = await bookkeeper.say("balance\npay 20 bob\nclose bob\npay 50000 bob\npay -5 bob")
        assert said == (
            "There are 25000 EUR. 20 EUR went to bob. Not done: Agents don't close accounts. "
            "Not done: A payment is of 1 to 10000 EUR. I don't understand line 5. "
        )
        assert bookkeeper.effects("DONE") == ["paid 20 to bob"]


async def test_an_approval_counts_only_from_who_may_give_it(example: Serving) -> None:
    async with example("policy_enforcement", "bookkeeper") as bookkeeper:
        bookkeeper.token = IAN
        await bookkeeper.say("pay 500 bob")
        assert bookkeeper.asks[0]["message"] == "Pay 500 EUR to bob?"
        said = await bookkeeper.answer({"approved": True})
        assert said == "Not done: Only a manager can approve that. "
        assert bookkeeper.effects("DONE") == []

        await bookkeeper.say("pay 500 bob")
        bookkeeper.token = ANN
        edited = {"to": "bob", "amount": 50_000}
        said = await bookkeeper.answer({"approved": True, "editedArgs": edited})
        assert said == "Not done: A payment is of 1 to 10000 EUR. "

        await bookkeeper.say("pay 500 bob")
        assert "not now" in await bookkeeper.answer({"approved": False, "reason": "not now"})
        await bookkeeper.say("pay 500 bob")
        assert "cancelled" in await bookkeeper.answer(None)
        await bookkeeper.say("pay 500 bob")
        await bookkeeper.restart()
        assert await bookkeeper.answer({"approved": True}) == "500 EUR went to bob. "
        await bookkeeper.send_again()
        assert bookkeeper.effects("DONE") == ["paid 500 to bob"]


# --- wizard ---


async def test_the_wizard_goes_forth_and_back_across_restarts_and_orders_once(
    example: Serving,
) -> None:
    async with example("wizard", "wizard") as wizard:
        await wizard.say("a kettle")
        answers = (
            {"back": True},
            ADDRESS,
            {"back": True},
            {**ADDRESS, "city": "Bergen"},
            {"speed": "express"},
            {"back": True},
            {"speed": "standard"},
        )
        pages = []
        for payload in answers:
            pages.append(wizard.asks[0]["metadata"]["page"])
            await wizard.restart()
            assert await wizard.answer(payload) == ""
        assert pages == [1, 1, 2, 1, 2, 3, 2]
        order = {
            "item": "a kettle",
            "address": {"name": "Ann", "city": "Bergen"},
            "delivery": {"speed": "standard"},
        }
        assert wizard.asks[0]["metadata"] == {"page": 3, "pages": 3, "order": order}
        assert (await wizard.thread())["state"] == {"order": order}
        assert wizard.effects("ORDERS") == []

        await wizard.answer({"confirm": False})
        assert wizard.error == "INVALID_RESUME_PAYLOAD"
        assert (await wizard.answer({"confirm": True})).startswith("Order 1: ")
        await wizard.send_again()
        assert wizard.effects("ORDERS") == [order]


async def test_a_page_refuses_what_does_not_fit_and_cancelling_ends_the_wizard(
    example: Serving,
) -> None:
    async with example("wizard", "wizard") as wizard:
        await wizard.say("a kettle")
        await wizard.answer({"name": "", "city": "Oslo"})
        assert wizard.error == "INVALID_RESUME_PAYLOAD"
        assert await wizard.answer(None) == "Nothing was ordered."
        assert wizard.effects("ORDERS") == []


# --- error_recovery ---


async def test_a_failed_step_is_repeated_only_when_somebody_says_so(example: Serving) -> None:
    async with example("error_recovery", "converter") as converter:
        fetched = converter.counts
        assert await converter.say("10 USD 500 JPY 10 GBP") == "USD: 0.9. "
        assert fetched("FETCHED") == {"USD": 1, "JPY": 1}
        assert (
            converter.asks[0]["message"] == "The rate of JPY could not be fetched (TimeoutError)."
        )
        assert "password" not in str(converter.events)

        await converter.answer({"action": "replace"})
        assert converter.error == "INVALID_RESUME_PAYLOAD"  # with what?
        await converter.answer({"action": "retry"})
        assert fetched("FETCHED") == {"USD": 1, "JPY": 2}
        said = await converter.answer({"action": "retry"})
        assert said == "JPY: 0.006. GBP: 1.2. Together 24.00 EUR."
        await converter.send_again()
        assert fetched("FETCHED") == {"USD": 1, "JPY": 3, "GBP": 1}


async def test_what_failed_is_replaced_left_out_or_ends_it_without_another_try(
    example: Serving,
) -> None:
    async with example("error_recovery", "converter") as converter:
        fetched = converter.counts
        await converter.say("10 USD 10 XYZ")
        await converter.restart()
        said = await converter.answer({"action": "replace", "rate": 2})
        assert said == "XYZ: 2.0. Together 29.00 EUR."
        await converter.say("10 USD 10 XYZ")
        assert await converter.answer({"action": "skip"}) == "XYZ: left out. Together 9.00 EUR."
        for end in ({"action": "abort"}, None):
            await converter.say("10 USD 10 XYZ")
            assert await converter.answer(end) == "Given up: nothing was added up."
        assert fetched("FETCHED") == {"USD": 4, "XYZ": 4}
