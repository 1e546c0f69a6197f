"""What the cards' README prints works as it is printed, with the package as npm packs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.cards import button, field, has_focus, payload
from tests.e2e.browser.conftest import OpenCase
from tests.e2e.browser.site import CARDS, run_script, served

WAITING: Final = """
import { Waiting } from "./waiting";
import { createRoot } from "react-dom/client";
import { type Answer, type Interrupt } from "@agui-bridge/react-cards";
import { StrictMode, useState } from "react";
import { OwnQuestions } from "./own";

const asked: Interrupt[] = [
  {
    id: "one",
    reason: "input_required",
    message: "Which year?",
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
    responseSchema: {
      type: "object",
      required: ["year"],
      properties: { year: { type: "integer" } },
    },
  },
];

function Page() {
  const [asks, setAsks] = useState(asked);
  const [sent, setSent] = useState<Answer[][]>([]);
  const send = async (answers: Answer[]) => {
    setSent((before) => [...before, answers]);
    if (!sent.length) throw new Error("Try again.");
    setAsks([]);
  };
  const own = new URLSearchParams(location.search).get("case") === "own";
  return (
    <main>
      <h1>Read me</h1>
      {own && <OwnQuestions interrupts={asks} send={send} />}
      {!own && <Waiting interrupts={asks} submit={send} />}
      <pre data-testid="sent">{JSON.stringify(sent)}</pre>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(<StrictMode><Page /></StrictMode>);
"""
HTML: Final = """<!doctype html>
<html lang="en">
  <head><link rel="icon" href="data:," /><title>Read me</title></head>
  <body><div id="root"></div><script type="module" src="./main.tsx"></script></body>
</html>
"""
STRICT: Final = {
    "target": "ES2022",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "module": "ESNext",
    "moduleResolution": "bundler",
    "jsx": "react-jsx",
    "types": ["vite/client"],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "noEmit": True,
}


def install(folder: Path) -> None:
    """Put the package where npm would, as it packs it, and beside it what it is built with."""
    run_script(CARDS, "build")
    run_script(CARDS, "types")
    pack = ["npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", str(folder)]
    subprocess.run(pack, cwd=CARDS, check=True, stdout=subprocess.DEVNULL)
    modules = folder / "node_modules"
    modules.mkdir()
    for found in (CARDS / "node_modules").iterdir():
        (modules / found.name).symlink_to(found)
    place = modules / "@agui-bridge" / "react-cards"
    [archive] = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    place.parent.mkdir()
    (folder / "package").rename(place)


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with what the README prints."""
    folder = tmp_path_factory.mktemp("readme")
    install(folder)
    readme = (CARDS / "README.md").read_text(encoding="utf-8")
    waiting, own = re.findall(r"```tsx\n(.*?)```", readme, re.DOTALL)
    (folder / "waiting.tsx").write_text(waiting, encoding="utf-8")
    (folder / "own.tsx").write_text(own, encoding="utf-8")
    (folder / "main.tsx").write_text(WAITING, encoding="utf-8")
    (folder / "index.html").write_text(HTML, encoding="utf-8")
    settings = {"compilerOptions": STRICT, "include": ["*.tsx"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    for command in (["tsc"], ["vite", "build", "--outDir", "site", "--logLevel", "warn"]):
        binary = CARDS / "node_modules" / ".bin" / command[0]
        done = subprocess.run(
            [binary, *command[1:]], cwd=folder, env={**os.environ}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with served(folder / "site") as address:
        yield address


def test_the_hooks_alone_make_cards_of_ones_own(open_case: OpenCase) -> None:
    page = open_case("own")
    has_focus(page, "Which year?")
    expect(page.locator("[data-agc-live]")).to_have_text("Which year?")
    expect(page.get_by_role("timer")).to_contain_text("seconds left")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    has_focus(page, "Year")
    page.keyboard.type("soon")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Year must be a number.")).to_be_visible()
    has_focus(page, "Year")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2026")
    assert axe_faults(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Try again.")
    page.get_by_role("button", name="Answer Which year?").click()
    page.keyboard.type("2027")
    page.keyboard.press("Enter")
    assert payload(page, times=2) == {"year": 2027}


@pytest.fixture
def bridge(window: BrowserContext) -> Iterator[None]:
    """What is at the address that the README has: a bridge whose clock is five minutes behind."""
    record = {"id": "one", "status": "open", "mayAnswer": True, "approval": {"approvers": ["bob"]}}

    def answer(route: Route) -> None:
        behind = datetime.now(UTC) - timedelta(minutes=5)
        headers = {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Date",
            "Date": format_datetime(behind, usegmt=True),
        }
        route.fulfill(json={"interrupts": [record]}, headers=headers)

    address = re.compile(r"^https://agents\.example/agents/ops/threads/thread-1/interrupts$")
    window.route(address, answer)
    yield
    window.unroute(address)


@pytest.mark.usefixtures("bridge")
def test_the_first_lines_show_the_cards_and_the_time_is_the_bridges(open_case: OpenCase) -> None:
    page = open_case("waiting")
    expect(page.get_by_text("May answer: bob.")).to_be_visible()
    expect(page.get_by_role("timer")).to_contain_text(re.compile(r"^(5 min|6 min [0-5] s)"))
    field(page, "Year").fill("2026")
    button(page, "Send").click()
    expect(page.get_by_role("alert")).to_have_text("Try again.")
    field(page, "Year").fill("2027")
    button(page, "Send").click()
    assert payload(page, times=2) == {"year": 2027}


UNSEEN = """
let ticks = [];
window.looks = 0;
window.tick = () => ticks.forEach(call => call?.());
window.setInterval = call => ticks.push(call);
window.clearInterval = id => { ticks[id - 1] = undefined };
window.fetch = async () => {
  looks += 1;
  return new Response('{"interrupts": []}');
};
window.see = hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
};
see(true);
"""
"""Time goes on by `tick()` alone, and `see()` says whether the page is hidden."""


def test_a_page_that_nobody_sees_looks_for_nothing_until_it_is_seen(
    window: BrowserContext, gallery: str
) -> None:
    page = window.new_page()
    page.add_init_script(UNSEEN)
    page.goto(f"{gallery}?case=waiting")
    expect(page.get_by_role("article")).to_be_visible()
    page.evaluate("tick()")
    assert page.evaluate("looks") == 0
    page.evaluate("see(false)")
    assert page.evaluate("looks") == 1
    page.evaluate("tick()")
    assert page.evaluate("looks") == 2
    page.evaluate("see(true); tick()")
    assert page.evaluate("looks") == 2
    page.close()
