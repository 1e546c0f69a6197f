"""The cards mark in a text what the inbox, the channels and the terminal mark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from agui_bridge.protocol.previews import CommandPreview, DiffPreview, Preview
from agui_bridge.text.shown import shown_preview
from agui_bridge.text.visible import visible, visible_json, visible_name
from tests.e2e.browser.site import CARDS
from tests.text.reading import logical
from tests.text.texts import HIDING, HONEST, NAMES

PROGRAM = """
const {visible, visibleName, visibleJson} = require(process.argv[1]);
const {readFileSync} = require("fs");
const {texts, names, last} = JSON.parse(readFileSync(0, "utf8"));
const marked = [];
for (let code = 0; code <= last; code++) {
  const character = String.fromCodePoint(code);
  if (visible(`a${character}b`) !== `a${character}b`) marked.push(code);
}
console.log(JSON.stringify({
  texts: texts.map((text) => visible(text)),
  json: texts.map((text) => visibleJson({text})),
  names: names.map(visibleName),
  marked,
}));
"""


def test_python_and_typescript_mark_the_same(tmp_path: Path) -> None:
    made = tmp_path / "visible.cjs"
    make = ["node_modules/.bin/rolldown", "src/visible.ts", "--format=cjs", f"--file={made}"]
    subprocess.run(make, cwd=CARDS, check=True, capture_output=True)
    texts = [*(text for text, _ in HIDING.values()), *HONEST.values(), *NAMES]
    given = {"texts": texts, "names": [*NAMES], "last": sys.maxunicode}
    node = ["node", "-e", PROGRAM, str(made)]
    run = subprocess.run(
        node, input=json.dumps(given), cwd=CARDS, check=True, capture_output=True, text=True
    )
    told = json.loads(run.stdout)
    assert told["texts"] == [visible(text) for text in texts]
    assert [json.loads(each)["text"] for each in told["json"]] == texts
    assert told["json"] == [visible_json({"text": text}).replace('": ', '":') for text in texts]
    # A page shows the end of a line in a name as a space.
    assert [" ".join(name.split()) for name in told["names"]] == [visible_name(n) for n in NAMES]
    ours = [code for code in range(sys.maxunicode + 1) if _marked(chr(code))]
    assert told["marked"] == ours


def test_python_and_typescript_show_a_preview_alike(tmp_path: Path) -> None:
    made = tmp_path / "preview.cjs"
    make = ["node_modules/.bin/rolldown", "src/preview.ts", "--format=cjs", f"--file={made}"]
    subprocess.run(make, cwd=CARDS, check=True, capture_output=True)
    odd = [*(text for text, _ in HIDING.values()), *HONEST.values(), "a \t", "→\tx", "-- a", " "]
    lines = [line for text in odd for line in text.split("\n")]
    previews: list[Preview] = [
        DiffPreview.of("a b ", "\n".join(lines), "\n".join(reversed(lines))),
        DiffPreview.of('"x', None, "\n".join(lines)),
        DiffPreview(["x", "y\n"], ""),
        *(CommandPreview(text, "/srv ") for text in odd),
    ]
    program = """
const {previewLines} = require(process.argv[1]);
const told = JSON.parse(require("fs").readFileSync(0, "utf8"));
const texts = (one) => previewLines(one).map(([, sign, text]) => sign + text);
console.log(JSON.stringify(told.map(texts)));
"""
    run = subprocess.run(
        ["node", "-e", program, str(made)],
        input=json.dumps([one.to_json() for one in previews]),
        cwd=CARDS,
        check=True,
        capture_output=True,
        text=True,
    )
    wanted = [logical(shown_preview(one)).split("\n") for one in previews]
    assert json.loads(run.stdout) == wanted


def _marked(character: str) -> bool:
    return visible(f"a{character}b") != f"a{character}b"
