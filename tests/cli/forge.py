"""Forged results: whatever is changed in a result, or in its bundle with all checksums made anew, sparsebench --audit
says so. Usage: forge.py BUNDLE, the folder of an honest bundle, with sparsebench on PATH. It works in the folder
forged.

First every kind of node of the result is changed, removed and joined by another one. Then come changes that need more
than one place, among them those that leave out what is unwelcome."""
# SPDX-License-Identifier: MIT
import copy
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

BUNDLE = pathlib.Path(sys.argv[1])
FILES = {str(f.relative_to(BUNDLE)): f.read_bytes() for f in BUNDLE.rglob("*") if f.is_file()}
RESULT, ABOUT = json.loads(FILES["result.json"]), json.loads(FILES["bundle.json"])

# What is of a machine or a moment, so that no audit can know it: at these paths and below.
OPEN = ["program", "run", "host", "recipe.path", "results[].cells[].file", "results[].cells[].reused"]
OPEN_WITHOUT_CELLS = OPEN + ["libraries", "identities", "results[].cells[].devices", "results[].cells[].elapsed_s",
                             "results[].cells[].message"]


# ---- the forgeries: name -> (result, about, files), each a changed copy ----

FORGED = {}


def forgery(name, change):
    result, about, files = copy.deepcopy(RESULT), copy.deepcopy(ABOUT), dict(FILES)
    change(result, about, files)
    assert (result, about, files) != (RESULT, ABOUT, FILES), name
    assert name not in FORGED, name
    FORGED[name] = result, about, files


def nodes(value, path=""):
    """Every node with its path: one of each kind, for indices of lists do not tell kinds apart."""
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from nodes(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value[1:2] or value:
            yield from nodes(item, path + "[]")


def at(document, path):
    """The holder of the node at a path of `nodes`, and its key there."""
    words = re.findall(r"\[\]|[^.\[]+", path)
    holder = document
    for i, word in enumerate(words):
        key = (1 if len(holder) > 1 else 0) if word == "[]" else word
        if i == len(words) - 1:
            return holder, key
        holder = holder[key]


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 1.5 + 1
    return "other" if value is None else value + " x" if isinstance(value, str) else None


def change_node(path):
    def change(result, about, files):
        holder, key = at(result, path)
        holder[key] = other(holder[key])
    return change


def remove_node(path):
    def change(result, about, files):
        holder, key = at(result, path)
        del holder[key]
    return change


def add_node(path):
    def change(result, about, files):
        holder, key = at(result, path)
        holder[key].update(more=1) if isinstance(holder[key], dict) else holder[key].append(copy.deepcopy(holder[key][0]))
    return change


KINDS = dict(nodes(RESULT))
del KINDS[""]
for path, value in KINDS.items():
    forgery(f"changed {path}", change_node(path))
    forgery(f"removed {path}", remove_node(path))
    if (isinstance(value, dict) or (isinstance(value, list) and value)) and path != "recipe.set": # twice the same word
        forgery(f"added to {path}", add_node(path))


def cut_series(result, about, files):
    """A record less of one column, for which an audit once compared none of the label's."""
    result["results"][1]["series"]["step"].pop()


def thin_series(result, about, files):
    for column in result["results"][1]["series"].values():
        for values in column.values() if isinstance(column, dict) else [column]:
            del values[1::2]


def new_column(result, about, files):
    for label in result["results"]:
        label["final"]["test_accuracy"] = {"mean": 0.9, "std": 0, "n": 2, "values": [0.9, 0.9]}
        label["series"]["test_accuracy"] = {key: [1] * len(label["series"]["step"]) for key in ("mean", "std", "n")}


def without_column(result, about, files):
    for label in result["results"]:
        del label["final"]["error_norm"], label["series"]["error_norm"]


def without_cells(result, about, files, label, seed=None):
    for cell in [c for c in about["cells"] if c["label"] == label and seed in (None, c["seed"])]:
        about["cells"].remove(cell)
        del files[cell["file"]]


def without_seed(result, about, files):
    """A seed that is unwelcome, left out of one label wherever it is told of."""
    label = result["results"][1]
    without_cells(result, about, files, label["label"], label["seeds"][1])
    del label["cells"][1], label["seeds"][1]
    for column in label["final"].values():
        column.update(mean=column["values"][0], std=0, n=1, values=column["values"][:1])


def without_label(result, about, files):
    without_cells(result, about, files, result["results"].pop(1)["label"])


def without_claims(result, about, files):
    """As of a program that wrote none."""
    del result["claims"]
    result["program"].update(commit="0123456789", identity="0.0.1+0123456789ab")


def failed(result, about, files):
    without_cells(result, about, files, result["results"][1]["label"], result["results"][1]["seeds"][1])
    result["results"][1]["cells"][1]["status"] = "failed"


def swapped(result, about, files):
    a, b = result["results"][1], result["results"][2]
    a["label"], b["label"] = b["label"], a["label"]


def swapped_cells(result, about, files):
    a, b = (next(c for c in about["cells"] if c["label"] == result["results"][i]["label"]) for i in (1, 2))
    a["file"], b["file"] = b["file"], a["file"]


def doubled(result, about, files):
    result["results"].append(copy.deepcopy(result["results"][1]))


def another_commit(result, about, files):
    result["program"]["commit"] = about["program"]["commit"] = "0123456789"


def edited(result, about, files):
    files["recipe.yaml"] += b"# in another text\n"
    result["recipe"]["sha256"] = about["recipe"]["sha256"] = hashlib.sha256(files["recipe.yaml"]).hexdigest()


def damaged(result, about, files):
    name = about["cells"][2]["file"]
    files[name] = files[name].replace(b'"suboptimality":0.1', b'"suboptimality":0.0', 1)


def other_cell(result, about, files):
    """Another number of workers in what the series says of its own recipe, with the checksum that fits."""
    name = about["cells"][2]["file"]
    text = files[name].replace(b'"workers":4', b'"workers":5', 1)
    sealed = re.search(rb',"sha256":"([0-9a-f]{64})"}\n\{"record":"end"', text)
    body = text[:sealed.start()] + text[sealed.end(1) + 1:]
    files[name] = text[:sealed.start(1)] + hashlib.sha256(body).hexdigest().encode() + text[sealed.end(1):]


def about_change(key, value):
    def change(result, about, files):
        about[key] = value
    return change


def about_cells(result, about, files):
    for cell in about["cells"]:
        cell.update(kernels="cuda", processor="H100")


def extra_file(name):
    def change(result, about, files):
        files[name] = b"x\n"
    return change


BY_HAND = [cut_series, thin_series, new_column, without_column, without_seed, without_label, without_claims, failed,
           swapped, doubled]
OF_BUNDLES = [swapped_cells, another_commit, edited, damaged, other_cell, about_cells]
for function in BY_HAND + OF_BUNDLES:
    forgery(function.__name__, function)
for key in "name", "dataset", "program", "cells":
    forgery(f"bundle.json: {key}", about_change(key, None))
forgery("bundle.json: tolerance", about_change("tolerance", {"other": 1e9}))
for name in "evil.sh", "cells/evil.sh", "more/x.ndjson":
    forgery(name, extra_file(name))


# ---- the audits ----

def write_bundle(folder, result, about, files):
    files = dict(files)
    if result != RESULT:
        files["result.json"] = json.dumps(result).encode()
    if about != ABOUT:
        files["bundle.json"] = json.dumps(about).encode()
    rest = {name: data for name, data in files.items() if not name.startswith("SHA256SUMS")}
    sums = "".join(f"{hashlib.sha256(rest[name]).hexdigest()}  {name}\n" for name in sorted(rest)).encode()
    rest["SHA256SUMS"] = sums
    rest["SHA256SUMS.sha256"] = f"{hashlib.sha256(sums).hexdigest()}  SHA256SUMS\n".encode()
    for name, data in rest.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def seen(audit):
    return bool(audit.get("problem") or audit["differences"] or audit["recipe_edited"] or
                audit["differs"] + audit["other_data"] + audit["not_run"])


def audit_all(paths):
    """path -> whether an audit of all of its cells sees something."""
    out = {}
    while paths:
        some, paths = paths[:120], paths[120:]
        end = subprocess.run(["sparsebench", "-q", "--audit", "--share", "1", "--json", *some], capture_output=True,
                             text=True)
        assert end.returncode == 3, end
        for audit in json.loads(end.stdout)["audits"]:
            out[audit["file"]] = seen(audit)
    return out


def is_open(name, paths):
    path = re.sub(r"^(changed|removed|added to) ", "", name)
    return any(path == p or path.startswith((p + ".", p + "[")) for p in paths)


forged = pathlib.Path("forged")
shutil.rmtree(forged, ignore_errors=True)
forged.mkdir()
place = {}
for i, (name, (result, about, files)) in enumerate(FORGED.items()):
    write_bundle(forged / f"{i}", result, about, files)
    place[name] = f"forged/{i}"
    if result != RESULT:
        (forged / f"{i}.json").write_text(json.dumps(result))
unseen = []
found = audit_all(list(place.values()))
for name, path in place.items():
    if not found[path] and not is_open(name, OPEN):
        unseen.append(("bundle", name))
alone = {name: path + ".json" for name, path in place.items()
         if pathlib.Path(path + ".json").exists() and name != "another_commit"}
found = audit_all(list(alone.values()))
for name, path in alone.items():
    if not found[path] and not is_open(name, OPEN_WITHOUT_CELLS):
        unseen.append(("result", name))
assert not unseen, f"{len(unseen)} unseen: {unseen}"
print(f"{len(place)} bundles and {len(alone)} results, all seen")
