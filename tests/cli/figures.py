#!/usr/bin/env python3
"""Looks at SVG figures as a reader does: what is written where, and whether anything lies over anything else.

figures.py overlaps FILE...   names texts that touch texts, ticks or frames, or leave the sheet
figures.py same A B           compares the texts of two figures, with their places, and the colours of their lines

The boxes of texts are computed with the widths of DejaVu Sans, because SVG leaves the choice of a font to its viewer and
this is the widest in use.
"""
# SPDX-License-Identifier: MIT
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = dict(zip((chr(c) for c in range(32, 127)), (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84,
    84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69,
    39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82,
    59, 59, 52, 64, 34, 64, 84)))
WIDTH.update({"λ": 59, "τ": 60, "∞": 83, "‖": 50, "−": 84, "×": 84, "⁻": 53, "±": 84, "—": 100, "–": 50, "’": 32, "γ": 59})
WIDTH.update(dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", 40))


def width(text, size):
    return sum(WIDTH.get(c, 70) for c in text) / 100 * size


class Text:
    def __init__(self, text):
        size, self.turned = float(text.get("font-size")), "rotate" in text.get("transform", "")
        x, y = map(float, re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", text.get("transform")).groups()
                   if self.turned else (text.get("x"), text.get("y")))
        parts = [(text.text or "", size)] + [(span.text or "", float(span.get("font-size"))) for span in text.iter(SVG + "tspan")]
        self.text, self.at = "".join(part for part, _ in parts).strip(), (x, y)
        w = sum(width(part, size) for part, size in parts)
        left = {"start": 0, "middle": -w / 2, "end": -w}[text.get("text-anchor", "start")]
        if self.turned:  # it is read upwards
            self.box = (x - 0.76 * size, y - left - w, x + 0.2 * size, y - left)
        else:
            self.box = (x + left, y - 0.76 * size, x + left + w, y + 0.2 * size)


class Figure:
    def __init__(self, path):
        root = tree.parse(path).getroot()
        self.width, self.height = float(root.get("width")), float(root.get("height"))
        self.texts = [Text(t) for t in root.iter(SVG + "text") if "".join(t.itertext()).strip()]
        paths = list(root.iter(SVG + "path"))
        self.colors = sorted({p.get("stroke") for p in paths if p.get("class") not in ("axis", "grid")} - {None})
        self.lines = [piece for p in paths if p.get("class") == "axis" for piece in self.segments(p.get("d"))]

    @staticmethod
    def segments(d):
        """The straight pieces of a path of moves and of lines across and down, as ticks and frames are."""
        pieces, x, y = [], 0.0, 0.0
        for command, numbers in re.findall(r"([MVHvh])([-\d. ]+)", d):
            value = [float(n) for n in numbers.split()]
            to = {"M": lambda: (value[0], value[-1]), "H": lambda: (value[0], y), "V": lambda: (x, value[0]),
                  "h": lambda: (x + value[0], y), "v": lambda: (x, y + value[0])}[command]()
            if command != "M":
                pieces.append((min(x, to[0]), min(y, to[1]), max(x, to[0]), max(y, to[1])))
            x, y = to
        return pieces


def touch(a, b, room=0.4):
    return min(a[2], b[2]) - max(a[0], b[0]) > room and min(a[3], b[3]) - max(a[1], b[1]) > room


def overlaps(figure):
    for i, one in enumerate(figure.texts):
        x0, y0, x1, y1 = one.box
        if x0 < 0 or y0 < 0 or x1 > figure.width or y1 > figure.height:
            yield "'%s' leaves the sheet" % one.text
        for other in figure.texts[:i]:
            if touch(one.box, other.box):
                yield "'%s' touches '%s'" % (one.text, other.text)
        for line in figure.lines:
            if touch(one.box, (line[0] - 0.4, line[1] - 0.4, line[2] + 0.4, line[3] + 0.4)):
                yield "'%s' touches a tick or frame at %.0f,%.0f" % (one.text, line[0], line[1])
                break


def main():
    command, paths = sys.argv[1], sys.argv[2:]
    faults = []
    if command == "overlaps":
        for path in paths:
            figure = Figure(path)
            if len(figure.texts) < 5 or not figure.lines:
                faults.append("%s: %d texts and %d ticks are too few for a figure" % (path, len(figure.texts), len(figure.lines)))
            faults += ["%s: %s" % (path, what) for what in overlaps(figure)]
    else:
        a, b = map(Figure, paths)
        if [t.text for t in a.texts] != [t.text for t in b.texts]:
            faults.append("texts differ: %s" % sorted({t.text for t in a.texts} ^ {t.text for t in b.texts}))
        else:
            faults += ["'%s' is at %s and at %s" % (s.text, s.at, t.at) for s, t in zip(a.texts, b.texts)
                       if max(abs(s.at[0] - t.at[0]), abs(s.at[1] - t.at[1])) > 2 or s.turned != t.turned]
        if a.colors != b.colors:
            faults.append("colours differ: %s" % sorted(set(a.colors) ^ set(b.colors)))
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


main()
