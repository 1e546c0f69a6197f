"""pydantic-ai's AG-UI adapter as a server, with a scripted model; runs in .venv-peers.

python -m benchmarks.contenders.peer_pydantic_ai --port 8799 [--events N]
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Callable

from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.contenders.producer import KINDS, produce
from benchmarks.contenders.uvicorn_options import serve

Model = Callable[[list[ModelMessage], AgentInfo], AsyncIterator[str | DeltaToolCalls]]


def _speaking(kind: str, count: int) -> Model:
    async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        async for token in produce(kind, count):
            yield token

    return model


async def _asking(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    last = messages[-1]
    if isinstance(last, ModelRequest) and any(isinstance(p, ToolReturnPart) for p in last.parts):
        yield "Done."
        return
    yield "May I? "
    yield {1: DeltaToolCall(name="delete_rows", json_args='{"table":"users","limit":10}')}


def _delete_rows(table: str, limit: int) -> str:
    return f"{limit} rows of {table} deleted"


def app(count: int) -> Starlette:
    """The agents of `benchmarks.contenders.servers`, as far as this framework has them."""
    agents = {kind: Agent(FunctionModel(stream_function=_speaking(kind, count))) for kind in KINDS}
    ask = Agent(
        FunctionModel(stream_function=_asking),
        output_type=[str, DeferredToolRequests],
        tools=[Tool(_delete_rows, name="delete_rows", requires_approval=True)],
    )

    async def run(request: Request) -> Response:
        kind = request.path_params["kind"]
        agent = ask if kind == "ask" else agents[kind]
        response: Response = await AGUIAdapter.dispatch_request(request, agent=agent)
        return response

    return Starlette(routes=[Route("/agents/{kind}", run, methods=["POST"])])


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="A peer of the benchmarks.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--events", type=int, default=1_000)
    options = parser.parse_args()
    serve(app(options.events), options.port)


if __name__ == "__main__":
    main()
