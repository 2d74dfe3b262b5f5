"""Compares the numbers of README.md's prose with published results. Its table of figures is generated (pages.py).

tests/cli/readme-numbers.tsv has a row for each: words of README.md with the numbers in braces, the result, and what
gives each number there, separated by semicolons, in the words of results/analysis/published.py. In place of a result,
"-" says that a number is a setting. Every number of those parts of README.md must stand in a row. Prints what is wrong,
and how many numbers have a source."""
# SPDX-License-Identifier: MIT
import os
import re
import sys

sys.path.insert(0, os.path.join("results", "analysis"))
sys.dont_write_bytecode = True
import published  # noqa: E402

NUMBER = r"[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?"
# Names with a number in them, which say nothing that was measured.
NAMES = r"\b(?:Figure|Table|Section) \d+[a-c]?|[A-Za-z]+-?\d+(?: %)?\b|/ 6\b"


def flat(text):
    """Words as they are read: links are their texts, and code, marks and line ends are gone."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`]*`", "`", text)
    return re.sub(r"\s+", " ", re.sub(r"[*\[\]]", "", text))


def prose():
    """Figure 1's caption, what is said about the table of figures, what was found and how far to trust it."""
    text = open("README.md", encoding="utf-8").read()
    caption = re.search(r"\*What to see:.*?\*\n", text, re.S).group(0)
    figures = text[text.index("## The paper's figures"):text.index("<!-- figures front")]
    found = text[text.index("## What we found"):text.index("## In C")]
    return [flat(part) for part in [caption, figures] + re.split(r"\n\n|\n\* ", found)]


def shown(text):
    """The value of a number as it is written, and half a unit of its last digit."""
    text = text.replace("−", "-").replace(",", "")
    digits = re.match(r"-?\d+(?:\.(\d+))?(?:e(-?\d+))?$", text)
    return float(text), 0.5 * 10.0 ** (int(digits.group(2) or 0) - len(digits.group(1) or ""))


def main():
    parts = prose()
    covered = [[False] * len(part) for part in parts]
    for part, known in zip(parts, covered):
        for name in re.finditer(NAMES, part):
            known[name.start():name.end()] = [True] * len(name.group(0))
    wrong = sourced = others = 0
    for line in open("tests/cli/readme-numbers.tsv", encoding="utf-8"):
        if line.startswith("#") or not line.strip():
            continue
        words, name, sources = line.rstrip("\n").split("\t")
        plain = words.replace("{", "").replace("}", "")
        numbers = re.findall(r"\{([^}]*)\}", words)
        at = [(i, part.find(plain)) for i, part in enumerate(parts) if plain in part]
        if len(at) != 1:
            print(f"README.md has this {len(at)} times: {plain}")
            wrong += 1
            continue
        i, start = at[0]
        covered[i][start:start + len(plain)] = [True] * len(plain)
        if name == "-":
            others += len(numbers)
            continue
        values = [published.value(source.strip(), published.of(name)) for source in sources.split(";")]
        if len(values) != len(numbers):
            print(f"{plain}: {len(numbers)} numbers and {len(values)} sources")
            wrong += 1
            continue
        for number, value in zip(numbers, values):
            said, half = shown(number)
            sourced += 1
            if not abs(value - said) <= half * (1 + 1e-9):
                print(f"{plain}: {number} where {name} has {value:.6g}")
                wrong += 1
    for part, known in zip(parts, covered):
        for match in re.finditer(NUMBER, part):
            if not all(known[match.start():match.end()]):
                print(f"no row for {match.group(0)} in: {part[max(0, match.start() - 40):match.end() + 30]}")
                wrong += 1
    print(f"{sourced} numbers are those of published results, {others} are settings, {wrong} wrong")
    return wrong > 0


sys.exit(main())
