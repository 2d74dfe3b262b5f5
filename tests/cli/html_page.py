"""html_page.py: what a page of results says and does. usage: html_page.py static|hostile|browser|live PAGE RESULT...

`static` and `hostile` read the markup; `browser` and `live` use headless Chromium."""
import html.parser
import json
import re
import sys
import time

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
    heads = [level for level, _ in page.elements if re.fullmatch("h[1-6]", level)]
    assert heads.count("h1") == 1 and heads[0] == "h1"
    assert all(int(b[1]) <= int(a[1]) + 1 for a, b in zip(heads, heads[1:])), heads
    print(f"{len(page.source.encode()) - data} bytes without data")


def hostile(path, results):
    page, (result,) = Page(path), [json.load(open(r, encoding="utf8")) for r in results]
    assert len(page.scripts) == 3, [name for name, _ in page.scripts]
    text, evil = "".join(page.texts), result["recipe"]["title"]
    assert text.count(evil) >= 5, text
    shown = [t for t, _ in page.elements if t in ("img", "b", "svg", "textarea", "iframe")]
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
    lines = "document.querySelectorAll('figure[data-panel=\"0\"] [data-layer] path.line').length"
    ticks = "[...document.querySelectorAll('figure[data-panel=\"0\"] svg text')].map(t => t.textContent).join(' ')"
    button = "[...document.querySelectorAll('figure[data-panel=\"0\"] {}')]{}"
    try:
        b.screen(1280)
        milliseconds = b.open(path)
        assert b.run("document.querySelectorAll('.plot > svg').length") == b.run("document.querySelectorAll('figure').length") > 0
        before = b.run(lines)
        assert before > 1

        # The legend switches curves on and off, here and in the panels beside it.
        name = b.run(button.format(".legend button", "[1].textContent"))
        click(b, button.format(".legend button", "[1]"))
        assert b.run(button.format(".legend button", "[1].getAttribute('aria-pressed')")) == "false"
        assert b.run(lines) == before - 1 and name not in b.run("document.querySelector('.plot > svg').getAttribute('aria-label')")
        click(b, button.format(".legend button", "[1]"))
        assert b.run(lines) == before and name in b.run("document.querySelector('.plot > svg').getAttribute('aria-label')")

        # Axes: logarithmic or linear, over epochs, steps or bits.
        log = b.run(ticks)
        assert "10⁻" in log
        click(b, button.format(".controls button", "[1]"))
        assert b.run(ticks) != log and "10⁻" not in b.run(ticks)
        choices = b.run(button.format(".controls select", "[0].innerText")).split()
        assert {"epoch", "step", "bits"} <= set(choices), choices
        caption = b.run("document.querySelector('figcaption').textContent")
        b.run("(() => { const s = document.querySelector('.controls select'); s.value = 'bits'; s.dispatchEvent(new Event('change')) })()")
        assert "bits per worker" in b.run(ticks) and b.run("document.querySelector('figcaption').textContent") != caption
        b.open(path) # a reload keeps what was switched
        assert "bits per worker" in b.run(ticks)
        click(b, button.format(".controls button", ".find(e => e.textContent === 'as planned')"))
        assert b.run(ticks) == log and b.run("document.querySelector('figcaption').textContent") == caption

        # Values under the pointer, and by the arrow keys.
        x, y, width, height = rect(b, ".plot > svg")
        b.frames()
        b.mouse(x + width / 2, y + height / 2)
        tip = b.run("document.querySelector('.tip').innerText")
        assert re.search(r"epoch: \d", tip) and name in tip and b.run("!document.querySelector('.tip').hidden"), tip
        b.mouse(1, 1)
        assert b.run("document.querySelector('.tip').hidden")
        b.run("document.querySelector('.plot > svg').focus()")
        said = set()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
            b.press(key)
            said.add(b.run("document.querySelector('figure [role=status]').textContent"))
        assert len(said) == 4 and all(re.search(r": epoch .*, suboptimality", s) for s in said), said
        b.press("Escape")
        assert b.run("document.querySelector('.tip').hidden")
        b.run("document.querySelector('.legend button').focus()") # a switch by its key keeps the focus
        b.press("Enter")
        assert b.run("document.activeElement.getAttribute('aria-pressed')") == "false"
        b.press("Enter")
        assert b.run(lines) == before

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
        light = b.run("getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.querySelector('path.line')).stroke")
        b.screen(360, 780, dark=True)
        b.frames()
        assert b.run("document.documentElement.scrollWidth") <= 360
        assert b.run("Math.max(...[...document.querySelectorAll('.plot > svg')].map(s => s.getBoundingClientRect().right))") <= 360
        dark = b.run("getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.querySelector('path.line')).stroke")
        assert dark != light
        b.screen(1280, media="print")
        assert b.run("getComputedStyle(document.querySelector('.controls')).display") == "none"
        # Everything that can be pressed has a name.
        assert b.run("[...document.querySelectorAll('button, select, input, summary')].every(e => e.textContent.trim() || e.labels?.length || e.ariaLabel)")
        assert not b.errors and len(b.requests) == 1, (b.errors, b.requests)
        print(f"{milliseconds:.0f} ms")
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
        assert b.run("document.querySelector('.legend button').textContent") == evil
        x, y, width, height = rect(b, ".plot > svg")
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
    {"static": static, "hostile": hostile, "browser": browse, "harmless": harmless}[sys.argv[1]](sys.argv[2], sys.argv[3:])
