"""Compares the numbers of README.md's prose and of its table of figures with published results.

tests/cli/readme-numbers.tsv has a row for each: words of README.md with the numbers in braces, the result, and what
gives each number there, separated by semicolons: labels and metrics of the result in the functions below. In place of
a result, "-" says that a number is a setting, and "?" that no published result has it. Every number of those parts of README.md must stand in a row. Prints what is wrong, and
how many numbers have a source."""
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join("results", "analysis"))
sys.dont_write_bytecode = True
import explain  # noqa: E402

NUMBER = r"[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?"
# Names with a number in them, which say nothing that was measured.
NAMES = r"\b(?:Figure|Table|Section) \d+[a-c]?|[A-Za-z]+-?\d+(?: %)?\b|/ 6\b"


def flat(text):
    """Words as they are read: links are their texts, and code, marks and line ends are gone."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`]*`", "`", text)
    return re.sub(r"\s+", " ", re.sub(r"[*\[\]]", "", text))


def prose():
    """Figure 1's caption, the column "here" with what its row is about, and the prose behind the tables."""
    text = open("README.md", encoding="utf-8").read()
    rows = [line.strip("|").split(" | ") for line in text.split("\n") if line.startswith("| ") and line.count(" | ") == 5]
    caption = re.search(r"\*What to see:.*?\*\n", text, re.S).group(0)
    behind = text[text.index("**Which error counts.**"):text.index("## The programs")]
    return [flat(caption)] + [flat(row[3]) for row in rows[1:]] + [flat(p) for p in behind.split("\n\n")]


class Result:
    def __init__(self, name):
        self.path = f"results/{name}.json"
        self.document = json.load(open(self.path, encoding="utf-8"))
        self.rows = {row["label"]: row for row in self.document["results"] if "label" in row}

    def mean(self, label, metric):
        return self.rows[label]["final"][metric]["mean"]

    def seeds(self, label, metric):
        return self.rows[label]["final"][metric]["values"]

    def percent(self, label, metric="test_accuracy"):
        return 100 * self.mean(label, metric)

    def points(self, better, worse, metric="test_accuracy"):
        return self.percent(better, metric) - self.percent(worse, metric)

    def gains(self, better, worse, metric):
        """At each seed, by how much the first label's value is larger."""
        return [a - b for a, b in zip(self.seeds(better, metric), self.seeds(worse, metric))]

    def claim(self, start):
        return next(c for c in self.document["claims"] if c["text"].startswith(start))

    def values(self, start):
        """Of the claim that begins so, the value at each seed."""
        return [s["value"] for s in self.claim(start)["seeds"]]

    def ratios(self, start):
        """Of the claim that begins so, at each seed the value over what the bound multiplies."""
        c = self.claim(start)
        return [s["value"] / s["bound"] * c["bound"]["times"] for s in c["seeds"]]

    def point(self, label, x):
        """The quality of a label in the plot of points over x."""
        plot = next(p for p in self.document["plots"] if p["x"] == x and p.get("points"))
        return next(p["y"] for p in plot["points"] if p["label"] == label)

    def cases(self, start):
        """Of the claim about kernels that begins so, the ratio of each case."""
        return [c["ratio"] for c in self.claim(start)["cases"]]

    def slopes(self, method):
        """Of speedup-rate at each seed: the least squares slope of the logarithm of the mean squared gradient norm over
        that of workers times steps."""
        row = lambda length, n: self.rows[f"{method} {length} workers={n}"]
        runs = [(length, n, n * row(length, n)["cells"][0]["steps"]) for length in ("short", "long") for n in (1, 4, 16, 64)]
        plot = next(p for p in self.document["plots"] if p["y"] == "full_gradient_norm" and p.get("points"))
        norm = {p["label"]: p["y"]["values"] for p in plot["points"]}
        x = [math.log(size) for _, _, size in runs]
        out = []
        for s in range(3):
            y = [math.log(norm[f"{method} {length} workers={n}"][s]) for length, n, _ in runs]
            a, b = sum(x) / len(x), sum(y) / len(y)
            out.append(sum((u - a) * (v - b) for u, v in zip(x, y)) / sum((u - a) ** 2 for u in x))
        return out

    def last_step(self, label):
        return self.rows[label]["series"]["step"][-1]

    def most(self, label, column):
        return max(v for v in self.rows[label]["series"][column]["mean"] if v is not None)

    def explained(self, column):
        """What results/analysis/explain.py finds of an error."""
        if not hasattr(self, "found"):
            sources, metric = explain.read([self.path], None)
            table = explain.Table(sources, metric)
            errors, _, self.gradients = explain.explain(table, self.later())
            self.found = {e["column"]: e for e in errors}
        return self.found[column]

    def gradients_alone(self):
        """The rank correlation of the size of the gradients with quality."""
        self.explained("error_weighed")
        return -self.gradients

    def later(self):
        """The methods that came after the weighed error: all but those of mini-why-errors and the threshold by noise."""
        first = {r["label"] for r in Result("mini-why-errors").document["results"]} | {"By noise"}
        return [label for label in self.rows if label not in first and not self.rows[label]["baseline"]]


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
    wrong = sourced = without = others = 0
    results = {}
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
        if name in "-?":
            others += len(numbers) * (name == "-")
            without += len(numbers) * (name == "?")
            continue
        if name not in results:
            results[name] = Result(name)
        r = results[name]
        scope = {k: getattr(r, k) for k in dir(r) if not k.startswith("_")}
        scope.update(min=min, max=max, zip=zip)
        values = [eval(source.strip(), {"__builtins__": {}, **scope}) for source in sources.split(";")]
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
    print(f"{sourced} numbers are those of published results, {without} are in none, {others} are settings, {wrong} wrong")
    return wrong > 0


sys.exit(main())
