"""html_page.py: what a page of results says and does. usage: html_page.py static|hostile|browser|picture|harmless PAGE RESULT...

`static` and `hostile` read the markup; the others use headless Chromium."""
# SPDX-License-Identifier: MIT
import base64
import html.parser
import json
import re
import struct
import sys
import time
import zlib

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(html.parser.HTMLParser):
    """Elements, texts and scripts of a page; fails where an element is not closed in its order."""

    def __init__(self, path):
        super().__init__()
        self.open, self.elements, self.texts, self.scripts, self.ids, self.links = [], [], [], [], [], []
        with open(path, encoding="utf8") as page:
            self.source = page.read()
        self.feed(self.source)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if attributes.get("href", "").startswith("#"):
            self.links.append(attributes["href"][1:])
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([attributes.get("id"), ""])

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    def documents(self):
        return [json.loads(text) for name, text in self.scripts if name and name.endswith("-document")]


def static(path, results):
    page = Page(path)
    assert len(set(page.ids)) == len(page.ids), "an id is there twice"
    assert not set(page.links) - set(page.ids), f"links to nowhere: {set(page.links) - set(page.ids)}"
    for tag, attributes in page.elements: # nothing of it is elsewhere
        assert tag not in ("img", "iframe", "object", "base", "form"), tag
        for name in ("src", "href", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
    expected = [json.load(open(result, encoding="utf8")) for result in results]
    assert page.documents() == expected, "the embedded JSON is not the result"
    data = sum(len(text.encode()) for name, text in page.scripts if name)
    data += sum(len(drawing.encode()) for drawing in re.findall(r"<svg xmlns.*?</svg>", page.source, re.S))
    heads = [level for level, _ in page.elements if re.fullmatch("h[1-6]", level)]
    assert heads.count("h1") == 1 and heads[0] == "h1"
    assert all(int(b[1]) <= int(a[1]) + 1 for a, b in zip(heads, heads[1:])), heads
    print(f"{len(page.source.encode()) - data} bytes without data")


def hostile(path, results):
    page, (result,) = Page(path), [json.load(open(r, encoding="utf8")) for r in results]
    assert len(page.scripts) == 2, [name for name, _ in page.scripts]
    text, evil = "".join(page.texts), result["recipe"]["title"]
    assert text.count(evil) >= 5, text
    shown = [t for t, _ in page.elements if t in ("img", "b", "textarea", "iframe")]
    assert not shown, shown


def rect(browser, selector):
    return browser.run(f"(() => {{ const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
                       " const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] })()")


def click(browser, script):
    browser.run(f"({script}).click()")
    browser.frames()


def browse(path, _):
    from browser import Browser
    b = Browser()
    shown = "document.querySelectorAll('.plot [data-panel]')[{}].querySelectorAll('[data-method]:not([display])').length"
    entry = "document.querySelectorAll('[data-legend]')[0]"
    try:
        b.screen(1280)
        milliseconds = b.open(path)
        panels = b.run("document.querySelectorAll('.plot [data-panel]').length")
        assert panels > 1 and b.run("document.querySelectorAll('.plot > svg').length") == b.run("document.querySelectorAll('figure').length") > 0
        before = [b.run(shown.format(p)) for p in range(panels)]
        assert min(before) > 1

        # The legend switches a method on and off, in all panels that have it.
        name = b.run(f"{entry}.dataset.legend")
        having = [b.run(f"[...document.querySelectorAll('.plot [data-panel]')[{p}].querySelectorAll('[data-method]')].some(e => e.dataset.method === {json.dumps(name)})") for p in range(panels)]
        press = f"{entry}.dispatchEvent(new Event('click'))"
        b.run(press)
        assert b.run(f"{entry}.getAttribute('aria-pressed')") == "false"
        assert [b.run(shown.format(p)) for p in range(panels)] == [n - h for n, h in zip(before, having)]
        b.run(press)
        assert [b.run(shown.format(p)) for p in range(panels)] == before

        # A panel alone, and all again; so a rectangle that is dragged.
        view = "document.querySelector('.plot > svg').getAttribute('viewBox')"
        whole = b.run(view)
        click(b, "document.querySelectorAll('.controls button')[1]")
        assert b.run(view) != whole
        click(b, "[...document.querySelectorAll('.controls button')].find(e => e.textContent === 'whole figure')")
        assert b.run(view) == whole

        # Values under the pointer, and by the arrow keys.
        x, y, width, height = rect(b, ".plot [data-panel] [id$=curves1]")
        b.frames()
        b.mouse(x + width / 2, y + height / 2)
        tip = b.run("document.querySelector('.tip').innerText")
        curves = b.run("[...document.querySelectorAll('.plot [data-panel]')[0].querySelectorAll('[data-method]')].map(e => e.dataset.method)")
        assert re.search(r"epoch: \d", tip) and any(c in tip for c in curves) and b.run("!document.querySelector('.tip').hidden"), tip
        b.mouse(1, 1)
        assert b.run("document.querySelector('.tip').hidden")
        b.run("document.querySelector('.plot > svg').focus()")
        said = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "Enter", "ArrowRight"):
            b.press(key)
            said.append(b.run("document.querySelector('figure [role=status]').textContent"))
        assert len(set(said)) == 6 and all(re.search(r": epoch .*, suboptimality", s) for s in said), said
        assert "compared" in said[4] and re.search(r"[\d.]+ × ", said[5]), said
        # What is read is what the result has: the first spot of the first curve.
        value = b.run("document.querySelector('.plot [data-panel] [data-method]').dataset.y.split(' ')[0]")
        assert f"{float(value):.4g}".rstrip("0").rstrip(".") in said[0], (value, said[0])
        b.press("Escape")
        assert b.run("document.querySelector('.tip').hidden")
        b.run(f"{entry}.focus()") # a switch by its key keeps the focus
        b.press("Enter")
        assert b.run("document.activeElement.getAttribute('aria-pressed')") == "false"
        b.press("Enter")
        assert b.run(shown.format(0)) == before[0]

        # The numbers of a figure as a table; tables are sorted by any column.
        b.run("document.querySelector('.numbers-of').open = true")
        b.frames()
        assert b.run("document.querySelectorAll('.numbers-of tbody tr').length") > 5
        for column in (0, 1):
            head = f"document.querySelectorAll('#r1-finals ~ .scroll th button')[{column}]"
            cells = ("[...document.querySelectorAll('#r1-finals ~ .scroll tbody tr')]"
                     f".map(r => r.cells[{column}].dataset.v ?? r.cells[{column}].textContent)")
            orders = []
            for _ in (0, 1):
                click(b, head)
                orders.append([float(v) if column else v for v in b.run(cells)])
            assert orders[0] == sorted(orders[0]) and orders[1] == orders[0][::-1] != orders[0], orders
            assert b.run(head + ".parentNode.getAttribute('aria-sort')") == "descending"

        # Narrow, dark, printed.
        colors = ("['.sheet', 'svg text', '.axis'].map(s => { const c = getComputedStyle(document.querySelector(s));"
                  " return c.fill + c.stroke }).join() + getComputedStyle(document.documentElement).backgroundColor")
        light = b.run(colors)
        b.screen(360, 780, dark=True)
        b.frames()
        assert b.run("document.documentElement.scrollWidth") <= 360
        dark = b.run(colors)
        assert dark.count("rgb") == light.count("rgb") and "rgb(255, 255, 255)" in light and "rgb(255, 255, 255)" not in dark, (light, dark)
        b.screen(1280, media="print")
        assert b.run("getComputedStyle(document.querySelector('.controls')).display") == "none"
        # Everything that can be pressed has a name.
        assert b.run("[...document.querySelectorAll('button, select, input, summary')].every(e => e.textContent.trim() || e.labels?.length || e.ariaLabel)")
        assert not b.errors and len(b.requests) == 1, (b.errors, b.requests)
        print(f"{milliseconds:.0f} ms")
    finally:
        b.close()


def pixels(browser, selector):
    """The pixels of an element as (red, green, blue), from a screenshot."""
    x, y, width, height = browser.run(f"(() => {{ const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
                                      " const r = e.getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height] })()")
    browser.frames()
    clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
    data = base64.b64decode(browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"])
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            columns, rows, depth, color = struct.unpack(">IIBB", data[at + 8:at + 18])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    assert depth == 8 and color in (2, 6)
    unit, raw, line, out = 3 if color == 2 else 4, zlib.decompress(packed), bytes(columns * 4), []
    for row in range(rows):
        begin = row * (columns * unit + 1)
        before, line = line, bytearray(raw[begin + 1:begin + 1 + columns * unit])
        for i, up in zip(range(len(line)), before):
            left, corner = (line[i - unit], before[i - unit]) if i >= unit else (0, 0)
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[raw[begin]]) & 255
        out += [tuple(line[i:i + 3]) for i in range(0, len(line), unit)]
    return out


def picture(path, _):
    """What the eye meets, wide and narrow, light and dark: sizes in the window, and the baseline against the ground."""
    from browser import Browser
    b = Browser()
    try:
        for columns, dark in ((1280, False), (400, True), (1280, True), (400, False)):
            b.screen(columns, 900, dark=dark)
            b.open(path)
            where = f"{columns} px, {'dark' if dark else 'light'}"
            ink = b.run("getComputedStyle(document.body).color")
            ground = b.run("getComputedStyle(document.documentElement).backgroundColor")
            assert ink != ground
            # The baseline has the colour of ink, in the figure and in its copy beside the contents.
            assert b.run("getComputedStyle(document.querySelector('.plot [stroke=\"#000000\"]')).stroke") == ink, where
            wanted = tuple(int(v) for v in re.findall(r"\d+", ink)[:3])
            near = sum(max(abs(a - w) for a, w in zip(pixel, wanted)) < 48 for pixel in pixels(b, ".thumb"))
            assert near > 20, (where, near)
            # One panel alone fills the drawing and lies in the window.
            click(b, "[...document.querySelectorAll('.controls button')].find(e => e.textContent.startsWith('(a)'))")
            x, y, width, height = rect(b, ".plot > svg")
            left, top, wide, high = rect(b, ".plot [data-panel]")
            assert x >= 0 and x + width <= columns + 1, (where, x, width)
            assert left >= x - 1 and left + wide <= x + width + 1 and max(wide / width, high / height) > 0.8, (where, left, wide, x, width)
            click(b, "[...document.querySelectorAll('.controls button')].find(e => e.textContent === 'whole figure')")
            # What is said under the pointer stays in its box.
            left, top, wide, high = rect(b, ".plot [data-panel] [id$=curves1]")
            b.frames()
            b.mouse(min(left + wide / 2, columns - 20), top + high / 2)
            hidden, inner, outer = b.run("(t => [t.hidden, t.scrollWidth, t.clientWidth])(document.querySelector('.tip'))")
            assert not hidden and inner <= outer, (where, hidden, inner, outer)
    finally:
        b.close()


def axes(path, _):
    """Columns and scales of a panel are changed and put back; what is drawn lies in the panel and has the numbers of the result."""
    from browser import Browser
    b = Browser()
    lines = "[...document.querySelectorAll('[data-panel]')[0].querySelectorAll('path.line')].map(e => e.getAttribute('d'))"
    texts = "[...document.querySelectorAll('[data-panel]')[0].querySelectorAll('text')].map(e => e.textContent)"
    change = "(([n, set]) => { const e = document.querySelectorAll('.axes')[0].querySelectorAll('select, input')[n]; set(e); e.dispatchEvent(new Event('change')); })"
    try:
        for columns, dark in ((1280, False), (400, True)):
            b.screen(columns, 900, dark=dark)
            b.open(path)
            before = b.run(lines), b.run(texts)
            assert len(before[0]) == 3
            click(b, "document.querySelectorAll('.axes summary')[0]")
            b.frames()
            assert b.run("[...document.querySelectorAll('.axes')[0].querySelectorAll('select')].map(e => e.value)") == ["epoch", "suboptimality"]
            assert b.run("[...document.querySelectorAll('.axes')[0].querySelectorAll('input')].map(e => e.checked)") == [False, True]
            b.run(f"{change}([3, e => e.checked = false])")  # y is even now
            even = b.run(lines), b.run(texts)
            assert even[0] != before[0] and "0" in even[1] and not any(t.startswith("10⁻") for t in even[1]), even[1]
            b.run(f"{change}([0, e => e.value = 'bits'])")
            b.run(f"{change}([2, e => e.value = 'error_norm'])")
            b.run(f"{change}([1, e => e.checked = true])")
            now = b.run(texts)
            assert any(t.startswith("error norm") for t in now) and any("error norm" in t and "over bits" in t for t in now), now
            # Curves have the numbers of the result, within the panel.
            drawn = b.run("[...document.querySelectorAll('[data-panel]')[0].querySelectorAll('[data-method]')].map(e => e.dataset.method)")
            assert drawn == ["Top-k", "Hard-threshold", "SGD"], drawn
            good = b.run("""(() => { const panel = document.querySelectorAll('[data-panel]')[0], result = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
                const [l, t, w, h] = panel.dataset.box.split(' ').map(Number);
                return [...panel.querySelectorAll('[data-method]')].every(g => { const s = result.results.find(r => r.label === g.dataset.method).series;
                    const all = s.error_norm.mean.map((v, i) => [s.bits.mean[i], v]).filter(([x]) => x > 0).map(p => p[1]).join(' ');
                    return g.dataset.y === all && g.querySelector('path.line').getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number)).every(([x, y]) => x >= l - .1 && x <= l + w + .1 && y >= t - .1 && y <= t + h + .1); }); })()""")
            assert good, columns
            ink, ground = b.run("[getComputedStyle(document.querySelectorAll('[data-panel]')[0].querySelector('text:last-child')).fill, getComputedStyle(document.documentElement).backgroundColor]")
            assert ink != ground, (ink, ground)
            # What is switched off stays so in another drawing.
            b.run("[...document.querySelectorAll('[data-legend]')].find(e => e.dataset.legend === 'Top-k').dispatchEvent(new Event('click'))")
            b.run(f"{change}([1, e => e.checked = false])")
            off = b.run("[...document.querySelectorAll('[data-panel]')[0].querySelectorAll('[data-method]')].map(e => [e.dataset.method, e.getAttribute('display')])")
            assert off == [["Top-k", "none"], ["Hard-threshold", None], ["SGD", None]], off
            click(b, "[...document.querySelectorAll('.axes button')].find(e => e.textContent === 'as drawn')")
            assert (b.run(lines), b.run(texts)) == before
            assert not b.errors, b.errors
    finally:
        b.close()


def groups(path, _):
    """Many results: an index of groups, and what is below a heading on demand, at the first link into it."""
    from browser import Browser
    b = Browser()
    try:
        for columns in (1280, 400):
            b.screen(columns, 900)
            b.open(path)
            index = b.run("[...document.querySelectorAll('.index a')].map(e => [e.textContent, e.hash])")
            heads = b.run("[...document.querySelectorAll('.contents h2')].map(e => [e.textContent, '#' + e.id])")
            assert len(index) > 2 and index == heads, (index, heads)
            total = b.run("[...document.querySelectorAll('.index li')].reduce((n, e) => n + +e.textContent.match(/\\d+$/)[0], 0)")
            results = b.run("document.querySelectorAll('article').length")
            assert total == results == b.run("document.querySelectorAll('.contents ol > li').length") > 8
            folded = b.run("document.documentElement.scrollHeight")
            assert folded / results < 1500, (columns, folded)
            assert b.run("document.querySelectorAll('.folded[open]').length") == 0
            b.run("location.hash = '#r2-figures'")
            for _ in range(100):  # the page scrolls there
                if b.run("document.querySelectorAll('#r2 .controls').length"):
                    break
                b.frames()
            else:
                raise AssertionError("the figures of a section that was unfolded are not read")
            assert b.run("document.querySelectorAll('.folded[open]').length") == 1
            assert b.run("document.documentElement.scrollHeight") > folded + 500
        assert not b.errors, b.errors
    finally:
        b.close()


def harmless(path, results):
    """A page of hostile texts in a browser: no script of theirs runs, and the figures have the texts as they are."""
    from browser import Browser
    b, (result,) = Browser(), [json.load(open(r, encoding="utf8")) for r in results]
    try:
        b.screen(1280)
        b.open(path)
        evil = result["results"][0]["label"]
        assert evil in b.run("[...document.querySelectorAll('[data-legend]')].map(e => e.dataset.legend)")
        x, y, width, height = rect(b, ".plot [data-panel] [id$=curves1]")
        b.frames()
        b.mouse(x + width / 2, y + height / 2)
        assert evil in b.run("document.querySelector('.tip').textContent")
        b.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        b.frames()
        assert b.run("window.stolen === undefined && !document.querySelector('img, b, iframe')")
        assert not b.errors and len(b.requests) == 1, (b.errors, b.requests)
    finally:
        b.close()


if __name__ == "__main__":
    {"static": static, "hostile": hostile, "browser": browse, "harmless": harmless, "picture": picture, "groups": groups, "axes": axes}[sys.argv[1]](sys.argv[2], sys.argv[3:])
