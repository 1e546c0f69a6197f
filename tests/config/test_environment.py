"""Environment variables, in the file and beside it."""

from pathlib import Path
from typing import Any

import pytest

from agui_bridge.config import load_config, load_launch
from agui_bridge.config.load import VARIABLES
from agui_bridge.errors import ConfigurationError
from tests.config.files import SECRET, loaded, refused, written


def test_variables_are_filled_in_and_read_as_what_is_expected(folder: Path) -> None:
    text = """
        store: sqlite:///${NAME}-$${NAME}.db
        server: {port: "${PORT}", anonymous: "${ANON:-true}"}
        settings: {expires_in: "${NONE:-null}", pipe_events: "${COUNT:-7}"}
    """
    values = loaded(folder, text, NAME="12", PORT="9000", COUNT="").values

    assert values.store == "sqlite:///12-${NAME}.db"
    assert (values.server.port, values.server.anonymous) == (9000, True)
    assert values.settings.model_dump(exclude_unset=True) == {"expires_in": None, "pipe_events": 7}


def test_every_variable_that_is_not_set_is_told_at_once(folder: Path) -> None:
    said = refused(folder, "store: ${A}\ncors_origins: [x, '${B}']\n")
    assert said.splitlines() == [
        "bridge.yaml has 2 faults:",
        "  bridge.yaml:1: store: the environment variable A is not set. "
        "Set it, or give a default: ${A:-value}.",
        "  bridge.yaml:2: cors_origins.1: the environment variable B is not set. "
        "Set it, or give a default: ${B:-value}.",
    ]


def test_a_variable_that_is_missing_may_say_what_to_do(folder: Path) -> None:
    text = "store: ${A:?ask the platform team}\ncors_origins: ['${B:?}']\n"
    assert refused(folder, text, A="").splitlines() == [
        "bridge.yaml has 2 faults:",
        "  bridge.yaml:1: store: the environment variable A is empty: ask the platform team",
        "  bridge.yaml:2: cors_origins.0: the environment variable B is not set: Set it.",
    ]
    path = written(folder, text)
    values = load_config(path, environment={"A": "memory:", "B": "https://a.example"}).values
    assert (values.store, values.cors_origins) == ("memory:", ["https://a.example"])


@pytest.mark.parametrize("text", ["${", "${1}", "${A", "${A:x}", "${a b}"])
def test_a_reference_that_names_no_variable_is_refused(folder: Path, text: str) -> None:
    assert "write `$${`" in refused(folder, f"store: '{text}'\n", A="x")


def test_flags_go_before_the_environment_and_that_before_the_file(folder: Path) -> None:
    path = written(folder, 'server: {host: file, port: 1}\nstore: "memory:"\n')
    environment = {"AGUI_BRIDGE_HOST": "variable", "AGUI_BRIDGE_PORT": "2"}
    values = load_config(path, environment=environment, flags={("server", "port"): 3}).values

    assert (values.server.host, values.server.port, values.store) == ("variable", 3, "memory:")
    assert values.logging.format == "text"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_each_variable_replaces_the_value_that_it_is_for(folder: Path, variable: Any) -> None:
    sent, expected = {
        "port": ("81", 81),
        "anonymous": ("true", True),
        "format": ("json", "json"),
        "level": ("debug", "debug"),
        "allowed_hosts": ("a.example, b.example,", ["a.example", "b.example"]),
        "cors_origins": ("https://a.example", ["https://a.example"]),
    }.get(str(variable.path[-1]), ("text", "text"))
    found: Any = loaded(folder, "", **{variable.name: sent}).values
    for part in variable.path:
        found = getattr(found, part)
    assert found == expected


def test_a_variable_with_an_unfit_value_is_named_and_the_value_is_not(folder: Path) -> None:
    said = refused(folder, "", AGUI_BRIDGE_PORT=SECRET)
    assert said == "AGUI_BRIDGE_PORT: must be a whole number."
    with pytest.raises(ConfigurationError, match="AGUI_BRIDGE_LOG_LEVEL: must be one of 'debug'"):
        load_launch(environment={"AGUI_BRIDGE_LOG_LEVEL": "loud"})


def test_without_a_file_the_environment_says_where_to_listen() -> None:
    launch = load_launch(environment={"AGUI_BRIDGE_PORT": "0", "AGUI_BRIDGE_CORS_ORIGINS": "x"})
    assert (launch.server.port, launch.store) == (0, None)
