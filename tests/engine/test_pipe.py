"""The pipe between a run and its reader."""

import asyncio

import pytest

from agui_bridge.engine.pipe import Pipe
from tests.support.agents import settle


async def test_read_takes_all_that_is_ready_as_one_piece() -> None:
    pipe = Pipe()
    for chunk in (b"a", b"b", b"c"):
        pipe.write(chunk)
    assert await pipe.read() == b"abc"


async def test_read_waits_for_the_first_chunk() -> None:
    pipe = Pipe()
    reading = asyncio.create_task(pipe.read())
    await settle()
    assert not reading.done()
    pipe.write(b"a")
    assert await reading == b"a"


async def test_what_was_written_before_the_end_is_read_first() -> None:
    pipe = Pipe()
    pipe.write(b"a")
    pipe.close()
    assert (await pipe.read(), await pipe.read(), await pipe.read()) == (b"a", b"", b"")


async def test_a_waiting_reader_gets_the_end() -> None:
    pipe = Pipe()
    reading = asyncio.create_task(pipe.read())
    await settle()
    pipe.close()
    assert await reading == b""


async def test_a_failed_pipe_raises_where_it_is_read() -> None:
    pipe = Pipe()
    pipe.fail(ValueError("no stream"))
    with pytest.raises(ValueError, match="no stream"):
        await pipe.read()


async def test_what_is_written_after_the_end_is_dropped() -> None:
    pipe = Pipe()
    pipe.close()
    pipe.write(b"late")
    assert await pipe.read() == b""


@pytest.mark.parametrize("chunks, full", [([b"x"] * 2, False), ([b"x"] * 3, True)])
async def test_it_is_full_by_the_number_of_chunks(chunks: list[bytes], full: bool) -> None:
    pipe = Pipe(max_chunks=3, max_bytes=1000)
    for chunk in chunks:
        pipe.write(chunk)
    assert pipe.full is full


async def test_it_is_full_by_bytes_and_one_chunk_may_exceed_them() -> None:
    pipe = Pipe(max_chunks=100, max_bytes=10)
    pipe.write(b"x" * 50)
    assert pipe.full
    assert len(await pipe.read()) == 50
    assert not pipe.full


async def test_a_waiting_writer_goes_on_once_the_pipe_was_read() -> None:
    pipe = Pipe(max_chunks=1)
    pipe.write(b"a")
    waiting = asyncio.create_task(pipe.drained())
    await settle()
    assert not waiting.done()
    await pipe.read()
    await asyncio.wait_for(waiting, 1)


async def test_a_waiting_writer_goes_on_once_nobody_reads() -> None:
    pipe = Pipe(max_chunks=1)
    pipe.write(b"a")
    waiting = asyncio.create_task(pipe.drained())
    await settle()
    pipe.detach()
    await asyncio.wait_for(waiting, 1)
    assert pipe.detached and not pipe.full


async def test_a_pipe_without_a_reader_swallows() -> None:
    pipe = Pipe(max_chunks=2)
    pipe.detach()
    for _ in range(10):
        pipe.write(b"x")
    assert not pipe.full


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    pipe = Pipe()
    reading = asyncio.create_task(pipe.read())
    await settle()
    pipe.write(b"a")
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert await pipe.read() == b"a"


async def test_a_released_writer_waits_for_no_reader_any_more() -> None:
    pipe = Pipe(max_chunks=1)
    pipe.write(b"x")
    waiting = asyncio.create_task(pipe.drained())
    await asyncio.sleep(0)
    assert not waiting.done()
    pipe.release()
    await waiting
    pipe.write(b"y")
    assert await pipe.read() == b"xy"
