"""The workflow of n8n in examples/n8n, which was run by hand: here it is only read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agui_bridge_webhook.told import told_in

ROOT = Path(__file__).parents[3]
WORKFLOW: dict[str, Any] = json.loads((ROOT / "examples/n8n/workflow.json").read_text())
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}


def test_every_node_is_reached_from_the_start() -> None:
    reached, left = set(), ["Start"]
    while left:
        name = left.pop()
        reached.add(name)
        for way in WORKFLOW["connections"].get(name, {}).get("main", ()):
            left += [link["node"] for link in way if link["node"] not in reached]
    assert reached == set(NODES)


def test_what_it_tells_is_what_the_adapter_reads() -> None:
    bodies = [
        one["value"]
        for node in NODES.values()
        if node["type"].endswith(".set")
        for one in node["parameters"]["assignments"]["assignments"]
        if one["name"] == "body"
    ]
    known = {"type", "id", "tool", "args", "message", "resumeUrl", "executionId", "toolResult"}
    for body in bodies:
        outer = re.sub(r"args: \{.*?\}", "args: 1", body.replace("$('Start').item.json", "x"))
        named = set(re.findall(r"[{,] (\w+):", outer))
        assert named <= known
        # With texts in place of n8n's expressions it is read.
        told = dict.fromkeys(named, "x") | {"type": re.findall(r"type: '(\w+)'", body)[0]}
        read = told_in({**told, "args": {}} if "args" in told else told)
        assert read.kind == told["type"]


def test_nothing_is_deployed_but_behind_the_answer_to_this_question() -> None:
    (asks,) = (n for n in NODES.values() if n["type"].endswith(".if"))
    left = [one["leftValue"] for one in asks["parameters"]["conditions"]["conditions"]]
    assert left == ["={{ $json.body.approved }}", "={{ $json.body.id }}"]
    before = [
        name
        for name, ways in WORKFLOW["connections"].items()
        if any(link["node"] == "Deploy" for way in ways["main"] for link in way)
    ]
    assert before == [asks["name"]]
    assert [link["node"] for link in WORKFLOW["connections"][asks["name"]]["main"][0]] == ["Deploy"]
