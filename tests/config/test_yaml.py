"""YAML that could surprise is refused; what may be read is bounded."""

from pathlib import Path

import pytest

from agui_bridge.config import load_config
from agui_bridge.errors import ConfigurationError
from agui_bridge.yaml_files.document import LARGEST_FILE
from tests.config.files import loaded, refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store: a\nstore: b\n", "bridge.yaml:2: the key 'store' stands here a second time."),
        ("server:\n  port: 1\n  port: 1\n", "bridge.yaml:3: the key 'port' stands here a second"),
        ("on: 1\n", "bridge.yaml:1: on: unknown key"),
        ("[a, b]: 1\n", "bridge.yaml:1: a key must be text."),
        ("a: [\n", "this is not valid YAML"),
        (
            "store: memory:\n",
            "Write text that has a colon at its end, or before a space, in quotes",
        ),
        ("a: !!python/object/apply:os.system [ls]\n", "bridge.yaml:1: "),
        ("a: !!python/name:os.system\n", "could not determine a constructor"),
        ("a: \x07\n", "not valid YAML"),
        ("a: 1\n---\nb: 1\n", "not valid YAML"),
        ("a: &x {<<: *x}\n", "nests"),
        ("a: &x [*x]\n", "nests deeper"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", "nests deeper than 30"),
        ("a: " + "[" * 5000 + "\n", "nests too deep"),
        ("a: {<<: 1}\n", "takes a mapping"),
    ],
)
def test_yaml_that_could_surprise_is_refused_with_its_line(
    folder: Path, text: str, said: str
) -> None:
    assert said in refused(folder, text, agents="")


def test_aliases_that_stand_for_too_much_are_refused(folder: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 20000 values" in refused(folder, "\n".join(lines) + "\n", agents="")


def test_merged_keys_that_stand_for_too_much_are_refused(folder: Path) -> None:
    lines = ["a0: &a0 {x: 1, y: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    assert "more than 20000 values" in refused(folder, "\n".join(lines) + "\n", agents="")


def test_an_anchor_can_be_shared_and_what_is_written_goes_before_what_is_merged(
    folder: Path,
) -> None:
    agents = """
agents:
  a: &shared {function: 'shop_for_config:orders', description: one, settings: {keep_alive: 1}}
  b: {description: two, <<: *shared}
"""
    bridge = loaded(folder, "", agents=agents).bridge()
    assert [(a.description, a.settings.keep_alive) for a in bridge.agents.values()] == [
        ("one", 1),
        ("two", 1),
    ]


def test_a_file_that_is_too_large_or_no_text_or_not_there_is_refused(folder: Path) -> None:
    path = folder / "bridge.yaml"
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(ConfigurationError, match="larger than"):
        load_config(path)
    path.write_bytes(b"store: \xff\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_config(path)
    with pytest.raises(ConfigurationError, match="There is no file"):
        load_config(folder / "other.yaml")
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_config(folder)
