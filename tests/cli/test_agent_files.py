"""`agui-bridge serve agent.yaml` as a process: the seed's scenario, restarts, and expiry."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.processes import serving
from tests.servers.model.script import Reply
from tests.servers.model.server import ScriptedModel
from tests.support.agents import eventually
from tests.support.chat import Chat
from tests.support.redis_server import redis_url
from tests.support.server import client
from tests.test_agent_file import SEED, SMALL

QUESTION = "Please confirm: 部署 v2.0 到生产环境。"


def variables(model: ScriptedModel, **more: str) -> dict[str, str]:
    found = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "key", "NO_PROXY": "127.0.0.1"}
    return {**found, **more}


@pytest.mark.parametrize("backend", ["redis", "sqlite"])
async def test_what_is_pending_in_a_lasting_backend_survives_a_restart(
    tmp_path: Path, backend: str
) -> None:
    (tmp_path / "agent.yaml").write_text(SEED.replace("_backend: redis", f"_backend: {backend}"))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "small.yaml").write_text(SMALL)
    args = ("agent.yaml", "more", "--port", "0")
    addresses = {"REDIS_URL": redis_url(tmp_path)} if backend == "redis" else {}
    async with ScriptedModel(Reply(["我将部署。", QUESTION]), Reply("已部署。")) as model:
        environment = variables(model, **addresses)
        with serving(tmp_path, *args, **environment) as server:
            async with client(server.url) as http:
                asked = await Chat(http, "approval-agent", "deploy-123").say("部署 v2.0")
            assert asked.text == "我将部署。"
            server.process.send_signal(signal.SIGKILL)
        with serving(tmp_path, *args, **environment) as server:
            async with client(server.url) as http:
                chat = Chat(http, "approval-agent", "deploy-123")
                state = await chat.state()
                assert state is not None and state["reason"] == QUESTION
                assert (await chat.answer(confirm=True)).text == "已部署。"
                assert await chat.refused("resume", input={"confirm": True}) == (
                    409,
                    "INTERRUPT_NOT_PENDING",
                )
                names = {a["name"] for a in (await http.get("/agents")).json()["agents"]}
        assert names == {"approval-agent", "small"}
        assert model.requests[1].messages[-2]["content"] == f"我将部署。{QUESTION}"


async def test_after_timeout_seconds_the_state_is_gone(tmp_path: Path) -> None:
    text = SEED.replace("_backend: redis", "_backend: memory").replace("300", "1")
    (tmp_path / "agent.yaml").write_text(text)
    async with ScriptedModel(Reply(QUESTION)) as model:
        with serving(tmp_path, "agent.yaml", "--port", "0", **variables(model)) as server:
            async with client(server.url) as http:
                chat = Chat(http, "approval-agent", "s")
                assert (await chat.say("go")).interrupt is not None

                async def gone() -> bool:
                    return await chat.state() is None

                await eventually(gone)
                status, _ = await chat.refused("resume", input={"confirm": True})
    assert status == 409


async def test_an_agent_whose_interrupts_are_off_is_404_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(SMALL)
    async with ScriptedModel(Reply("Please confirm: nothing.")) as model:
        with serving(tmp_path, "agent.yaml", "--port", "0", **variables(model)) as server:
            async with client(server.url) as http:
                chat = Chat(http, "small", "s")
                said = await chat.say("go")
                assert (said.text, said.interrupt) == ("Please confirm: nothing.", None)
                assert await chat.refused("resume", input={"confirm": True}) == (
                    404,
                    "INTERRUPTS_UNSUPPORTED",
                )
