"""docs/prometheus.md and examples/deployment/monitoring: every name is that of a real scrape."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from agui_bridge.errors import CODES
from agui_bridge.otel.semantic_conventions import ATTRIBUTES, METRICS
from tests.otel.monitored import PATIENCE, monitored, names_of
from tests.support import unavailable
from tests.support.target import ROOT

DOCS = ROOT / "docs"
FOLDER = ROOT / "examples" / "deployment" / "monitoring"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0][
    "rules"
]
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
EXPRESSIONS = [rule["expr"] for rule in RULES] + [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
]
OF_PROMETHEUS: Final = {"up"}
UNSEEN: Final = {"agui_deliveries_total"}
"""Needs a channel; its name is made as that of every counter."""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]


def used() -> set[str]:
    """The names of series in all expressions."""
    words = {word for each in EXPRESSIONS for word in re.findall(r"\b(?:agui|process)_\w+", each)}
    return (words | OF_PROMETHEUS) - set(LABELS)


LABELS = {name.replace(".", "_") for name in ATTRIBUTES}


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a bridge gives that has asked, answered, refused, stopped, and found a lost run."""
    with monitored(tmp_path_factory.mktemp("monitored")) as bridge:
        bridge.send("mail", "mail", resume=[bridge.ask("mail", "mail")])
        bridge.send("mail", "mail", resume=[{"interruptId": "none", "status": "cancelled"}])
        bridge.http.get("/agents/nobody/threads")
        said = {"id": "u1", "role": "user", "content": "go"}
        body = {"threadId": "slow", "runId": "r", "protocolVersion": "1.0", "messages": [said]}
        with bridge.http.stream("POST", "/agents/slow", json=body) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if "TEXT_MESSAGE_CONTENT" in line)
            during = bridge.scrape()
            bridge.http.post("/agents/slow/threads/slow/stop", json={})
        deadline = time.monotonic() + PATIENCE
        while 'agui_interrupt_status="indeterminate"' not in (after := bridge.scrape()):
            assert time.monotonic() < deadline, "the lost run is not found"
            time.sleep(0.1)
        yield during + after


def test_every_name_of_the_rules_and_the_dashboard_is_scraped(scraped: str) -> None:
    assert used() - names_of(scraped) - OF_PROMETHEUS - UNSEEN == set()


def test_what_is_not_scraped_here_is_a_counter_of_the_table() -> None:
    counters = {n.replace(".", "_") + "_total" for n, m in METRICS.items() if m.kind == "counter"}

    assert counters >= UNSEEN


def test_the_labels_and_their_values_are_there() -> None:
    known = LABELS | {"job", "instance", "le"}
    values = {value for text in ATTRIBUTES.values() for value in re.findall(r"`(\w+)`", text)}
    values |= set(CODES) | {"agui-bridge", ""}
    for expression in EXPRESSIONS:
        pairs = re.findall(r'(\w+)!?="([^"]*)"', expression)
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        names = {label for label, _ in pairs} | {n.strip() for g in grouped for n in g.split(",")}
        assert names <= known, expression
        assert {value for _, value in pairs} <= values, expression


def test_the_page_shows_what_a_scrape_shows(scraped: str) -> None:
    page = (DOCS / "prometheus.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^agui_runs_total\{.*\} 1\.0$", page, re.MULTILINE)
    version = r'_version="[^"]+"'
    assert re.sub(version, "", shown) in re.sub(version, "", scraped)
    named = re.findall(r"`(agui_[a-z_]+)`", page)
    assert set(named) <= names_of(scraped)


def test_every_alert_has_a_row_and_a_section_of_the_runbook() -> None:
    page = (DOCS / "prometheus.md").read_text(encoding="utf-8")
    rows = dict(
        re.findall(r"^\| `(Agui\w+)` \|.*\]\((runbook\.md#[\w-]+)\) \|$", page, re.MULTILINE)
    )
    told = {r["alert"]: r["annotations"]["runbook"].removeprefix("docs/") for r in RULES}
    assert rows == told
    headings = re.findall(r"^## (.+)$", (DOCS / "runbook.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
    assert {place.partition("#")[2] for place in told.values()} <= anchors


def test_the_panels_have_places_and_names_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    places = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels}
    assert len(places) == len({p["id"] for p in panels}) == len({p["title"] for p in panels})
    assert len(places) == len(panels)


# --- as Prometheus reads them ---


def promtool(folder: Path, *arguments: str) -> str:
    """Run it; gives what it prints."""
    program = shutil.which("promtool")
    if program is None:
        unavailable("promtool", "install Prometheus, such as Debian's prometheus")
    done = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_takes_the_configuration_and_its_rules() -> None:
    assert f"{len(RULES)} rules found" in promtool(FOLDER, "check", "config", "prometheus.yml")


def test_promtool_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$__\w+", "5m", expression)}
        for number, expression in enumerate(EXPRESSIONS)
    ]
    (tmp_path / "all.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))

    assert f"{len(rules)} rules found" in promtool(tmp_path, "check", "rules", "all.yml")


FIRING = {
    "AguiReplicaDown": (
        'up{job="agui-bridge", instance="a"}',
        "0x20",
        {"instance": "a", "job": "agui-bridge"},
    ),
    "AguiRunsLost": (
        'agui_runs_lost_total{gen_ai_agent_name="mail"}',
        "_x10 1x10",
        {"gen_ai_agent_name": "mail"},
    ),
    "AguiOutcomeUnknown": (
        "agui_interrupts_closed_total"
        '{gen_ai_agent_name="mail", agui_interrupt_status="indeterminate"}',
        "_x10 1x10",
        {"gen_ai_agent_name": "mail"},
    ),
    "AguiNoticesDead": (
        'agui_deliveries_total{agui_channel="mails", agui_delivery_outcome="dead"}',
        "3x10 4x10",
        {"agui_channel": "mails"},
    ),
    "AguiStoreUnavailable": (
        'agui_http_refusals_total{error_type="STORE_UNAVAILABLE", instance="a"}',
        "0+1x20",
        {"instance": "a"},
    ),
}
"""A series, its values a minute apart, and the labels of the alert that it raises."""


@pytest.mark.parametrize("name", FIRING)
def test_an_alert_fires_also_where_its_counter_begins_at_one(name: str, tmp_path: Path) -> None:
    series, values, labels = FIRING[name]
    (rule,) = [rule for rule in RULES if rule["alert"] == name]
    summary = re.sub(
        r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], rule["annotations"]["summary"]
    )
    fired = {
        "exp_labels": {**labels, **rule["labels"]},
        "exp_annotations": {**rule["annotations"], "summary": summary},
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": series, "values": values}],
        "alert_rule_test": [{"eval_time": "15m", "alertname": name, "exp_alerts": [fired]}],
    }
    (tmp_path / "test.yml").write_text(
        yaml.safe_dump({"rule_files": [str(FOLDER / "alerts.yml")], "tests": [test]})
    )

    assert "SUCCESS" in promtool(tmp_path, "test", "rules", "test.yml")
