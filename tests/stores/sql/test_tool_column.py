"""Revision 0003 fills the tool of every question that earlier versions stored."""

import pytest

from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.stores import codec
from agui_bridge.stores.base import QuestionFilter
from tests.stores.samples import KEY as THREAD, ODD_JSON, ask
from tests.stores.sql.conftest import Place

TOOLS = {
    "plain": "pay",
    "emoji": "pay 😀 ü",
    "quoted": 'pay "\\u0000" \\\\',
    "none": None,
}


@pytest.mark.parametrize("odd", [{}, ODD_JSON, {"\\": "\\\\u0000 \\\x00 \ud800"}])
async def test_the_tool_of_what_was_stored_before_is_filled_in(
    before: Place, odd: dict[str, object]
) -> None:
    for id, tool in TOOLS.items():
        call = None if tool is None else ToolCall("c\\", tool, odd)
        data = codec.encode_interrupt(ask(id, tool_call=call, message="\x00", metadata=odd))
        quoted = data.replace("'", "''")
        before.ask(
            "INSERT INTO agui_interrupts (scope, agent, thread, id, batch, position, status,"
            " raised_at, data) SELECT scope, agent, thread, "
            f"'{id}', 'batch', 0, 'open', 1, '{quoted}' FROM agui_threads"
        )

    store = await before.open()
    try:
        for id, tool in TOOLS.items():
            if tool is not None:
                rows = await store.list_interrupts(THREAD.scope, QuestionFilter(tool=tool))
                assert [row.interrupt.id for row in rows] == [id]
    finally:
        await store.aclose()
