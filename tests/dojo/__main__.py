"""Run the dojo's own specs against its example agents behind the bridge: `make dojo DOJO=FOLDER`.

`python -m tests.dojo FOLDER [FRAMEWORK …] [--official] [--grep WORDS] [--without WORDS]` exits with
1 when a test fails; with `--compare` it runs no specs, and prints how the streams of both servers
differ. Logs and reports stand in FOLDER/.bridge.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from tests.dojo.checkout import Site, expect_checkout, prepared
from tests.dojo.compare import compared, summary
from tests.dojo.examples import FRAMEWORKS, features
from tests.dojo.processes import Processes, Side
from tests.dojo.specs import FOLDERS, Result, ported, results, table

__all__ = ["main"]


def main() -> int:
    """Run what the command line names; see the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.dojo")
    parser.add_argument("checkout", help="of github.com/ag-ui-protocol/ag-ui")
    parser.add_argument("frameworks", nargs="*", help="all by default")
    parser.add_argument("--official", action="store_true", help="behind the frameworks' servers")
    parser.add_argument("--compare", action="store_true", help="compare streams; run no specs")
    parser.add_argument("--grep", default="", help="only tests whose titles match")
    parser.add_argument("--without", default="", help="no tests whose titles match")
    given = parser.parse_args()
    if unknown := {*given.frameworks} - {*FRAMEWORKS}:
        raise SystemExit(f"dojo: {min(unknown)!r} is none of {', '.join(FRAMEWORKS)}.")
    chosen = tuple(given.frameworks) or tuple(FRAMEWORKS)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("dojo: Chromium is not installed; or name a browser in CHROMIUM.")
    os.environ["CHROMIUM"] = chromium
    site = prepared(expect_checkout(given.checkout))
    if given.compare:
        agents = [(f"{one}-{feature}", feature) for one in chosen for feature in features(one)]
        with Processes(site, chosen) as processes:
            official, bridge = processes.server("official"), processes.server("bridge")
            print(summary(compared(official, bridge, agents)))
        return 0
    found = _specs(site, chosen, "official" if given.official else "bridge", _options(given))
    print(table(found))
    return int(any(one.status == "failed" for tests in found.values() for one in tests))


def _options(given: argparse.Namespace) -> list[str]:
    """Playwright's options for which tests are run."""
    chosen = {"--grep": given.grep, "--grep-invert": given.without}
    return [part for name, words in chosen.items() if words for part in (name, words)]


def _specs(
    site: Site, frameworks: tuple[str, ...], side: Side, options: list[str]
) -> dict[str, list[Result]]:
    found = {}
    with Processes(site, frameworks) as processes:
        pages = processes.pages(side)
        for framework in frameworks:
            folders = [FOLDERS[framework]]
            if framework == "agent-framework":
                folders.append(ported(processes.e2e))
            for folder in folders:
                print(f"dojo: {folder}", flush=True)
                report = site.folder.parent / f"{side}-{folder}.json"
                processes.specs(pages, folder, options, report)
                found[folder] = results(report)
    return found


if __name__ == "__main__":
    sys.exit(main())
