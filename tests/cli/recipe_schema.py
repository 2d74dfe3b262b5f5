"""Says of recipes what a JSON Schema says of them, as an editor would. Needs jsonschema and PyYAML.

usage: recipe_schema.py SCHEMA RECIPE...        a line "PATH ok", or "PATH refused: KEY: why"
       recipe_schema.py SCHEMA --changed STRIDE PROGRAM RECIPE...
The second form changes the recipes: every key is renamed, left out or given values of every kind, and each STRIDE-th of
these changes is tried with PROGRAM, too: "both accept", "both refuse", "program refuses" or "schema refuses", CHANGE.
"""
# SPDX-License-Identifier: MIT
import copy
import json
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML 1.2's core schema, which recipes have: 1e-4 is a number; yes, 010 and 1:30 are none of what YAML 1.1 reads."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    Loader.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile(f"^(?:{pattern})$"), first)
Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def read(path):
    with open(path, encoding="utf-8-sig") as file:
        return yaml.load(file, Loader)


def say(validator, paths):
    for path in paths:
        try:
            recipe = read(path)
        except yaml.YAMLError as error:
            print(path, f"refused: it is no YAML: {error!r:.60}")
            continue
        errors = sorted(validator.iter_errors(recipe), key=lambda error: list(map(str, error.path)))
        for error in errors:
            print(path, f"refused: {'.'.join(map(str, error.path))}: {error.message:.200}")
        if not errors:
            print(path, "ok")


def places(node, at=()):
    """The way to every member of every section and list."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield at + (key,)
        yield from places(child, at + (key,))


def changes(recipe):
    values = ({}, [], "no such", True, None, 1.5, -1e300, 0, 7, [1, 2], "log 1e-3..1")
    for place in places(recipe):
        for change in ("rename", "drop", *values):
            changed = copy.deepcopy(recipe)
            section = changed
            for key in place[:-1]:
                section = section[key]
            if change == "rename" and isinstance(section, list):
                continue
            if change == "rename":
                members = [(key + "x" if key == place[-1] else key, value) for key, value in section.items()]
                section.clear()
                section.update(members)
            elif change == "drop":
                del section[place[-1]]
            else:
                section[place[-1]] = change
            yield f"{place}: {change}", changed


def compare(validator, stride, program, paths):
    for path in paths:
        for what, changed in list(changes(read(path)))[:: int(stride)]:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                json.dump(changed, file)
                file.flush()
                ran = subprocess.run([program, file.name, "--dry-run"], capture_output=True, check=False)
            both = (ran.returncode == 0, validator.is_valid(changed))
            verdict = {(True, True): "both accept", (False, False): "both refuse", (True, False): "schema refuses"}
            print(verdict.get(both, "program refuses"), path, what)


def main(schema, *words):
    with open(schema, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    if words[0] == "--changed":
        compare(validator, words[1], words[2], words[3:])
    else:
        say(validator, words)


main(*sys.argv[1:])
