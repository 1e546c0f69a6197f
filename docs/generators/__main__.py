"""Write every generated file, or say which are stale: `python -m docs.generators [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.generators.adapter_checks import checks_page
from docs.generators.architecture import architecture_page, picture_of_the_house
from docs.generators.configuration import configuration_page
from docs.generators.conformance import conformance_page
from docs.generators.errors import errors_page
from docs.generators.faults import faults_page
from docs.generators.frameworks import frameworks_page
from docs.generators.life import picture_of_a_life
from docs.generators.limits import security_page
from docs.generators.observability import observability_page
from docs.generators.picture import picture_of_a_run
from docs.generators.public import public_page
from docs.generators.reference import reference_page

FOLDER = Path(__file__).parent.parent


def pages() -> dict[Path, str]:
    """What each generated file should hold."""
    observability = FOLDER / "observability.md"
    return {
        FOLDER / "adapter-checks.md": checks_page(),
        FOLDER / "architecture.md": architecture_page(FOLDER / "architecture.md"),
        FOLDER / "architecture.svg": picture_of_the_house(),
        FOLDER / "configuration.md": configuration_page(FOLDER / "configuration.md"),
        FOLDER / "conformance.md": conformance_page(FOLDER / "conformance.md"),
        FOLDER / "errors.md": errors_page(),
        FOLDER / "faults.md": faults_page(FOLDER / "faults.md"),
        FOLDER / "frameworks.md": frameworks_page(FOLDER, FOLDER.parent),
        observability: observability_page(observability.read_text(encoding="utf-8")),
        FOLDER / "public.md": public_page(),
        FOLDER / "reference.md": reference_page(),
        FOLDER / "security.md": security_page(FOLDER / "security.md"),
        FOLDER / "life-of-a-question.svg": picture_of_a_life(),
        FOLDER / "run-with-interrupt.svg": picture_of_a_run(),
    }


def main() -> None:
    """Write the files; with `--check` only compare, and exit with 1 when one is stale."""
    check = sys.argv[1:] == ["--check"]
    stale = {
        path: text
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(FOLDER.parent)}: {'stale' if check else 'written'}")
    sys.exit(bool(check and stale))


if __name__ == "__main__":
    main()
