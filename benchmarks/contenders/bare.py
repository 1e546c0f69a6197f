"""A server that does what a round trip of a question needs, and nothing else.

    python -m benchmarks.contenders.servers bare --port 8799 --store URL

It trusts whoever asks, checks no answer, keeps no conversation, and survives no crash in between.
What it does have is what cannot be left out: the question is committed before it is told, and of
two answers one wins (a conditional update). Its events are templates, filled with orjson.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs, urlsplit

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

T = TypeVar("T")

_TABLE = "(id TEXT PRIMARY KEY, thread TEXT NOT NULL, call TEXT NOT NULL, answer TEXT)"


class _Questions(Protocol):
    """Where questions are kept; `open` comes first."""

    async def open(self) -> None: ...

    async def ask(self, question: str, thread: str, call: str) -> None: ...

    async def claim(self, question: str, answer: str) -> str | None:
        """The question's call, or None when somebody else was first."""
        ...


class _Memory:
    def __init__(self, url: str) -> None:
        self._calls: dict[str, str] = {}

    async def open(self) -> None:
        pass

    async def ask(self, question: str, thread: str, call: str) -> None:
        self._calls[question] = call

    async def claim(self, question: str, answer: str) -> str | None:
        return self._calls.pop(question, None)


class _Sqlite:
    """One connection in a thread of its own; each commit waits for the disk."""

    def __init__(self, url: str) -> None:
        self._path = url.removeprefix("sqlite:///")
        self._thread = ThreadPoolExecutor(1)

    async def open(self) -> None:
        await self._there(self._connect)

    async def ask(self, question: str, thread: str, call: str) -> None:
        row = (question, thread, call)
        await self._there(
            lambda: self._execute("INSERT INTO bare VALUES (?, ?, ?, NULL)", row).close()
        )

    async def claim(self, question: str, answer: str) -> str | None:
        def update() -> str | None:
            sql = "UPDATE bare SET answer = ? WHERE id = ? AND answer IS NULL RETURNING call"
            found = self._execute(sql, (answer, question)).fetchone()
            return None if found is None else str(found[0])

        return await self._there(update)

    def _connect(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS bare {_TABLE}")

    def _execute(self, sql: str, values: tuple[str, ...]) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    async def _there(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class _Redis:
    def __init__(self, url: str) -> None:
        from redis.asyncio import Redis

        self._prefix = parse_qs(urlsplit(url).query)["prefix"][0]
        self._client: Any = Redis.from_url(url.partition("?")[0])
        self._claim = self._client.register_script(
            "if redis.call('HSETNX', KEYS[1], 'answer', ARGV[1]) == 0 then return false end "
            "return redis.call('HGET', KEYS[1], 'call')"
        )

    async def open(self) -> None:
        await self._client.ping()

    async def ask(self, question: str, thread: str, call: str) -> None:
        await self._client.hset(self._key(question), mapping={"thread": thread, "call": call})

    async def claim(self, question: str, answer: str) -> str | None:
        found = await self._claim(keys=[self._key(question)], args=[answer])
        return None if found is None else found.decode()

    def _key(self, question: str) -> str:
        return f"{self._prefix}:bare:{question}"


class _Postgres:
    def __init__(self, url: str) -> None:
        self._schema = parse_qs(urlsplit(url).query)["schema"][0]
        self._dsn = url.partition("?")[0]

    async def open(self) -> None:
        import asyncpg

        self._pool: Any = await asyncpg.create_pool(self._dsn, min_size=1, max_size=10)
        await self._pool.execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')
        await self._pool.execute(f'CREATE TABLE IF NOT EXISTS "{self._schema}".bare {_TABLE}')

    async def ask(self, question: str, thread: str, call: str) -> None:
        sql = f'INSERT INTO "{self._schema}".bare VALUES ($1, $2, $3, NULL)'
        await self._pool.execute(sql, question, thread, call)

    async def claim(self, question: str, answer: str) -> str | None:
        sql = f'UPDATE "{self._schema}".bare SET answer = $2 WHERE id = $1 AND answer IS NULL'
        found = await self._pool.fetchval(f"{sql} RETURNING call", question, answer)
        return None if found is None else str(found)


_STORES: dict[str, Callable[[str], _Questions]] = {
    "memory": _Memory,
    "sqlite": _Sqlite,
    "redis": _Redis,
    "postgresql": _Postgres,
}

_STARTED = b'data: {"type":"RUN_STARTED","threadId":%b,"runId":%b}\n\n'
_SAID = (
    b'data: {"type":"TEXT_MESSAGE_START","messageId":%b,"role":"assistant"}\n\n',
    b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":%b,"delta":%b}\n\n',
    b'data: {"type":"TEXT_MESSAGE_END","messageId":%b}\n\n',
)
_CALLED = (
    b'data: {"type":"TOOL_CALL_START","toolCallId":%b,"toolCallName":"delete_rows"}\n\n',
    b'data: {"type":"TOOL_CALL_ARGS","toolCallId":%b,"delta":%b}\n\n',
    b'data: {"type":"TOOL_CALL_END","toolCallId":%b}\n\n',
)
_RESULT = b'data: {"type":"TOOL_CALL_RESULT","messageId":%b,"toolCallId":%b,"content":%b}\n\n'
_FINISHED = b'data: {"type":"RUN_FINISHED","threadId":%b,"runId":%b,"outcome":%b}\n\n'
_SUCCESS = b'{"type":"success"}'
_INTERRUPT = b'{"type":"interrupt","interrupts":[%b]}'
_ARGUMENTS = {"table": "users", "limit": 10}


def bare(store: str, count: int) -> ASGIApp:
    """A bare Starlette server, which asks for one approval and carries it out."""
    questions = _STORES[store.partition(":")[0]](store)
    json = orjson.dumps

    def say(text: str) -> list[bytes]:
        message = json(secrets.token_urlsafe(16))
        start, content, end = _SAID
        return [start % message, content % (message, json(text)), end % message]

    async def ask(thread: bytes, run: bytes) -> AsyncIterator[bytes]:
        yield _STARTED % (thread, run)
        question, call = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        for event in say("May I? "):
            yield event
        start, arguments, end = _CALLED
        named = json(call)
        yield start % named
        yield arguments % (named, json(json(_ARGUMENTS).decode()))
        yield end % named
        await questions.ask(question, thread.decode(), call)
        told = {"id": question, "reason": "tool_call", "message": "Delete 10 rows?"}
        outcome = _INTERRUPT % json({**told, "toolCallId": call})
        yield _FINISHED % (thread, run, outcome)

    async def answer(thread: bytes, run: bytes, call: str) -> AsyncIterator[bytes]:
        yield _STARTED % (thread, run)
        named = json(call)
        yield _RESULT % (json(secrets.token_urlsafe(16)), named, json("10 rows deleted"))
        for event in say("Done."):
            yield event
        yield _FINISHED % (thread, run, _SUCCESS)

    async def run(request: Request) -> Response:
        body = orjson.loads(await request.body())
        thread, run = json(body["threadId"]), json(body["runId"])
        if not body.get("resume"):
            return StreamingResponse(ask(thread, run), media_type="text/event-stream")
        (entry,) = body["resume"]
        call = await questions.claim(entry["interruptId"], json(entry["payload"]).decode())
        if call is None:
            return Response("somebody else was first", 409)
        return StreamingResponse(answer(thread, run, call), media_type="text/event-stream")

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        await questions.open()
        yield

    return Starlette(routes=[Route("/agents/ask", run, methods=["POST"])], lifespan=lifespan)
