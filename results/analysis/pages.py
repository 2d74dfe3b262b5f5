"""Writes what documents quote of the published results: tables, and how many claims of each figure hold.

Usage: python3 results/analysis/pages.py [--check] [DOCUMENT...]

Run it after a result has changed (make pages). It renews three kinds of text in README.md and results/*.md, or in the
documents that are named: the rows after a line <!-- NAME -->, up to the next empty line; the table of figures in the same way; and
every paragraph that begins with **Verdicts.** and names results in backticks. results/analysis/pages.ini has the
tables. --check writes nothing, prints the first lines that differ and exits with 1 if any does. Python's standard
library is enough."""
# SPDX-License-Identifier: MIT
import argparse
import configparser
import difflib
import glob
import os
import posixpath
import re
import sys
import textwrap

import published

TOP = os.path.dirname(published.FOLDER)
BLOCK = re.compile(r"(?m)^(<!-- ([\w -]+) -->\n)((?:.+\n)*)")
VERDICTS = re.compile(r"(?m)^\*\*Verdicts\.\*\*(?: .*)\n(?:.+\n)*")
LINK = re.compile(r"\]\(([^):]+)\)")


def filled(template, result, **more):
    """A template with its expressions in braces replaced by what they are worth, as {percent("Top-k"):.1f}."""
    def worth(match):
        found = published.value(match.group(1), result, **more)
        return found if isinstance(found, str) else format(found, match.group(2) or "").replace("-", "−")
    return re.sub(r"\{([^{}]*?)(?::([.,\d]+[fd]?))?\}", worth, template)


def moved(text, folder):
    """Links that are written from results/, as they are from another folder."""
    return LINK.sub(lambda m: f"]({posixpath.relpath(posixpath.join('results', m.group(1)), folder or '.')})"
                    if not m.group(1).startswith("#") else m.group(0), text)


def table(head, rows, sides="l"):
    """A table of Markdown. The first column is words, and so are the others where sides is "l"."""
    lines = [f"| {' | '.join(head)} |", "|" + "|".join(["---"] + ["--:" if sides == "r" else "---"] * (len(head) - 1)) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def verdict(names):
    """What holds and what fails of results, each a link to its figure."""
    out = []
    for name in names:
        drawn = f"{name}.svg" if os.path.exists(os.path.join(published.FOLDER, f"{name}.svg")) else f"{name}.json"
        result = published.of(name)
        out.append(f"[{result.verdicts(bold=True, short=True)}]({drawn})" + (", descriptive" if result.descriptive() else ""))
    return "; ".join(out) or "printed"


def figures(pages, kind):
    """The table of all figures of a kind: the paper's, those beyond it, or the ten of README."""
    rows = []
    for section in pages.sections():
        if not section.startswith("figure "):
            continue
        name, s = section.split(" ", 1)[1], pages[section]
        names = s.get("results", name).split()
        here = filled(s["here"], published.of(names[0]) if names else None)
        said = verdict(names)
        if kind == "front" and "front" in s:
            rows.append([s["front"], s["paper"], here, said])
        elif kind == "paper" and "paper" in s:
            rows.append([s["what"], s["run"], s["paper"], here, said])
        elif kind == "beyond" and "paper" not in s:
            rows.append([s["what"], s["run"], here, said])
    return table({"front": ["figure", "paper", "here", "claims that hold"],
                  "paper": ["figure", "command, time", "paper", "here", "claims that hold"],
                  "beyond": ["figure", "command, time", "here", "claims that hold"]}[kind], rows)


def numbers(section):
    """A table of numbers of one result."""
    result = published.of(section["result"])
    rows = []
    each = result.best(section["best"]) if "best" in section else section.get("each", "").split(";")
    for line in section["row"].strip().split("\n"):
        for it in each:
            rows.append([cell.strip() for cell in filled(line, result, it=it.strip()).split("|")])
    return table([cell.strip() for cell in section["head"].split("|")], rows, "r")


def counted(paragraph):
    """The paragraph of verdicts with the counts of the results that it names."""
    names = re.findall(r"`([\w-]+)`", paragraph)
    said = [f"`{n}`: {published.of(n).verdicts()}" + ("; descriptive" if published.of(n).descriptive() else "")
            for n in names]
    return textwrap.fill(f"**Verdicts.** {'; '.join(said)}.", 100, break_on_hyphens=False, break_long_words=False) + "\n"


def renewed(text, folder, pages):
    """A document with its generated parts as the results have them."""
    def block(match):
        kind, _, name = match.group(2).rpartition(" ")
        body = figures(pages, name) if kind == "figures" else numbers(pages[f"table {name}"])
        return match.group(1) + moved(body, folder)
    return VERDICTS.sub(lambda m: counted(m.group(0)), BLOCK.sub(block, text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    parser.add_argument("document", nargs="*", help="only these")
    args = parser.parse_args()
    pages = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    pages.optionxform = str
    pages.read(os.path.join(published.FOLDER, "analysis", "pages.ini"), encoding="utf-8")
    differ = 0
    all_of_them = [os.path.join(TOP, "README.md")] + sorted(glob.glob(os.path.join(published.FOLDER, "*.md")))
    for path in map(os.path.abspath, args.document or all_of_them):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = renewed(text, os.path.relpath(os.path.dirname(path), TOP).replace(".", ""), pages)
        if new == text:
            continue
        differ += 1
        if args.check:
            name = os.path.relpath(path, TOP)
            print("\n".join(list(difflib.unified_diff(text.split("\n"), new.split("\n"), name, name, lineterm="", n=0))[:20]))
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
            print(f"renewed {os.path.relpath(path, TOP)}")
    return args.check and differ > 0


sys.exit(main())
