"""Reads a published result for the documents that quote it: pages.py here and tests/cli/readme_numbers.py.

Python's standard library is enough."""
# SPDX-License-Identifier: MIT
import json
import math
import os
import sys

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # results
sys.path.insert(0, os.path.join(FOLDER, "analysis"))
sys.dont_write_bytecode = True
import explain  # noqa: E402

VERDICTS = (("holds at these seeds", "at these seeds", "at these seeds"), ("fails", "fails", "fail"),
            ("fails at these seeds", "fails at these seeds", "fail at these seeds"),
            ("undecided", "undecided", "undecided"))
results = {}  # those that were read, by name


def of(name):
    """The published result of a name."""
    if name not in results:
        results[name] = Result(name)
    return results[name]


def value(expression, result, **more):
    """What an expression in the words of a result is worth."""
    scope = {word: getattr(result, word) for word in dir(result or ()) if not word.startswith("_")}
    scope.update(of=of, min=min, max=max, zip=zip, abs=abs, len=len, sci=sci, **more)
    return eval(expression, {"__builtins__": {}, **scope})


def sci(number, digits=1):
    """A number with so many digits behind the point, in powers of ten: 3.2e-4."""
    text = f"{number:.{digits}e}"
    return text[:text.index("e")] + "e" + str(int(text[text.index("e") + 1:]))


class Result:
    """A published result. Its methods are the words in which a document says where a number comes from."""

    def __init__(self, name):
        self.path = os.path.join(FOLDER, f"{name}.json")
        with open(self.path, encoding="utf-8") as file:
            self.document = json.load(file)
        self.rows = {row["label"]: row for row in self.document.get("results", []) if "label" in row}

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

    def spread(self, label, metric="test_accuracy", scale=100, digits=1):
        """The mean over the seeds and their deviation."""
        final = self.rows[label]["final"][metric]
        return f"{scale * final['mean']:.{digits}f} ± {scale * final['std']:.{digits}f}"

    def share(self, label, metric="average_density"):
        """What is sent of the entries."""
        return f"{self.percent(label, metric):.3f} %"

    def best(self, metric):
        """All methods, the best first; a metric behind a minus sign is better if it is less."""
        better = 1 if metric.startswith("-") else -1
        return sorted(self.rows, key=lambda label: better * self.mean(label, metric.lstrip("-")))

    def over(self, label, column):
        """The mean of a column over the records, where a plot of points has it, else over the last ones."""
        for plot in self.document["plots"]:
            if plot["x"] == column and plot.get("points"):
                return next(p["x"]["mean"] for p in plot["points"] if p["label"] == label)
        return self.mean(label, column)

    def law(self, start="Hard-threshold"):
        """The total errors of the labels that begin so, over those of the law of a threshold: T d lambda^2 / 6."""
        found = [row["final"]["total_error"]["mean"] / (row["final"]["step"]["mean"] * row["constants"]["error_bound"] / 6)
                 for label, row in self.rows.items() if label.startswith(start) and "error_bound" in row["constants"]]
        ends = [f"{end:.2f}" for end in (min(found), max(found))]
        return " … ".join(dict.fromkeys(ends))

    def ranked(self, column):
        """The rank correlation of an error with quality, and its interval."""
        c = self.explained(column)["correlation"]
        return f"{c['value']:.2f} ({c['low']:.2f} to {c['high']:.2f})".replace("-", "−")

    def right(self, column):
        """How many pairs of methods an error has in the order of their quality."""
        found = self.explained(column)
        return f"{found['pairs_right']} of {found['pairs']}"

    def methods(self):
        """How many methods and settings there are beside the baseline."""
        return sum(not row["baseline"] for row in self.rows.values())

    def faster(self, method):
        """Of linear-speedup: how many times fewer steps 64 workers take than one."""
        steps = [self.point(f"{method} workers={n}", "workers")["mean"] for n in (1, 64)]
        return steps[0] / steps[1]

    def accurate(self, method):
        """Of mini-linear-speedup: the accuracy with 32 workers over that with 2."""
        return self.percent(f"{method} workers=32") / self.percent(f"{method} workers=2")

    def verdicts(self, bold=False, short=False):
        """How many claims hold, and how many have each of the other verdicts, or, short, fail."""
        found = [c["verdict"] for c in self.document["claims"] if c["verdict"] != "not judged"]
        if not found:
            return "not judged" if self.document["claims"] else "no claims"
        text = f"{found.count('holds')} of {len(found)}" + " hold" * (not short)
        for verdict, one, many in VERDICTS:
            n = found.count(verdict)
            said = f"{n} {one if n == 1 else many}"
            text += f", **{said}**" if n and bold and verdict == "fails" else f", {said}" if n and not short else ""
        return text

    def descriptive(self):
        """All of its claims were written after the result."""
        claims = self.document["claims"]
        return bool(claims) and all(c.get("descriptive") for c in claims)

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

    def nearest(self, start, most=1):
        """Of why-rules: the least suboptimality of the labels that begin so and send 0.055 % or more of the entries, at
        most a share, and its learning rate in units of 1 / (L + l2)."""
        found = [(self.point(label, "learning_rate")["mean"], label) for label in self.rows
                 if label.startswith(start) and 0.00055 <= self.mean(label, "average_density") <= most]
        return f"{sci(min(found)[0])} at {min(found)[1].split('=')[1].split('/')[0]}" if found else "none"

    def hit(self, label):
        """The best Hit-Rate@10 of an epoch, as the plot of points over the density has it, and its deviation."""
        best = self.point(label, "average_density")
        return f"{100 * best['mean']:.1f} ± {100 * best['std']:.1f}"

    def hits(self, rule, kind):
        """Of advise-check: in how many groups of methods a rule's pick is the best one or not told apart from it."""
        kinds = {"full": lambda name: "full gradients" in name, "network": lambda name: not name.startswith("madelon"),
                 "madelon": lambda name: name.startswith("madelon") and "full gradients" not in name}
        of_kind = [s for s in self.document["settings"] if kinds[kind](s["setting"]) and rule in s["rules"]]
        picks = [s["rules"][rule] for s in of_kind if s["rules"][rule]]
        best = sum(pick["place"] == 1 for pick in picks)
        return f"{best}, {sum(not pick['worse'] for pick in picks)} of {len(picks)}" if picks else ""

    def measured(self, label, name):
        """Of correlation: a mean over recordings, and half of its interval."""
        number = self.rows[label]["numbers"][name]
        return f"{number['mean']:.2f} ± {number['half']:.2f}".replace("-", "−")

    def worth(self, label):
        """Of delay: a step efficiency, and what was sent."""
        return f"{self.rows[label]['phi']:.2f} at {100 * self.rows[label]['sent']:.2f} %"

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
        first = {r["label"] for r in of("mini-why-errors").document["results"]} | {"By noise"}
        return [label for label in self.rows if label not in first and not self.rows[label]["baseline"]]
