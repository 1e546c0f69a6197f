"""Mail: over TLS, tried again without a second copy, with a link that is its reader's alone."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from agui_bridge.channels.channel import Undelivered
from agui_bridge.channels.smtp import Smtp
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.inbox.reference import References
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Principal, ThreadKey, ToolCall
from tests.channels.bridges import INBOX, KEY, bridge_with, notice, the_question
from tests.channels.receivers import Mailbox, link_of
from tests.support.ports import free_port
from tests.support.server import client, post, run_input, serve
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        (
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem "
            "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        ).split(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def server(mailbox: Mailbox, certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    port = free_port()
    controller = Controller(
        mailbox,
        hostname="127.0.0.1",
        port=port,
        tls_context=context,
        require_starttls=True,
    )
    controller.start()
    yield port
    controller.stop()


@pytest.fixture
def smtp(server: int, certificate: Path) -> Smtp:
    return Smtp(
        f"smtp://127.0.0.1:{server}",
        "bridge@agents.example",
        {"bob": "bob@example.org", "eve": "eve@example.org"},
        tls=ssl.create_default_context(cafile=str(certificate / "cert.pem")),
        per_second=50,
    )


async def test_everybody_gets_a_mail_over_tls_with_a_link_of_their_own(
    smtp: Smtp, mailbox: Mailbox
) -> None:
    noted = await smtp.send(notice())
    first, second = mailbox.mails
    tokens = [link_of(mail).removeprefix("https://agents.example/d/") for mail in mailbox.mails]
    references = [References(INBOX.keys).read(token) for token in tokens]

    assert mailbox.secure == [True, True]
    assert (first["To"], second["To"]) == ("bob@example.org", "eve@example.org")
    assert first["Subject"] == "Approve delete_rows?"
    assert first["Auto-Submitted"] == "auto-generated"
    assert "Delete <b>&?" in first.get_content()
    assert "users" not in first.get_content()
    assert [one.actor for one in references] == ["bob", "eve"]
    assert {(one.key, one.interrupt) for one in references} == {(KEY, "i1")}
    assert noted == {"sent": ["bob@example.org", "eve@example.org"]}


async def test_a_mail_that_is_sent_again_is_the_same_mail(smtp: Smtp, mailbox: Mailbox) -> None:
    await smtp.send(notice())
    await smtp.send(notice())
    ids = [mail["Message-ID"] for mail in mailbox.mails]

    assert ids[:2] == ids[2:]
    assert len(set(ids)) == 2
    assert ids[0].endswith("@agents.example>")


async def test_all_mails_of_one_question_are_one_conversation(smtp: Smtp, mailbox: Mailbox) -> None:
    await smtp.send(notice())
    await smtp.send(replace(notice(), id="reminder"))
    other = notice()
    await smtp.send(replace(other, id="other", ask=replace(other.ask, id="i2")))
    threads = [mail["References"] for mail in mailbox.mails]

    assert len({mail["Message-ID"] for mail in mailbox.mails}) == 6
    assert len(set(threads[:4])) == 1
    assert len(set(threads)) == 2
    assert threads == [mail["In-Reply-To"] for mail in mailbox.mails]


async def test_after_a_failure_only_those_without_a_mail_get_one(
    smtp: Smtp, mailbox: Mailbox
) -> None:
    mailbox.refused.add("bob@example.org")
    with pytest.raises(Undelivered, match="450") as failure:
        await smtp.send(notice())
    mailbox.refused.clear()
    await smtp.send(replace(notice(), noted=failure.value.noted))

    assert [mail["To"] for mail in mailbox.mails] == ["eve@example.org", "bob@example.org"]
    assert "example.org" not in str(failure.value)


async def test_a_subject_and_an_address_carry_no_header(smtp: Smtp, mailbox: Mailbox) -> None:
    call = ToolCall("c", "x\r\nBcc: all@example.org\r\n\r\nHi" + "y" * 5000, {})
    await smtp.send(notice(tool_call=call))

    assert mailbox.mails[0]["Bcc"] is None
    assert len(mailbox.mails[0]["Subject"]) <= 200


async def test_a_server_that_can_not_be_trusted_gets_nothing(server: int, mailbox: Mailbox) -> None:
    channel = Smtp(f"smtp://127.0.0.1:{server}", "a@example.org", {"bob": "bob@example.org"})
    with pytest.raises(Undelivered, match="SSL"):
        await channel.send(notice())

    assert mailbox.mails == []


@pytest.mark.parametrize(
    "url", ["", "mail.example", "http://x", "smtp://u:secret@h:25?starttls=never", "smtp://h:x"]
)
def test_a_server_that_is_none_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ConfigurationError, match="channels") as refusal:
        Smtp(url, "a@example.org", {})
    assert "secret" not in str(refusal.value)


async def test_a_mails_link_shows_and_its_button_decides(smtp: Smtp, mailbox: Mailbox) -> None:
    mailbox.answers += ["451 later"]
    bridge, done = bridge_with({"mail": smtp}, allowed_hosts=["127.0.0.1", "agents.example"])
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        await eventually(lambda: mailbox.mails)
        path = link_of(mailbox.mails[0]).removeprefix("https://agents.example")
        for _ in range(3):
            await session.get(path)
            await session.head(path)
        nothing = await session.post(path, data={})
        row = await the_question(bridge)

    assert row.interrupt.is_open
    assert nothing.status_code >= 400
    assert done == []


async def test_what_turns_letters_round_is_shown_by_its_number(
    smtp: Smtp, mailbox: Mailbox
) -> None:
    await smtp.send(notice(message="Delete \u202etxt.elif?"))
    assert "Delete \\u202etxt.elif?" in mailbox.mails[0].get_content()


async def test_a_principal_is_mailed_the_questions_of_the_scopes_that_they_see(
    smtp: Smtp, mailbox: Mailbox
) -> None:
    people: dict[str | Principal, str] = {
        Principal("board", "ann"): "ann@example.org",
        Principal("board", "bob", reviews=("default",)): "bob@example.org",
        "cy": "cy@example.org",
    }
    smtp.to = people
    await smtp.send(notice(key=ThreadKey("default", "ops", "t")))
    assert [mail["To"] for mail in mailbox.mails] == ["bob@example.org", "cy@example.org"]


async def test_a_role_decides_through_its_mail_and_nobody_without_it(
    smtp: Smtp, mailbox: Mailbox
) -> None:
    dba = Principal(actor="bob", roles=frozenset({"dba"}))
    smtp.to = {dba: "bob@example.org", Principal(actor="eve"): "eve@example.org"}
    bridge, done = bridge_with({"mail": smtp})
    bridge.approvals(lambda _: ApprovalRule(approvers=("role:dba",)))
    async with serve(bridge.app(anonymous=True)) as base:
        await post(base, "ops", **run_input())
        await eventually(lambda: len(mailbox.mails) == 2)
        links = {mail["To"]: link_of(mail).rpartition("/d/")[2] for mail in mailbox.mails}
        bobs, eves = links["bob@example.org"], links["eve@example.org"]
        refused = await bridge.answer(eves, {"approved": True}, via="link")
        forged = bobs.partition(".")[0] + "." + eves.partition(".")[2]
        with pytest.raises(Refused, match="names no question"):
            await bridge.answer(forged, {"approved": True}, via="link")
        assert done == []
        taken = await bridge.answer(bobs, {"approved": True}, via="link")

    assert (refused.status, refused.code) == ("refused", "NOT_AN_APPROVER")
    assert (taken.status, done) == ("resolved", ["users"])
