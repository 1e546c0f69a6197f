"""A checkout of AG-UI's repository, made into the dojo's pages: its Next app, for one server.

What is made stands in the folder `.bridge` of the checkout; the checkout itself is left as it is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["NEEDED", "Site", "expect_checkout", "prepared"]

_HERE: Final = Path(__file__).parent
NEEDED: Final = (
    "apps/dojo/package.json",
    "apps/dojo/src/agents.ts",
    "apps/dojo/e2e/aimock-standalone.ts",
    "apps/dojo/e2e/tests",
    "integrations/langgraph/python/examples",
)
_LEFT_OUT: Final = (
    *("@ag-ui/", "@mastra/", "mastra", "@a2a-js/", "@ai-sdk/", "@anthropic-ai/", "@langchain/"),
    *("@shadcn/ui", "concurrently", "eslint", "wait-port"),
)
"""Beginnings of packages that only other integrations, or nothing, need here."""
_ADDED: Final = {
    "@ag-ui/a2ui-middleware": "0.0.10",
    "@ag-ui/client": "0.0.58",
    "@ag-ui/core": "0.0.58",
    "@ag-ui/encoder": "0.0.58",
    "@ag-ui/proto": "0.0.58",
    "@ag-ui/langgraph": "0.0.43",
    "@playwright/test": "^1.43.1",
    "hono": "4.12.27",
    "react": "19.2.1",
    "react-dom": "19.2.1",
    "server-only": "^0.0.1",
    "zod": "3.25.76",
}
"""Those of the repository's own workspace come from npm, and some in one version only."""
_ONE_VERSION: Final = (
    *("@ag-ui/client", "@ag-ui/core", "@ag-ui/encoder", "@ag-ui/proto"),
    *("hono", "react", "react-dom", "zod"),
)
_LOCKS: Final = ("package-lock.json", "pnpm-lock.yaml", "pnpm-workspace.yaml")
_PATCH: Final = "patches/@copilotkit__aimock@1.37.4.patch"


@dataclass(frozen=True)
class Site:
    """The dojo's pages, built.

    Attributes:
        checkout: of AG-UI's repository.
        folder: of the Next app; the specs are in its `e2e`.
    """

    checkout: Path
    folder: Path


def expect_checkout(given: str) -> Path:
    """The folder of a checkout that has all that is needed.

    Raises:
        SystemExit: it, or this machine, lacks something; says what.
    """
    checkout = Path(given).resolve()
    lacking = [name for name in NEEDED if not (checkout / name).exists()]
    if not given or lacking:
        told = f"{checkout} lacks {', '.join(lacking)}" if given else "no folder is named"
        raise SystemExit(
            f"dojo: {told}. DOJO=FOLDER should name a checkout of "
            "github.com/ag-ui-protocol/ag-ui, with apps/dojo and integrations."
        )
    for command in ("node", "npm", "npx", "patch"):
        if shutil.which(command) is None:
            raise SystemExit(f"dojo: {command} is not installed (Node.js 20.19 or later, patch).")
    return checkout


def prepared(checkout: Path) -> Site:
    """The pages of a checkout, built once.

    Raises:
        SystemExit: they can't be built; says where the log is.
    """
    site = Site(checkout, checkout / ".bridge" / "site")
    if not (site.folder / ".next" / "BUILD_ID").exists():
        _copy(site)
        _build(site)
    shutil.copy(_HERE / "playwright.config.ts", site.folder / "e2e")
    return site


def _copy(site: Site) -> None:
    shutil.rmtree(site.folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("node_modules", ".next", "mastra", *_LOCKS)
    shutil.copytree(site.checkout / "apps" / "dojo", site.folder, ignore=left_out)
    shutil.copy(_HERE / "agents.ts", site.folder / "src" / "agents.ts")
    # The specs find their packages above them.
    (site.folder / "e2e" / "package.json").write_text('{"type": "module"}')
    (site.folder / "src" / "files.json").write_text("{}")
    _write_json(site.folder / "package.json", _package)
    _write_json(site.folder / "tsconfig.json", _own_paths)
    layout = site.folder / "src" / "app" / "layout.tsx"
    layout.write_text(_without_fonts(layout.read_text()))
    config = site.folder / "next.config.ts"
    # Its own repository checks the types, against packages that are not here.
    unchecked = "const nextConfig: NextConfig = {\n  typescript: { ignoreBuildErrors: true },"
    config.write_text(config.read_text().replace("const nextConfig: NextConfig = {", unchecked))


def _build(site: Site) -> None:
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--silent")
    print("dojo: installing what its pages need, then building them: ten minutes", flush=True)
    _run("npm", "install", *quiet, within=site.folder)
    patch = site.checkout / _PATCH
    if patch.exists():
        aimock = site.folder / "node_modules" / "@copilotkit" / "aimock"
        _run("patch", "-p1", "-s", "-i", str(patch.resolve()), within=aimock)
    _run("npx", "next", "build", within=site.folder)


def _run(*command: str, within: Path) -> None:
    log = within.parent if within.name == "site" else within
    done = subprocess.run(
        ["nice", "-n", "10", *command], cwd=within, capture_output=True, text=True, check=False
    )
    if done.returncode:
        (log / "dojo.log").write_text(done.stdout + done.stderr)
        raise SystemExit(f"dojo: {' '.join(command[:3])} failed: see {log / 'dojo.log'}.")


# --- what is changed of its files ------------------------------------------------------------


def _write_json(path: Path, change: Any) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text())), indent=2))


def _package(found: dict[str, Any]) -> dict[str, Any]:
    def needed(packages: dict[str, str]) -> dict[str, str]:
        return {name: one for name, one in packages.items() if not name.startswith(_LEFT_OUT)}

    return {
        "name": "dojo-of-the-bridge",
        "private": True,
        "dependencies": {**needed(found["dependencies"]), **_ADDED},
        "devDependencies": needed(found["devDependencies"]),
        "overrides": {
            **{name: f"${name}" for name in _ONE_VERSION},
            "langium": "3.2.0",
            "@copilotkit/runtime": {"@ag-ui/a2ui-middleware": "0.0.8"},
        },
    }


def _own_paths(found: dict[str, Any]) -> dict[str, Any]:
    found["compilerOptions"]["paths"] = {"@/*": ["./src/*"]}
    return found


def _without_fonts(layout: str) -> str:
    """The page's frame without fonts that its build would fetch from elsewhere."""
    layout = re.sub(r"import \{[^}]*\} from \"next/font/google\";\n", "", layout)
    layout = re.sub(r"const geist\w+ = .*?\}\);\n", "", layout, flags=re.DOTALL)
    return re.sub(r"className=\{`\$\{geist[^`]*`\}", 'className="antialiased"', layout)


if __name__ == "__main__":
    expect_checkout(" ".join(sys.argv[1:]))
