"""Whether this tree can be released: what is a placeholder until then, is none any more.

Run by docs/releasing.md, and with the tag by the workflow of releases:

    python .ci/release_ready.py [vX.Y.Z]
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def missing(root: Path) -> Iterator[str]:
    """What stands between this tree and a release, a sentence each."""
    if (
        "urls"
        not in tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ):
        yield "pyproject.toml has no [project.urls]."
    dated = rf"^## \[{re.escape(version_of(root))}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(dated, (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        yield "CHANGELOG.md has no section of this version with its date."
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        if re.search(r'PATH/TO/CHECKOUT|pip install "?\.', page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(root)} installs from a checkout: name agui-bridge there."


def version_of(root: Path) -> str:
    """The version of the tree."""
    text = (root / "agui_bridge" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    found = list(missing(ROOT))
    found += [
        f"The tag {tag} is not that of version {version_of(ROOT)}."
        for tag in sys.argv[1:]
        if tag != f"v{version_of(ROOT)}"
    ]
    print("\n".join(found) or "release: nothing is missing")
    sys.exit(bool(found))
