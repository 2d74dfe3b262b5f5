"""Text made to break out of every export format, in every field of a result: no command runs, no raw line, no markup that is not well formed."""
# SPDX-License-Identifier: MIT

import json
import os
import re
import shutil
import xml.dom.minidom

from torture import Failure, write

WHAT = "injection through every field of a result into every export format"

# CANARY becomes the path of a file that no export may make.
PAYLOADS = [
    "\nsystem('touch CANARY')\n",
    "`touch CANARY`",
    "'.system('touch CANARY').'",
    '"; !touch CANARY\n',
    "\n!touch CANARY\n",
    "\\\n!touch CANARY\n",
    "'\nset output 'CANARY'\n",
    "@touch",
    "$(touch CANARY)",
    "\r!touch CANARY\r",
    "\u2028!touch CANARY\u2028",
    "\nEOD\n!touch CANARY\n",
    "\\write18{touch CANARY}",
    "\\immediate\\write18{touch CANARY}",
    "^^5cimmediate^^5cwrite18{touch CANARY}",
    "\\input{/etc/passwd}",
    "%\n\\input{/etc/passwd}",
    "</title><script>alert(1)</script>",
    "\x01\x02\x7f",
    "\u202e evil",
    "]]>",
    "=cmd|' /C calc'!A0",
    'a,b"c\nd',
    "\t",
    "\x1b]0;title\x07\x1b[2J",
    "a|b\n|c|",
    "<img src=x onerror=alert(1)>",
]
FIELDS = [
    "title",
    "label",
    "x",
    "y",
    "panel",
    "recipe",
    "sha256",
    "version",
    "commit",
    "dataset",
    "source",
    "claim",
    "verdict",
    "reason",
    "unit",
]
FORMATS = ["svg", "png", "pdf", "pgfplots", "pgfplots-axis", "latex", "markdown", "table", "csv", "tsv", "html"]


def document(field, text):
    """A small result in which one field is the payload."""
    value = dict.fromkeys(FIELDS, None)
    value.update(
        title="T",
        label="L",
        x="x",
        y="y",
        panel="p",
        recipe="n",
        sha256="a" * 64,
        version="1",
        commit="c",
        dataset="d",
        source="file",
        claim="c",
        verdict="holds",
        unit="s",
    )
    value[field] = text
    v = value
    return {
        "schema": "sparsebench/1",
        "status": "ok",
        "recipe": {"name": v["recipe"], "title": v["title"], "sha256": v["sha256"]},
        "program": {"version": v["version"], "commit": v["commit"]},
        "dataset": {"name": v["dataset"], "source": v["source"]},
        "units": {v["y"]: v["unit"]},
        "results": [
            {
                "label": v["label"],
                "method": v["label"],
                "baseline": False,
                "seeds": ["1"],
                "series": {v["x"]: [1, 2, 3], v["y"]: [1, 4, 9]},
                "final": {v["y"]: 9},
            }
        ],
        "plots": [{"x": v["x"], "y": v["y"], "title": v["panel"]}],
        "claims": [
            {
                "text": v["claim"],
                "verdict": v["verdict"],
                "reason": v["reason"],
                "seeds": [{"seed": "1", "value": 1, "bound": 2, "ratio": 0.5}],
            }
        ],
    }


def prepare(t):
    t.formats = FORMATS if shutil.which("rsvg-convert") else [f for f in FORMATS if f not in ("png", "pdf")]
    for form in t.formats:
        r = t.run(
            [t.program("sparseplot-export"), "-", f"--format={form}"], given=json.dumps(document("title", "T")).encode()
        )
        t.check(r.code == 0 and r.out, f"{form}: the harmless document is refused: {r.err[-300:]}")


def bad_line(form, out):
    """What must not stand in the output of this format."""
    for line in out.decode("utf8", "replace").replace("\r", "\n").split("\n"):
        bare = line.lstrip()
        if (
            form in ("latex", "pgfplots", "pgfplots-axis")
            and not bare.startswith("%")
            and any(s in line for s in ("\\write18", "\\input{/", "\\immediate"))
        ):
            return line
        if form in ("table", "markdown") and any(ord(c) < 32 and c != "\t" for c in line):
            return line
        if form == "markdown" and re.search(r"(?<!\\)<(script|img)", line):
            return line
    return None


def case(t):
    field, payload, form = t.rng.choice(FIELDS), t.rng.choice(PAYLOADS), t.rng.choice(t.formats)
    canary = os.path.join(t.folder, "canary")
    text = json.dumps(document(field, payload.replace("CANARY", canary)))
    write(os.path.join(t.folder, "result.json"), text)
    what = f"{form}: {field} = {payload!r}"
    r = t.run([t.program("sparseplot-export"), "result.json", f"--format={form}"], timeout=30)
    t.check(not os.path.exists(canary), f"{what}: a command ran")
    t.ended_well(r, what)
    if r.code != 0:
        t.note("refused")
        return
    word = max(re.findall(r"[a-z0-9]+", payload, re.I) or ["?"], key=len)
    t.note("shown" if word.encode() in r.out else "not shown")
    line = bad_line(form, r.out)
    t.check(line is None, f"{what}: the output has the line {line!r}")
    if form == "svg":
        try:
            xml.dom.minidom.parseString(r.out)
        except Exception as e:  # pylint: disable=broad-except
            t.check(False, f"{what}: no XML: {e}")
        t.check(b"<script" not in r.out, f"{what}: a script element")
    if form == "html":
        page = r.out.decode()
        for opened in re.findall(r"<[a-zA-Z!/][^>]*", page.split("<style>")[0] + page.split("</style>")[1].split("<script>")[0]):
            t.check(not re.match(r"<(img|script(?! type=.application/json. id=))", opened), f"{what}: the page has {opened!r}")
        for value in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
            json.loads(value)


def conclude(t):
    if t.tried >= 20 and not t.count.get("shown"):
        raise Failure("no payload came into any output")
