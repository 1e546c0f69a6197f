"""The pipe between a run and its reader."""

import asyncio

import pytest

from agui_bridge.engine.streaming.pipe import Pipe
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
    await asyncio.wait_for(waiting, 20)


async def test_a_waiting_writer_goes_on_once_nobody_reads() -> None:
    pipe = Pipe(max_chunks=1)
    pipe.write(b"a")
    waiting = asyncio.create_task(pipe.drained())
    await settle()
    pipe.detach()
    await asyncio.wait_for(waiting, 20)
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


async def gathered(pipe: Pipe, pieces: list[bytes]) -> None:
    while piece := await pipe.read():
        pieces.append(piece)


async def test_the_first_chunk_is_read_at_once_and_a_burst_after_it_in_one_piece() -> None:
    pipe, pieces = Pipe(), list[bytes]()
    reading = asyncio.create_task(gathered(pipe, pieces))
    await settle()
    pipe.write(b"begun ")
    await asyncio.sleep(0)
    assert pieces == [b"begun "]
    for _ in range(20):
        pipe.write(b".")
        await asyncio.sleep(0)
    await settle()
    pipe.close()
    await reading
    assert b"".join(pieces) == b"begun " + b"." * 20
    assert len(pieces) < 8, "twenty passes with an event each are a few pieces"


async def test_a_writer_that_waits_for_a_future_before_each_chunk_writes_a_burst_too() -> None:
    pipe, pieces = Pipe(), list[bytes]()
    reading = asyncio.create_task(gathered(pipe, pieces))
    loop = asyncio.get_running_loop()
    await settle()
    pipe.write(b"begun ")
    await settle()
    for _ in range(20):
        woken = loop.create_future()
        loop.call_soon(woken.set_result, None)
        await woken
        pipe.write(b".")
    await settle()
    pipe.close()
    await reading
    assert b"".join(pieces) == b"begun " + b"." * 20
    assert len(pieces) < 8, "twenty wakes with an event each are a few pieces"


async def test_a_chunk_that_comes_alone_is_read_a_few_passes_later() -> None:
    pipe, pieces = Pipe(), list[bytes]()
    reading = asyncio.create_task(gathered(pipe, pieces))
    await settle()
    for expected in range(1, 4):
        pipe.write(b".")
        for _ in range(6):
            await asyncio.sleep(0)
        assert len(pieces) == expected
    pipe.close()
    await reading


async def test_an_endless_burst_does_not_keep_the_reader_waiting() -> None:
    pipe, pieces = Pipe(max_chunks=10**9, max_bytes=10**9), list[bytes]()
    reading = asyncio.create_task(gathered(pipe, pieces))
    await settle()
    passes = 0
    while len(pieces) < 4:
        pipe.write(b".")
        passes += 1
        assert passes < 10**6
        await asyncio.sleep(0)
    pipe.close()
    await reading


async def test_a_full_pipe_is_read_at_the_next_pass_of_a_burst() -> None:
    pipe, pieces = Pipe(max_chunks=3), list[bytes]()
    reading = asyncio.create_task(gathered(pipe, pieces))
    await settle()
    pipe.write(b"begun")
    await settle()
    for _ in range(9):
        pipe.write(b".")
        if pipe.full:
            await pipe.drained()
        else:
            await asyncio.sleep(0)
    pipe.close()
    await reading
    assert max(map(len, pieces[1:])) <= 3
