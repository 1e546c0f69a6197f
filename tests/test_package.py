"""What `pip install agui-bridge` gives, tried in an empty environment away from the checkout."""

import configparser
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import httpx
import pytest

import agui_bridge
from tests.cli.processes import Serving

ROOT = Path(__file__).parent.parent
MOST_PACKAGES = 25
"""In an empty environment, agui-bridge itself included and pip left out."""

MOST_MEGABYTES = 57
RUN_PATH = "/agents/greeter"
MODULE = """
from agui_bridge import Bridge

bridge = Bridge(store="memory:")

@bridge.agent("greeter")
async def greeter(run):
    yield "Hello from the wheel."
"""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Installed:
    """Both distributions, the environment the wheel is in, and an empty folder to work in."""

    sdist: Path
    wheel: Path
    scripts: Path
    folder: Path

    def run(self, *arguments: str) -> str:
        """What `agui-bridge ARGUMENTS` prints; fails unless it exits with 0 and is silent."""
        done = subprocess.run(
            [self.scripts / "agui-bridge", *arguments],
            cwd=self.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout


def clean_environment() -> dict[str, str]:
    """The environment without what could lead Python back to the checkout."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, made from the source distribution as a release is, and installed."""
    base = tmp_path_factory.mktemp("package")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(base), str(ROOT))
    (sdist,), (wheel,) = base.glob("*.tar.gz"), base.glob("*.whl")
    scripts = environment_with(base / "venv", str(wheel))
    folder = base / "work"
    folder.mkdir()
    (folder / "greetings.py").write_text(MODULE)
    return Installed(sdist, wheel, scripts, folder)


def environment_with(folder: Path, *arguments: str) -> Path:
    """An empty environment, in which pip installs what is said; gives the folder of its programs.

    It is the pip of the tests' own environment: to install one anew takes longer than all else.
    """
    venv.create(folder)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    call(
        *(sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "-qq"),
        *("-c", str(ROOT / "constraints.txt"), *arguments),
    )
    return scripts


def call(*command: str) -> None:
    done = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_the_wheel_holds_the_package_and_nothing_else(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    adapters = {path.name for path in ROOT.glob("adapters/agui_bridge_*")}
    metadata = f"agui_bridge-{agui_bridge.__version__}.dist-info"

    assert {name.partition("/")[0] for name in names} == {"agui_bridge", metadata, *adapters}
    assert {f"{name}/py.typed" for name in ("agui_bridge", *adapters)} <= {*names}
    assert not [name for name in names if "__pycache__" in name]


def test_wheel_and_source_distribution_hold_the_migrations(installed: Installed) -> None:
    folder = "agui_bridge/stores/sql/migrations"
    ours = {f"{folder}/{path.name}" for path in (ROOT / folder).iterdir()}
    with tarfile.open(installed.sdist) as sdist:
        sources = {name.partition("/")[2] for name in sdist.getnames()}

    assert f"{folder}/0001_tables.sql" in ours
    assert ours <= set(zipfile.ZipFile(installed.wheel).namelist())
    assert ours <= sources


def test_an_index_takes_both_and_shows_no_link_that_leads_nowhere(installed: Installed) -> None:
    call(
        sys.executable,
        "-m",
        "twine",
        "check",
        "--strict",
        str(installed.sdist),
        str(installed.wheel),
    )
    with zipfile.ZipFile(installed.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        _, _, shown = wheel.read(name).decode().partition("\n\n")

    assert shown.startswith("# agui-bridge\n")
    assert "docs/pydantic-ai.md" in shown
    assert re.findall(r"\]\((?!https?:)[^)]*\)", shown) == []


def test_the_source_distribution_holds_the_pages_and_the_examples(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as sdist:
        sources = {name.partition("/")[2] for name in sdist.getnames()}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert pages <= sources
    assert {"examples/demo.py", "examples/copilotkit/package.json", "CONTRIBUTING.md"} <= sources
    assert [name for name in sources if re.search(r"node_modules|__pycache__|\.db$", name)] == []


def test_it_brings_no_more_than_a_bridge_on_sqlite_needs(installed: Installed) -> None:
    name = "Lib" if os.name == "nt" else f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = installed.scripts.parent / name / "site-packages"
    brought = [
        found
        for found in distributions(path=[str(folder)])
        if found.name not in ("pip", "setuptools")
    ]
    files = [Path(str(found.locate_file(file))) for found in brought for file in found.files or ()]
    # As much as it takes of a disk, whose blocks have 4 KiB.
    size = sum(-(-file.stat().st_size // 4096) * 4096 for file in files if file.exists())

    assert "agui-bridge" in {found.name for found in brought}
    assert len(brought) <= MOST_PACKAGES, sorted(found.name for found in brought)
    assert size / 2**20 <= MOST_MEGABYTES


def test_the_command_tells_its_version(installed: Installed) -> None:
    assert agui_bridge.__version__ in installed.run("--version").split()


def test_the_command_lists_every_adapter_of_the_wheel(installed: Installed) -> None:
    entry_points = configparser.ConfigParser()
    entry_points.optionxform = str  # type: ignore[assignment,method-assign]  # keep the case
    with zipfile.ZipFile(installed.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
        entry_points.read_string(wheel.read(name).decode())
    group = "agui_bridge.adapters"
    assert entry_points.has_section(group), f"the group {group} in pyproject.toml is empty"

    words = set(installed.run("adapters").split())

    assert set(entry_points[group]) <= words


def test_the_command_makes_the_tables_of_a_store_and_may_be_repeated(installed: Installed) -> None:
    installed.run("migrate", "--store", "sqlite:///x.db")
    installed.run("migrate", "--store", "sqlite:///x.db")

    with closing(sqlite3.connect(installed.folder / "x.db")) as database:
        query = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
        (tables,) = database.execute(query).fetchone()
    assert tables > 1, "no table but the version's own"


def test_the_command_serves_a_bridge_from_the_folder_it_is_called_in(installed: Installed) -> None:
    run_input = {
        "threadId": "t1",
        "runId": "r1",
        "state": {},
        "messages": [{"id": "m1", "role": "user", "content": "hi"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    with served(installed, "greetings:bridge") as client:
        assert client.get("/healthz").status_code == 200
        answer = client.post(RUN_PATH, json=run_input, headers={"Accept": "text/event-stream"})

    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert "Hello from the wheel." in "".join(event.get("delta", "") for event in events)


@contextmanager
def served(installed: Installed, target: str) -> Iterator[httpx.Client]:
    """A client of `agui-bridge serve TARGET`, which is stopped afterwards."""
    server = subprocess.Popen(
        [installed.scripts / "agui-bridge", "serve", target, "--port", "0"],
        cwd=installed.folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with server:
        try:
            url = Serving(server).url
            with httpx.Client(base_url=url, trust_env=False, timeout=20) as client:
                yield client
        finally:
            server.terminate()
