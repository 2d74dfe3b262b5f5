"""Recipes, expressions and --set made to harm, through programs built with sanitizers: a message, never a crash or a hang."""
# SPDX-License-Identifier: MIT

import os
import re

from torture import SMOKE, read

WHAT = "hostile recipes, expressions and --set (sanitizer build)"

VALUES = [
    "99999999999999999999999",
    "-1",
    "0x10",
    "1e400",
    "nan",
    ".inf",
    "1_000",
    "0o17",
    "4294967296",
    "65537",
    "9007199254740993",
    "1.5",
    '""',
    "null",
    "~",
    "true",
    "[1]",
    "{a: 1}",
    "!!int 3",
    "&a 1",
    "*a",
    "|\n  1",
    "'" + "x" * 5000 + "'",
]
EXPRESSIONS = [
    "(" * 31 + "1" + ")" * 31,
    "(" * 10000 + "1" + ")" * 10000,
    "-" * 100000 + "1",
    "sqrt(" * 40 + "1",
    "1/0",
    "0/0",
    "sqrt(-1)",
    "1e308*10",
    "L^2",
    "L;system(1)",
    "1 1",
    "9" * 500,
    "1e-999",
    "(1",
    "L+",
    "--1",
    "L*" * 5000 + "1",
    "\u00b2",
    "gamma",
    "1e",
    ".",
    "..",
    "1.2.3",
    "+",
    "sqrt",
    "sqrt()",
    "1" * 63,
    "1" * 64,
    "%s%n",
    "L/l2",
    "d*d*d",
    "\t1",
]
CHANGES = [
    "",
    "=",
    "a=",
    "=1",
    "..=1",
    "methods=1",
    "methods..k=1",
    "methods.Top-k.k",
    "methods.Top-k.k=[",
    "methods={",
    "methods.Top-k.k=&a 1",
    "." * 1000 + "=1",
    "a." * 500 + "b=1",
    "methods.=1",
    "workers=\n1",
    "workers=1\n2",
    "title=\x01",
    "task={}",
    "task=null",
    "record=null",
    "methods=[]",
    "plots=[{}]",
    "claims=[{}]",
    "seeds={first: 9007199254740992, count: 1000}",
    "seeds={first: 0, count: 0}",
    "schema=2",
    "kind=kernels",
    "x" * 100000 + "=1",
    "workers=" + "9" * 100000,
    "record.series=[" + "loss," * 5000 + "loss]",
    "methods.Top-k.k=[" + "1," * 9000 + "1]",
]


def missing(t):
    return (
        None
        if os.path.exists(t.program("sparsetrain", True))
        else f"no sanitizer build in {os.path.relpath(t.asan)} (make MODE=asan)"
    )


def prepare(t):
    base = read(SMOKE)
    nested = b"".join(b" " * i + b"a:\n" for i in range(2000))
    t.recipes = {
        "alias bomb": b"a: &a [x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b]\n" + base,
        "100,000 open brackets": b"schema: 1\nname: " + b"[" * 100000 + b"]" * 100000,
        "2000 levels": b"schema: 1\n" + nested,
        "a key of 1 MiB": b"schema: 1\n" + b"k" * 1048000 + b": 1\n",
        "a value of 1 MB": b"schema: 1\nname: " + b"k" * 1040000 + b"\n",
        "400,000 escapes": b'schema: 1\nname: "' + b"\\n" * 400000 + b'"\n',
        "20 MB": b"#" * 20_000_000,
        "NUL": base[:100] + b"\0" + base[100:],
        "latin-1": base.replace(b"smoke", b"sm\xff"),
        "UTF-16": base.decode().encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + base,
        "overlong": base.replace(b"two generated", b"\xc0\xaf"),
        "surrogate": base.replace(b"two generated", b"\xed\xa0\x80"),
        "carriage returns": base.replace(b"\n", b"\r"),
        "tabs": base.replace(b" ", b"\t"),
        "merge key": b"<<: {schema: 1}\n" + base,
        "tag": b'schema: !!python/object/apply:os.system ["touch pwned"]\n',
        "directive": b"%YAML 9.9\n---\n" + base,
        "complex key": b"? [a, b]\n: 1\n" + base,
        "3000 keys": b"".join(b"k%d: 1\n" % i for i in range(3000)),
        "10,049 seeds": base.replace(b"seeds: [1, 2]", b"seeds: [" + b",".join(b"%d" % i for i in range(10050)) + b"]"),
        "9999 seeds": base.replace(b"seeds: [1, 2]", b"seeds: [" + b",".join(b"%d" % i for i in range(9999)) + b"]"),
        "9999 values of k": base.replace(
            b"k: [1, 4]", b"k: [" + b",".join(b"%d" % (i + 1) for i in range(9999)) + b"]"
        ),
    }
    t.base = base.decode()
    t.check(all(text != base for text in t.recipes.values()), "a hostile recipe is the good one")


def drawn(t):
    """(what, arguments of sparsetrain, arguments of sparsebench or sparsetune, standard input)."""
    short = ["--method", "SGD", "--set", "steps=4"]
    kind = t.rng.choice(["recipe", "value", "expression", "lambda", "set"])
    if kind == "recipe":
        name = t.rng.choice(sorted(t.recipes))
        return name, ["-"] + short, ["-"], t.recipes[name]
    if kind == "value":
        key, value = t.rng.choice(
            ["workers", "batch", "epochs", "seeds", "schema", "title", "optimizer"]
        ), t.rng.choice(VALUES)
        text = re.sub(rf"(?m)^{key}: .*$", lambda _: f"{key}: {value}", t.base)
        text = text if text != t.base else t.base + f"{key}: {value}\n"
        return f"{key}: {value[:40]}", ["-"] + short, ["-"], text.encode()
    if kind == "set":
        change = t.rng.choice(CHANGES)
        return f"--set {change[:40]!r}", [SMOKE] + short + ["--set", change], [SMOKE, "--set", change], None
    value = t.rng.choice(EXPRESSIONS)
    if kind == "expression":
        change = "optimizer.learning-rate=" + value
        return f"{kind} {value[:40]!r}", [SMOKE] + short + ["--set", change], [SMOKE, "--set", change], None
    change = "methods.Hard-threshold.lambda=" + value
    return (
        f"{kind} {value[:40]!r}",
        [SMOKE, "--method", "Hard-threshold", "--set", "steps=4", "--set", change],
        [SMOKE, "--set", change],
        None,
    )


def case(t):
    what, train, plan, given = drawn(t)
    for name, argv in (
        ("sparsetrain", ["-q"] + train),
        ("sparsebench", ["-q"] + plan + ["--dry-run", "--folder", "cells"]),
        ("sparsetune", plan + ["--match-density", "--dry-run", "--folder", "cells"]),
    ):
        r = t.run([t.program(name, True)] + argv, given=given)
        t.ended_well(r, f"{name}: {what}", sanitized=True)
        t.check(r.code in (0, 1, 2, 3), f"{name}: {what}: exit {r.code}")
        t.check(not os.path.exists(os.path.join(t.folder, "pwned")), f"{name}: {what}: a command was run")
        t.note("refused" if r.code else "accepted")
