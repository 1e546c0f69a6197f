"""Mail with a link to each question that stands for its reader.

Programs that look at mails open every link in them, so a link only shows: the page behind it has
the buttons.
"""

from __future__ import annotations

import asyncio
import hashlib
import smtplib
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from agui_bridge.channels.channel import Channel, Person, ToldScopes, Undelivered
from agui_bridge.channels.notice import Notice, cut
from agui_bridge.errors import ConfigurationError
from agui_bridge.hooks import HookThreads
from agui_bridge.inbox.reference import scopes_of
from agui_bridge.protocol.threads.records import Json, Principal

Addresses = Mapping[str, str] | Mapping[Principal, str] | Mapping[str | Principal, str]
"""Addresses by the person that their link stands for: an actor, or a principal with roles."""

Recipients = Addresses | Callable[[Notice], Addresses | Awaitable[Addresses]]
"""Addresses, or a function that finds those of a notice: async, or plain and then in a thread."""

_THREADS: Final = HookThreads("recipients")

_LONGEST_SUBJECT: Final = 200
_LONGEST_TEXT: Final = 20_000


@dataclass
class Smtp(Channel):
    """Sends mails, one to each recipient.

    Attributes:
        url: `smtp://user:password@host:587` (STARTTLS) or `smtps://host` (TLS from the start);
            `smtp://localhost:25?starttls=never` for a relay on the same machine.
        sender: the address that mails come from.
        to: who gets one; a mapping from people to addresses, or a function from the notice to it.
            An actor is somebody of the channel's only scope, whose link has no roles. A
            principal gets the questions of the scopes that they see, and their link has their
            roles as they are when it is sent. If the channel has several scopes, all must be
            principals.
        timeout: seconds for each step.
        tls: whom to trust; None is the machine's default.

    Raises:
        ConfigurationError: an address is none.
    """

    url: str = field(repr=False)
    sender: str
    to: Recipients
    timeout: float = field(default=20.0, kw_only=True)
    tls: ssl.SSLContext | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        super().__post_init__()
        self._server = _Server.of(self.url)
        check_address(self.sender)
        if not callable(self.to):
            for address in self.to.values():
                check_address(address)

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """Mail everybody who hasn't got this notice at an earlier try."""
        recipients: Addresses
        recipients = await _THREADS.call(self.to, notice) if callable(self.to) else self.to
        if self._has_several_scopes and any(isinstance(person, str) for person in recipients):
            raise Undelivered(
                "`to` gave a plain name, and the channel has several scopes: give a Principal",
                final=True,
            )
        done = list((notice.noted or {}).get("sent", ()))
        mails = [
            (address, self._mail(notice, person, address))
            for person, address in recipients.items()
            if address not in done and _sees(person, notice)
        ]
        try:
            await asyncio.to_thread(self._deliver, mails, done)
        except (smtplib.SMTPException, OSError) as error:
            raise Undelivered(_reason(error), final=False, noted={"sent": done}) from None
        return {"sent": done}

    def named_people(self) -> Collection[Person]:
        """Those who get mails; whom a function finds is not known before."""
        return () if callable(self.to) else tuple(self.to)

    @property
    def _has_several_scopes(self) -> bool:
        """Whether nobody knows for which scope a plain name stands; by default there is one."""
        return self.scopes is not None and ToldScopes(frozenset(self.scopes)).only is None

    def _deliver(self, mails: Sequence[tuple[str, EmailMessage]], done: list[str]) -> None:
        if not mails:
            return
        with self._server.connect(self.timeout, self.tls) as connection:
            refused: smtplib.SMTPException | None = None
            for address, mail in mails:
                try:
                    connection.send_message(mail)
                except smtplib.SMTPRecipientsRefused as error:
                    # The others shall have theirs all the same.
                    refused = error
                else:
                    done.append(address)
            if refused is not None:
                raise refused

    def _mail(self, notice: Notice, person: str | Principal, address: str) -> EmailMessage:
        check_address(address)
        host = self.sender.rpartition("@")[2]
        name = hashlib.sha256(f"{notice.id}\n{address}".encode()).hexdigest()[:32]
        mail = EmailMessage(policy=SMTP)
        mail["Subject"] = cut(" ".join(notice.title.split()), _LONGEST_SUBJECT)
        mail["From"] = self.sender
        mail["To"] = address
        mail["Date"] = format_datetime(datetime.fromtimestamp(notice.at, UTC))
        # The same at every try: whoever has it already sees one mail.
        mail["Message-ID"] = f"<{name}@{host}>"
        # No mail has this id; all mails of one question are shown together because they name it.
        mail["References"] = mail["In-Reply-To"] = f"<{_conversation(notice)}@{host}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(self._text(notice, person))
        return mail

    def _text(self, notice: Notice, person: str | Principal) -> str:
        parts = [notice.title]
        parts.append("\n".join(f"{label}: {value}" for label, value in notice.facts))
        if self.show_args and notice.args is not None:
            parts.append(cut(notice.args, _LONGEST_TEXT))
            if notice.preview:
                parts.append(f"What it would do:\n{cut(notice.preview, _LONGEST_TEXT)}")
        if (link := notice.links.personal(person)) is not None:
            parts.append(
                f"Decide here:\n{link}\n\n"
                "The link is yours alone: whoever has it decides in your name."
            )
        elif notice.links.page is not None:
            parts.append(f"Decide here:\n{notice.links.page}")
        if message := notice.message(show_args=self.show_args):
            # Marked, and last: it could say "Decide here:" as well.
            said = cut(message, _LONGEST_TEXT).splitlines()
            parts.append("The agent says:\n" + "\n".join(f"> {line}" for line in said))
        return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class _Server:
    """Where mails are handed in.

    Attributes:
        secure: `tls` from the start, `starttls`, or `never`.
    """

    host: str
    port: int
    secure: str
    user: str | None
    password: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> _Server:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise _no_server() from None
        never = parts.query == "starttls=never"
        if parts.scheme not in ("smtp", "smtps") or not host or (parts.query and not never):
            raise _no_server()
        secure = "tls" if parts.scheme == "smtps" else "never" if never else "starttls"
        user = unquote(parts.username) if parts.username else None
        if user and secure == "never":
            raise ConfigurationError(
                "channels: a password would travel in clear text: leave `starttls=never` out."
            )
        default = {"tls": 465, "starttls": 587, "never": 25}[secure]
        return cls(host, port or default, secure, user, unquote(parts.password or ""))

    def connect(self, timeout: float, tls: ssl.SSLContext | None) -> smtplib.SMTP:
        """A connection on which mails may be sent."""
        context = tls or ssl.create_default_context()
        if self.secure == "tls":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=timeout, context=context
            )
        else:
            connection = smtplib.SMTP(self.host, self.port, timeout=timeout)
        try:
            if self.secure == "starttls":
                connection.starttls(context=context)
            if self.user is not None:
                connection.login(self.user, self.password)
        except BaseException:
            connection.close()
            raise
        return connection


def _conversation(notice: Notice) -> str:
    key = notice.key
    question = "\n".join((key.scope, key.agent, key.thread, notice.ask.id))
    return hashlib.sha256(question.encode()).hexdigest()[:32]


def _no_server() -> ConfigurationError:
    # Not repeated: it may hold a password.
    return ConfigurationError(
        "channels: a mail server's url must be such as smtp://user:password@host:587, "
        "smtps://host or smtp://localhost:25?starttls=never."
    )


def _sees(person: str | Principal, notice: Notice) -> bool:
    """Whether a question is somebody's to see; a test is about no question."""
    if isinstance(person, str) or notice.event == "test":
        return True
    return notice.key.scope in scopes_of(person)


def check_address(address: str) -> None:
    """Refuse what is no mail address.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        parsed = Address(addr_spec=address)
        fits = bool(parsed.username and parsed.domain) and address.isascii()
    except (ValueError, IndexError):
        fits = False
    if not fits:
        raise ConfigurationError(
            f"channels: {address!r:.200} is no mail address, such as ops@example.org."
        )


def _reason(error: Exception) -> str:
    """What failed, without what the server said, which may quote addresses."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = sorted({code for code, _ in error.recipients.values()})
        return f"SMTP {', '.join(map(str, codes))} for {len(error.recipients)} recipient(s)"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"SMTP {error.smtp_code}"
    return f"no answer ({type(error).__name__})"
