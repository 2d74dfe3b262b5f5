"""What the scripts of this folder share: results as they are read, random draws, statistics, and lines of text."""
# SPDX-License-Identifier: MIT

import json
import math
import os
import re
import sys
import textwrap

# Metrics of quality by their quantity, and by how much one may be worse than another's and still counts as reached. The
# quantities are those of lib/task/task_quantity.c.
SHARES = ("test_accuracy", "test_accuracy_averaged", "hit_rate", "ndcg")
LOSSES = ("loss", "train_loss", "test_loss", "test_loss_averaged")
PERPLEXITIES = ("test_perplexity", "test_perplexity_corpus")
SUBOPTIMALITIES = ("suboptimality", "relative_suboptimality")
HIGHER = SHARES  # metrics of which more is better
STUDENT = (math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
           2.131)  # by degrees of freedom, both tails 5 %

# What sg_text_clean of the programs shows.
STEERS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def refuse(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


# ---- results ----

def get(tree, path):
    """The value at a dotted path, or None."""
    for part in path.split("."):
        tree = (tree or {}).get(part)
    return tree


def shown(text):
    """The text without what could steer a terminal or reorder a line, which is shown as \\x1b, as the programs do."""
    return STEERS.sub(lambda c: f"\\x{ord(c[0]):02x}" if ord(c[0]) < 256 else f"\\u{ord(c[0]):04x}", text)


def clean(tree):
    """The tree with such texts and keys, which may be a stranger's."""
    if isinstance(tree, list):
        return [clean(v) for v in tree]
    return shown(tree) if isinstance(tree, str) else tree


def once(pairs):
    """The object of these keys and values. No key comes twice, as other readers take another of the two."""
    keys = [key for key, _ in pairs]
    twice = [key for i, key in enumerate(keys) if key in keys[:i]] if len(set(keys)) < len(keys) else []
    if twice:
        raise ValueError(f"the key '{shown(twice[0])}' comes twice in its object")
    return {shown(key): clean(value) for key, value in pairs}


def read_result(path):
    """A finished result of sparsebench, - for stdin."""
    try:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
            document = json.load(file, object_pairs_hook=once)
    except (OSError, ValueError) as problem:
        refuse(f"{path}: {problem}")
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith("sparsebench/"):
        refuse(f"{path}: no result of sparsebench")
    if document.get("status") == "interrupted":
        refuse(f"{path}: not all of its runs are finished")
    return document


def numbers(values):
    return [math.nan if v is None else v for v in values or []]


def plain(value):
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def put_json(document):
    json.dump(plain(document), sys.stdout, indent=1)
    print()


# ---- how near is near enough ----

class Margin:
    """By how much a metric may be worse than the baseline's: that of its quantity, or a share of the baseline's."""

    def __init__(self, metric, share=None):
        own = ("0.5 points" if metric in SHARES else "0.01 nats" if metric in (*LOSSES, *PERPLEXITIES) else
               "1.25 times" if metric in SUBOPTIMALITIES else None)
        self.metric, self.higher = metric, metric in HIGHER
        self.share = 0.05 if share is None and own is None else share
        self.text = own if self.share is None else f"{100 * self.share:g} %"

    def holds(self, value, baseline):
        if self.share is not None:
            worst = baseline + (-1 if self.higher else 1) * self.share * abs(baseline)
            return value >= worst if self.higher else value <= worst
        if math.isnan(value) or math.isnan(baseline):
            return False
        if self.metric in SHARES:
            return -(value - baseline) <= 0.005
        if self.metric in LOSSES:
            return value - baseline <= 0.01
        if self.metric in PERPLEXITIES:
            return math.log(value) - math.log(baseline) <= 0.01
        return math.log(max(value, 1e-11)) - math.log(max(baseline, 1e-11)) <= math.log(1.25)


# ---- random numbers ----

def philox(counter, key):
    """Philox4x32-10 as published (Salmon et al., SC 2011)."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = y >> 32 ^ b ^ k, y & 0xFFFFFFFF, x >> 32 ^ d ^ l, x & 0xFFFFFFFF
        k, l = (k + 0x9E3779B9) & 0xFFFFFFFF, (l + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


class Draws:
    """The numbers of one step of the bootstrap (lib/core/sg_rng.h)."""

    def __init__(self, seed, step):
        self.seed, self.step, self.block, self.words = seed, step, 0, []

    def below(self, bound):
        """A number below the bound: the upper half of a product (Lemire, 2019)."""
        purpose, all_workers = 15, 2**24 - 1
        while True:
            if not self.words:
                self.words = list(philox((self.block, purpose << 24 | all_workers, self.step, 0), (self.seed, 0)))
                self.block += 1
            product = self.words.pop(0) * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32


# ---- statistics ----

def ranks(x):
    """1 for the smallest; equal numbers have the mean of their places."""
    order = sorted(range(len(x)), key=x.__getitem__)
    out, i = [0.0] * len(x), 0
    while i < len(x):
        j = i
        while j + 1 < len(x) and x[order[j + 1]] == x[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = (i + j) / 2 + 1
        i = j + 1
    return out


def quantile(ordered, q):
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    if at == low or ordered[low] == ordered[high]:  # an infinity less itself is no number
        return ordered[low]
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def interval(value, draws):
    """The value with what holds 95 % of the draws."""
    known = sorted(v for v in draws if not math.isnan(v))
    return {"value": value, "low": quantile(known, 0.025) if known else math.nan,
            "high": quantile(known, 0.975) if known else math.nan}


def mean(values):
    known = [v for v in values if math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


def deviation(values):
    middle = mean(values)
    off = math.fsum((v - middle) ** 2 for v in values)
    return math.sqrt(off / (len(values) - 1)) if len(values) > 1 else 0


def half_interval(values):
    """Half the width of the 95 % interval of a mean by Student's distribution."""
    n = len(values)
    if n < 2 or min(values) == max(values):
        return math.nan if n < 2 else 0
    if n <= len(STUDENT):
        t = STUDENT[n - 1]
    else:  # Fisher's expansion in 1 / freedom
        z, f = 1.959964, n - 1
        t = z + (z**3 + z) / (4 * f) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f**2) + (
            3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * f**3)
    return t * deviation(values) / math.sqrt(n)


def spread(values):
    known = [v for v in values if math.isfinite(v)]
    return {"mean": mean(values), "std": deviation(known), "n": len(known), "values": values}


# ---- text ----

def words(column):
    return column.replace("_", " ")


def put_comment(text):
    print(textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="#   ", break_long_words=False,
                        break_on_hyphens=False))


def put_lines(head, lines, right):
    """A table; right has the columns whose cells end at the right."""
    width = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for mark, line in [("# ", head)] + [("", line) for line in lines]:
        print((mark + "  ".join(t.rjust(w) if i in right else t.ljust(w - len(mark) * (i == 0))
                                for i, (t, w) in enumerate(zip(line, width)))).rstrip())


def put_left_out(items):
    """What is not compared, once for each reason."""
    for reason in dict.fromkeys(item["reason"] for item in items):
        put_comment(f"left out: {', '.join(i['name'] for i in items if i['reason'] == reason)} ({reason})")
