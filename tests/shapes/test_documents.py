"""The files in schemas/: up to date, valid, and understandable by themselves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from agui_bridge.documents.schemas import documents, write_documents
from agui_bridge.shapes.readable_schema import DIALECT, within

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "schemas"
# As they are kept: to make them anew takes a second of every worker, and one of the tests does.
SCHEMAS: Final = {
    path.name: json.loads(path.read_text())
    for path in sorted(FOLDER.glob("*.json"))
    if path.name != "openapi.json"
}


def test_the_files_are_those_that_the_code_makes_now(tmp_path: Path) -> None:
    write_documents(tmp_path)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in FOLDER.glob("*.json")}

    stale = [name for name in made | kept if made.get(name) != kept.get(name)]

    assert not stale, f"{stale} in schemas/ are out of date: run `make schemas`"


def test_the_command_writes_them_into_a_folder_that_it_makes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agui_bridge.documents.schemas", str(tmp_path / "new")]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert {Path(line).name for line in done.stdout.splitlines()} == set(documents())
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(documents())


def test_the_page_tells_of_every_file_and_its_snippet_runs(monkeypatch: Any) -> None:
    page = (FOLDER / "README.md").read_text()
    monkeypatch.chdir(ROOT)

    assert re.findall(r"^\| \[(.+?)\]\(\1\)", page, re.MULTILINE) == sorted(
        documents(), key=page.index
    )
    for snippet in re.findall(r"```python\n(.+?)```", page, re.DOTALL):
        exec(snippet, {})


def test_every_document_has_a_name_of_its_own() -> None:
    ids = {schema["$id"] for schema in SCHEMAS.values()}

    assert ids == {f"urn:agui-bridge:schema:{name.removesuffix('.json')}" for name in SCHEMAS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_document_is_a_valid_schema_that_refers_to_itself_alone(name: str) -> None:
    schema = SCHEMAS[name]

    Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == DIALECT
    wanted = {node["$ref"] for node in within(schema) if isinstance(node.get("$ref"), str)}
    assert wanted <= {f"#/$defs/{key}" for key in schema.get("$defs", {})}


@pytest.mark.parametrize("name", SCHEMAS)
def test_whatever_has_a_name_has_a_title_and_a_description(name: str) -> None:
    schema = SCHEMAS[name]
    named = {"": schema, **schema.get("$defs", {})}
    for node in within({key: value for key, value in schema.items() if key != "examples"}):
        members = node.get("properties")
        if isinstance(members, dict) and "type" in node:
            named |= {f"{node.get('title', '')}.{key}": value for key, value in members.items()}

    # What only refers to a definition is told of there.
    told = {
        key: node
        for key, node in named.items()
        if not any("$ref" in choice for choice in [node, *node.get("anyOf", ())])
    }
    lacking = [key for key, node in told.items() if not {"title", "description"} <= set(node)]

    assert lacking == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_its_examples_are_examples(name: str) -> None:
    for example in SCHEMAS[name].get("examples", ()):
        Draft202012Validator(SCHEMAS[name]).validate(example)


def test_a_file_is_the_same_whatever_the_order_of_hashes() -> None:
    command = (
        "import json; from agui_bridge.documents.schemas import documents as made; "
        "print(json.dumps(made()))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", command],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert printed == {json.dumps(documents()) + "\n"}
