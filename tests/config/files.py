"""Configuration files for tests, and what becomes of them."""

import textwrap
from pathlib import Path

import pytest

from agui_bridge.config import LoadedConfig, load_config
from agui_bridge.errors import ConfigurationError

MODULE = '''
from agui_bridge import FunctionAdapter, Principal

async def orders(run):
    """Looks after orders."""
    yield "hi"

async def echo(run):
    yield run.text

adapter = FunctionAdapter(orders)
number = 7

def who(request):
    return Principal("team", "ann")

def judge(call):
    return "allow"
'''


AGENTS = "agents: {orders: {function: shop_for_config:orders}}\n"


SECRET = "correct-horse-battery-staple"


def written(folder: Path, text: str, *, agents: str = AGENTS) -> Path:
    path = folder / "bridge.yaml"
    path.write_text(textwrap.dedent(text) + agents)
    return path


def loaded(folder: Path, text: str, *, agents: str = AGENTS, **environment: str) -> LoadedConfig:
    return load_config(written(folder, text, agents=agents), environment=environment)


def refused(folder: Path, text: str, *, agents: str = AGENTS, **environment: str) -> str:
    """What is said of a file, without the folder's name."""
    with pytest.raises(ConfigurationError) as error:
        loaded(folder, text, agents=agents, **environment).bridge()
    return str(error.value).replace(f"{folder}/", "")
