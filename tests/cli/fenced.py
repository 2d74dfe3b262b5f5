"""Runs the fenced commands of a document that a fenced output follows, and compares what they print with it.

Usage: fenced.py DOCUMENT, in the folder where its commands are to run. A command is a block of sh with the output in a
block without a language behind it, or the first line of a block of text, behind a dollar sign. What is shown must be
whole lines of what is printed, without the lines that begin with #. Prints what differs and how many commands ran."""
# SPDX-License-Identifier: MIT
import re
import subprocess
import sys

text = open(sys.argv[1], encoding="utf-8").read()
LINES = r"((?:(?!```).*\n)*)"  # of one block: a pattern that went on into the next one ran all that lies between
pairs = re.findall(rf"^```sh\n{LINES}```\n\n```\n{LINES}```$", text, re.M)
pairs += re.findall(rf"^```text\n\$ (.*\n){LINES}```$", text, re.M)
differ = 0
for command, shown in pairs:
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", command], stdout=subprocess.PIPE, text=True)
    printed = "".join(line for line in done.stdout.splitlines(True) if not line.startswith("#"))
    if done.returncode != 0 or "\n" + shown not in "\n" + printed:
        differ += 1
        print(f"{command}ended with {done.returncode} and printed\n{printed}where {sys.argv[1]} has\n{shown}")
print(f"{len(pairs)} commands, {differ} differ")
sys.exit(differ > 0)
