"""Kubernetes manifests and the Helm chart: rendered, held to Kubernetes' schemas, and in step."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

import pytest
import yaml

from tests.support.target import ROOT

FOLDER = ROOT / "examples" / "deployment"
PLAIN = FOLDER / "kubernetes"
VERSIONS: Final = ("1.25", "1.37")
"""The oldest that the chart names, and the newest of which the schemas are known."""

RENDER: Final = """
import json, sys
import helm_python

folder, values = sys.argv[1], json.loads(sys.argv[2])
with helm_python.Chart.load(folder) as chart:
    chart.validate_schema(values)
    rendered = chart.render(values, name="mail", namespace="agents")
print(json.dumps({"lint": helm_python.lint(folder, values, strict=True), "files": rendered}))
"""

Document = dict[str, Any]

pytestmark = [pytest.mark.soak]


def plain() -> list[Document]:
    """The manifests that the kustomization names, in its order."""
    kustomization = yaml.safe_load((PLAIN / "kustomization.yaml").read_text())
    assert set(kustomization["resources"]) == {p.name for p in PLAIN.iterdir()} - {
        "kustomization.yaml"
    }
    return [yaml.safe_load((PLAIN / name).read_text()) for name in kustomization["resources"]]


def helm(values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Render the chart by Helm's own library, in a process of its own: it brings Go's runtime."""
    if platform.machine() != "x86_64":
        pytest.skip("only on x86-64 there is a build of Helm's library")
    command = [sys.executable, "-c", RENDER, str(FOLDER / "helm"), json.dumps(values or {})]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def chart(values: Mapping[str, Any] | None = None) -> list[Document]:
    """What the chart makes, after Helm has found no fault in it."""
    done = helm(values)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert not told["lint"].get("errors"), told["lint"]
    texts = told["files"].values()
    return [each for text in texts for each in yaml.safe_load_all(text) if each]


def of_kind(documents: list[Document], kind: str) -> Document:
    (found,) = [each for each in documents if each["kind"] == kind]
    return found


def seconds_to_end(documents: list[Document]) -> tuple[int, int]:
    """What Kubernetes waits before SIGKILL, and for what of it the preStop hook sleeps."""
    pod = of_kind(documents, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    _, pause = container["lifecycle"]["preStop"]["exec"]["command"]
    return pod["terminationGracePeriodSeconds"], int(pause)


CONFIG = (FOLDER / "bridge.yaml").read_text()
CHARTS: dict[str, Mapping[str, Any]] = {
    "as it is": {},
    "with a file": {"config": CONFIG},
    "small": {"replicas": 1, "migrate": False, "metrics": {"enabled": False}},
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["manifests", *CHARTS])
def test_kubernetes_takes_each_document(name: str, version: str) -> None:
    import kubernetes_validate

    documents = plain() if name == "manifests" else chart(CHARTS[name])
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)
    assert of_kind(documents, "Deployment")["spec"]["replicas"] == (1 if name == "small" else 2)
    kinds = {document["kind"] for document in documents}
    assert ("Job" in kinds) == ("PodDisruptionBudget" in kinds) == (name != "small")
    assert ("ConfigMap" in kinds) == (name == "with a file")


@pytest.mark.parametrize("documents", [plain, chart], ids=["manifests", "chart"])
def test_a_pod_gets_more_time_to_end_than_the_server_takes(documents: Any) -> None:
    wait, pause = seconds_to_end(documents())
    settings = yaml.safe_load(CONFIG)["settings"]
    # cancel_grace is 5 by default, and a flush takes 5 at most.
    assert wait >= pause + settings["shutdown_grace"] + 2 * 5 + 5
    assert pause > 0


def test_another_grace_makes_another_wait() -> None:
    drain = {"preStop": 1, "shutdownGrace": 60, "cancelGrace": 7}
    assert seconds_to_end(chart({"drain": drain})) == (1 + 60 + 14 + 10, 1)


@pytest.mark.parametrize("documents", [plain, chart], ids=["manifests", "chart"])
def test_the_documents_fit_together(documents: Any) -> None:
    found: list[Document] = documents()
    deployment = of_kind(found, "Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    selectors = [
        deployment["selector"]["matchLabels"],
        of_kind(found, "Service")["spec"]["selector"],
        of_kind(found, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        of_kind(found, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    job = of_kind(found, "Job")["spec"]["template"]["metadata"]["labels"]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not selector.items() <= job.items(), "a migration is no server"
    (container,) = deployment["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["http"] == yaml.safe_load(CONFIG)["server"]["port"]
    probes = {
        kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")
    }
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    # Secrets are named, and stand nowhere.
    text = json.dumps(found)
    assert "secretRef" in text and "BRIDGE_TOKEN" not in text and "postgresql://" not in text


def test_the_chart_is_of_the_version_and_makes_what_the_manifests_are() -> None:
    from agui_bridge import __version__

    about = yaml.safe_load((FOLDER / "helm" / "Chart.yaml").read_text())
    assert about["appVersion"] == __version__
    ours, theirs = (
        of_kind(each, "Deployment")["spec"]["template"]["spec"]["containers"][0]
        for each in (plain(), chart())
    )
    assert ours["image"] == f"agui-bridge:{__version__}"
    for key in (
        "image",
        "args",
        "ports",
        "envFrom",
        "livenessProbe",
        "readinessProbe",
        "lifecycle",
        "securityContext",
        "resources",
    ):
        assert ours[key] == theirs[key], key


@pytest.mark.parametrize(
    "wrong",
    [{"replicas": 0}, {"secret": ""}, {"drain": {"preStop": "5s"}}, {"replica": 2}],
    ids=str,
)
def test_helm_refuses_wrong_values(wrong: Mapping[str, Any]) -> None:
    done = helm(wrong)
    assert done.returncode != 0
    assert next(iter(wrong)) in done.stderr
