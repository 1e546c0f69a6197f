"""The page of FastAPI does what it says: its blocks, run as they stand."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from fastapi.testclient import TestClient

from agui_bridge import Bridge
from tests.docs.pages import ROOT, snippets_of

MOUNTED, SIGNED_IN, TESTED = (code for _, code in snippets_of(ROOT / "docs" / "fastapi.md"))


def test_the_app_that_is_mounted_documents_the_bridge_and_its_test_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = ModuleType("agents")
    vars(own)["bridge"] = Bridge("memory:")
    monkeypatch.setitem(sys.modules, "agents", own)
    names: dict[str, Any] = {}
    exec(compile(MOUNTED, "fastapi.md", "exec"), names)
    assert "/ai/agents" in names["app"].openapi()["paths"]
    exec(compile(TESTED, "fastapi.md", "exec"), names)


def test_who_is_not_signed_in_gets_a_401() -> None:
    names: dict[str, Any] = {}
    exec(compile(SIGNED_IN, "fastapi.md", "exec"), names)
    with TestClient(names["bridge"].app(), base_url="http://app.example") as client:
        assert client.get("/agents").status_code == 401
        names["SESSIONS"]["s"] = "ann"
        client.cookies.set("session", "s")
        assert client.get("/agents").json() == {"agents": []}
        assert client.get("/agents", headers={"Origin": "https://evil.example"}).status_code == 403
