"""Carries checks out on one endpoint, several at once, each on fresh threads."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx

from agui_bridge.client import ClientError
from agui_bridge.conformance.check import KINDS, Check, Kind, Result
from agui_bridge.conformance.checks import CHECKS
from agui_bridge.conformance.config import Config, filled
from agui_bridge.conformance.exchange import Answer, asks_about_a_call, last_exchanges
from agui_bridge.conformance.lab import Lab, Offer, Thread, edited_schema
from agui_bridge.conformance.servers import Processes, restarter
from agui_bridge.conformance.verdicts import Blocked, Failed, Inapplicable, Status
from agui_bridge.errors import ConfigurationError

Told = Callable[[Result], None]

# Most servers close what is idle after five seconds or more; a request that meets that is lost.
_LIMITS: Final = httpx.Limits(
    max_connections=200, max_keepalive_connections=8, keepalive_expiry=2.0
)


@dataclass(frozen=True)
class Report:
    """How an endpoint did.

    Attributes:
        name: of the endpoint.
        url: of the endpoint.
        results: in the order of the checks.
        found: what was found out about it that the configuration does not say.
    """

    name: str
    url: str
    results: tuple[Result, ...]
    found: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(result.status == "pass" for result in self.results)

    @property
    def applicable(self) -> int:
        """How many checks apply: all that were not skipped."""
        return sum(result.status != "skip" for result in self.results)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many checks ended in each way: the figures of every report."""
        found = Counter(result.kind for result in self.results)
        return {kind: found[kind] for kind in KINDS}

    def failures(self, *, strict: bool = False) -> list[Result]:
        """The results that make the endpoint fail: of `must`, when strict also of `should`."""
        return [
            result
            for result in self.results
            if result.status in ("fail", "blocked") and (strict or result.check.severity == "must")
        ]


@asynccontextmanager
async def open_lab(config: Config, url: str = "") -> AsyncIterator[Lab]:
    """Start what the configuration says has to be started, and see that the endpoint answers.

    Args:
        config: of the endpoint.
        url: goes before the configuration's.

    Raises:
        ConfigurationError: there is no URL, nothing answers there, or a server does not start.
    """
    for skipped in config.skip:
        choose([skipped])
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            httpx.AsyncClient(timeout=config.timeout, limits=_LIMITS, trust_env=False)
        )
        names = {"folder": stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-"))}
        first, second = url or config.url, config.second_url or ""
        restart: Callable[[], Awaitable[None]] | None = None
        if config.server is not None and not url:
            processes = Processes(config.server, Path(names["folder"]), client, first)
            await stack.enter_async_context(processes.running())
            ports = [str(port) for port in processes.ports]
            names["port"] = ports[0]
            second = filled(second or first, port=ports[1]) if len(ports) > 1 else second
            first = filled(first, **names)
            restart = processes.restart
        elif config.restart is not None:
            restart = restarter(config.restart, client, names, first)
        if not first:
            raise ConfigurationError("There is no URL: pass one, or write url in the file.")
        names.setdefault("port", _port_of(first))
        try:
            await client.get(first, headers=config.headers)
        except httpx.HTTPError as error:
            raise ConfigurationError(
                f"GET {first} gave no answer: {type(error).__name__}. Any would do, 405 too.\n"
                "Is the server running? The kit starts it if the file has [server]."
            ) from None
        lab = Lab(config, client, first, second, names, restart)
        yield replace(lab, offer=await find_offer(lab))


def _port_of(url: str) -> str:
    """The port of a URL, which the configuration's other URLs may name.

    Raises:
        ConfigurationError: it is no URL.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{url!r} is no URL: {error}.") from None
    return str(parsed.port or {"https": 443}.get(parsed.scheme, 80))


async def run_check(check: Check, lab: Lab) -> Result:
    """Carry out one check.

    Args:
        check: which one.
        lab: the endpoint.

    Raises:
        ConfigurationError: the configuration is wrong in a way that only shows now.
    """
    if reason := _reason_to_skip(check, lab):
        return Result(check, "skip", reason)
    started = time.perf_counter()
    lab = replace(lab, exchanges=[])

    def ended(status: Status, detail: str = "", **members: Any) -> Result:
        if status in ("fail", "blocked"):
            members["evidence"] = members.get("evidence") or last_exchanges(lab.exchanges)
        return Result(check, status, detail, time.perf_counter() - started, **members)

    try:
        async with asyncio.timeout(lab.config.timeout):
            note = await check.run(lab)
    except Failed as failed:
        return ended("fail", str(failed), expected=failed.expected, evidence=failed.evidence)
    except Inapplicable as inapplicable:
        return ended("skip", str(inapplicable))
    except Blocked as blocked:
        return ended("blocked", str(blocked))
    except TimeoutError:
        return ended("fail", f"not over within {lab.config.timeout:g} s")
    except ClientError as error:
        return ended("fail", str(error))
    except httpx.HTTPError as error:
        return ended("fail", f"the connection failed: {type(error).__name__}")
    return ended("pass", notes=(note,) if note else ())


async def run_checks(
    lab: Lab, checks: Sequence[Check] = CHECKS, told: Told = lambda result: None
) -> tuple[Result, ...]:
    """Carry checks out, those that disturb others after all others, one by one.

    Args:
        lab: the endpoint.
        checks: which ones.
        told: is told each result as it comes.

    Returns:
        One result for each check, in their order.

    Raises:
        ConfigurationError: the configuration is wrong in a way that only shows now.
    """
    slots = asyncio.Semaphore(lab.config.concurrency)
    results: dict[str, Result] = {}

    async def run(check: Check) -> None:
        async with slots:
            results[check.id] = await run_check(check, lab)
        told(results[check.id])

    try:
        async with asyncio.TaskGroup() as group:
            for check in checks:
                if not check.alone:
                    group.create_task(run(check))
    except* ConfigurationError as errors:
        raise errors.exceptions[0] from None
    for check in checks:
        if check.alone:
            await run(check)
    return tuple(results[check.id] for check in checks)


async def run_suite(
    config: Config,
    url: str = "",
    *,
    only: Iterable[str] = (),
    told: Told = lambda result: None,
) -> Report:
    """Judge an endpoint.

    Args:
        config: how to make it pause, and so on.
        url: goes before the configuration's.
        only: beginnings of the ids of the checks to run; all when empty.
        told: is told each result as it comes.

    Raises:
        ConfigurationError: the configuration is wrong, or nothing answers.
    """
    chosen = choose(only)
    async with open_lab(config, url) as lab:
        results = await run_checks(lab, chosen, told)
        return Report(config.name or lab.url, lab.url, results, lab.offer.found)


def choose(only: Iterable[str]) -> tuple[Check, ...]:
    """The checks whose ids begin so; all when nothing is said.

    Raises:
        ConfigurationError: there is no such check.
    """
    beginnings = tuple(only)
    for beginning in beginnings:
        if not any(check.id.startswith(beginning) for check in CHECKS):
            raise ConfigurationError(f"There is no check {beginning!r}: see --list.")
    return tuple(c for c in CHECKS if not beginnings or c.id.startswith(beginnings))


def _reason_to_skip(check: Check, lab: Lab) -> str | None:
    config = lab.config
    if check.profile not in config.profiles:
        return f"the profile {check.profile} is not asked for"
    if check.id in config.skip:
        return config.skip[check.id]
    return next((why for need in check.needs if (why := lab.lacks(need))), None)


async def find_offer(lab: Lab) -> Offer:
    """Read capabilities if they are served beside the endpoint, and look at one question of it.

    One thread is used, whose question is cancelled afterwards: nothing is approved.

    Args:
        lab: whose endpoint answers.
    """
    found: list[str] = []
    capabilities = ""
    if lab.config.capabilities is None:
        url = str(
            httpx.URL(lab.url).copy_with(path=f"{httpx.URL(lab.url).path.rstrip('/')}/capabilities")
        )
        told = await _read_capabilities(lab, url)
        capabilities = url if told is not None else ""
        human = told.get("humanInTheLoop") if told else None
        found.append(
            f"capabilities: GET {url} tells none"
            if told is None
            else f"capabilities: GET {url}, humanInTheLoop is {human!r}"
        )
    thread = lab.thread()
    try:
        async with asyncio.timeout(lab.config.timeout):
            answer = await thread.say("approval")
            thread.asked = [i for i in answer.interrupts if isinstance(i.get("id"), str)]
            if thread.asked:
                await thread.answer("cancel")
    except (TimeoutError, Blocked):
        return Offer(capabilities, False, (*found, "its approval: no answer in time"))
    found += _seen_in(thread, answer)
    edits = bool(thread.asked) and edited_schema(thread.asked[0]) is not None
    if edits and lab.config.answers.edit is None:
        found.append("edits: offered (editedArgs in the responseSchema), made from the arguments")
    return Offer(capabilities, edits, tuple(found))


async def _read_capabilities(lab: Lab, url: str) -> Mapping[str, Any] | None:
    try:
        response = await lab.get(url)
        told = response.json() if response.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _seen_in(thread: Thread, answer: Answer) -> Iterator[str]:
    versions = [str(event.get("protocolVersion", "none")) for event in answer.of("RUN_STARTED")]
    yield f"AG-UI version: {versions[-1] if versions else 'no RUN_STARTED'}"
    if not thread.asked:
        yield f"its approval: prompts.approval raised no interrupt, it ended with {answer.told()}"
        return
    asked = thread.asked[0]
    about = "about a tool call" if asks_about_a_call(asked) else "without a tool call"
    schema = "with" if isinstance(asked.get("responseSchema"), dict) else "without"
    expiry = "with" if "expiresAt" in asked else "without"
    yield (
        f"its approval: {about}, reason {asked.get('reason')!r}, {schema} responseSchema, "
        f"{expiry} expiresAt"
    )
