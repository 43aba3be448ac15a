#!/usr/bin/env python3
"""Pages of `cuarena report' in a browser without a window: what is drawn, hover, zoom, keys,
narrow screens, light and dark, nothing on the console, nothing asked of a network.

  check_report_page.py [PICTURES]     a folder to keep what it saw in

CUARENA is the command, srcdir the top of the source tree. Skipped (77) without a browser.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import report_data
from browser import Browser, found

CUARENA = os.environ.get("CUARENA", "tools/cuarena")
TRACES = Path(os.environ.get("srcdir", ".")) / "traces"
failed = []


def verdict(name, expected, got):
    print("ok   " if expected == got else "FAIL ", name)
    if expected != got:
        print("  expected ", expected, "\n  got      ", got)
        failed.append(name)


def report(folder, name, *arguments):
    """A page, and what is in it."""
    page = Path(folder) / (name + ".html")
    subprocess.run([CUARENA, "report", *arguments, "-o", page], stderr=subprocess.DEVNULL,
                   check=False)
    return page, *report_data.read(page)


def place_of(page, moment, offset):
    """Where the map has that: CSS pixels of the window."""
    return page.run("""(() => {
        const box = document.getElementById('map').getBoundingClientRect(), map = cuarena.map;
        return [box.left + map.sheet.x(cuarena.view, %r), box.top + map.y(%r)];
    })()""" % (moment, offset))


def hover(page, moment, offset):
    """What the tip says there."""
    x, y = place_of(page, moment, offset)
    page.mouse("mouseMoved", x, y)
    return page.run("document.getElementById('tip').hidden ? '' : "
                    "document.getElementById('tip').textContent")


def settle(page):
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def times(page):
    settle(page)
    return page.run("[cuarena.view.time.from, cuarena.view.time.to]")


def pixel(page, moment, offset):
    """The colour that the map has there, red, green and blue."""
    settle(page)
    return page.run("""(() => {
        const map = cuarena.map, scale = map.sheet.scale;
        const x = map.sheet.x(cuarena.view, %r) * scale, y = map.y(%r) * scale;
        return [...map.sheet.context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data].slice(0, 3);
    })()""" % (moment, offset))


def largest_stays(facts, stays, count):
    """The stays with the largest area, as (number, its middle moment, its middle offset)."""
    def area(i):
        return stays["life"][i] * stays["bytes"][i]
    order = sorted(range(len(stays["begin"])), key=area, reverse=True)[:count]
    return [(i, stays["begin"][i] + stays["life"][i] / 2,
             stays["offset"][i] * facts["unit_bytes"] + stays["bytes"][i] / 2) for i in order]


def check_hover(page, facts, tables):
    stays = tables["stays"]
    for i, moment, offset in largest_stays(facts, stays, 5):
        text = hover(page, moment, offset)
        verdict("hover over block %d tells of it" % stays["block"][i],
                ["block %d," % stays["block"][i], "({:,} B)".format(stays["bytes"][i]),
                 "stream %d" % stays["stream"][i], "line %d of" % stays["line"][i]],
                [part for part in ("block %d," % stays["block"][i],
                                   "({:,} B)".format(stays["bytes"][i]),
                                   "stream %d" % stays["stream"][i],
                                   "line %d of" % stays["line"][i]) if part in text])
    page.mouse("mouseMoved", 1, 1)
    verdict("the tip goes with the pointer", True, page.run("document.getElementById('tip').hidden"))


def check_small_block(page, facts, tables):
    """One that is less than a pixel of the whole, zoomed to."""
    stays = tables["stays"]
    small = [i for i in range(len(stays["begin"])) if 0 < stays["bytes"][i] <= 4096][7]
    offset = stays["offset"][small] * facts["unit_bytes"]
    page.run("cuarena.view.set('time', %d, 8); cuarena.view.set('place', %d, 4096)"
             % (stays["begin"][small] - 2, offset - 1024))
    text = hover(page, stays["begin"][small] + 0.5, offset + 1)
    verdict("hover over a small block, zoomed in", True, text.startswith("block %d," % stays["block"][small]))
    back = pixel(page, stays["begin"][small] - 1.5, offset + 1)
    there = pixel(page, stays["begin"][small] + 0.5, offset + 1)
    verdict("which is drawn", True, there != back)
    page.run("cuarena.view.reset()")


def check_drawing(page, facts, tables):
    """Pixels of blocks have their colour, pixels of nothing the background."""
    _, moment, offset = largest_stays(facts, tables["stays"], 1)[0]
    page.mouse("mouseMoved", 1, 1)
    verdict("a block has one of the colours", True, page.run(
        "cuarena.colouring.colours.map(rgbOf).map(String)").count(
            ",".join(map(str, pixel(page, moment, offset)))) > 0)


def check_cover(page):
    """How much of each pixel a rectangle covers, which pixels of 6 by 3 add up from the left. The
    tall one begins a pixel lower: the seam to the block above it."""
    got = page.run("""(() => {
        const raster = new Raster(), rows = [];
        raster.resize(6, 3);
        raster.add(1.25, 3.5, 0.5, 2, [8, 8, 8]);
        raster.add(-3, 1.25, 1, 9, [8, 8, 8]);
        raster.add(4, 99, 2, 3, [8, 8, 8]);
        for (let y = 0; y < 3; y++) {
            let sum = 0;
            rows.push([0, 1, 2, 3, 4, 5].map(x => sum += raster.steps[y * raster.stride + x * 4 + 3]));
        }
        return rows;
    })()""")
    verdict("pixels are covered by as much as they are",
            [[0, 0.375, 0.5, 0.25, 0, 0], [0, 0.75, 1, 0.5, 0, 0], [1, 0.25, 0, 0, 1, 1]], got)


def check_zoom(page, facts):
    x, y = place_of(page, facts["moments"] / 4, facts["span_bytes"] / 2)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-600)
    begin, end = times(page)
    verdict("the wheel zooms in", True, end - begin < facts["moments"] / 2)
    under = page.run("cuarena.view.time.from + (cuarena.view.time.to - cuarena.view.time.from) / 4")
    verdict("and leaves what is under it", True, abs(under - facts["moments"] / 4) < 15)
    page.mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
    page.mouse("mouseMoved", x - 100, y, button="left", buttons=1)
    page.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
    verdict("a drag pans", True, times(page)[0] > begin)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=6000)
    verdict("the wheel zooms out to all", [0, facts["moments"]], times(page))
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    verdict("a click tells of its moment", True, page.run(
        "Math.abs(cuarena.state.moment - %r) < 20" % (facts["moments"] / 4)))
    verdict("in the panel", "After event {:,}".format(page.run("cuarena.state.moment") + 1),
            page.run("document.getElementById('moment-title').textContent"))


def check_keys(page, facts):
    page.run("document.getElementById('map').focus()")
    page.key("+")
    page.key("+")
    begin, end = times(page)
    verdict("+ zooms in", True, end - begin < facts["moments"] / 2)
    page.key("ArrowRight")
    verdict("an arrow pans", True, times(page)[0] > begin)
    page.key("-")
    verdict("- zooms out", True, times(page)[1] - times(page)[0] > end - begin)
    page.key("0")
    verdict("0 shows all", [0, facts["moments"]], times(page))
    page.key("ArrowUp", modifiers=8)
    verdict("shift and an arrow move the cross", True, page.run("cuarena.state.cross !== null"))
    verdict("which is told aloud", True, page.run("document.getElementById('told').textContent !== ''"))
    moment = page.run("cuarena.state.moment")
    page.key(".")
    verdict(". goes to the next moment", moment + 1, page.run("cuarena.state.moment"))
    label = page.run("cuarena.colouring.label")
    page.key("c")
    verdict("c takes other colours", True, page.run("cuarena.colouring.label") != label)
    page.key("?")
    verdict("? tells of keys", True, page.run("document.getElementById('keys').open"))
    page.run("document.getElementById('keys').close()")


def check_touch(page, facts):
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    x, y = place_of(page, facts["moments"] / 2, facts["span_bytes"] / 2)
    page.touch("touchStart", (x - 50, y), (x + 50, y))
    for step in (80, 120, 200):
        page.touch("touchMove", (x - step, y), (x + step, y))
    page.touch("touchEnd")
    begin, end = times(page)
    verdict("two fingers zoom in", True, end - begin < facts["moments"] / 2)
    verdict("about where they are", True, begin < facts["moments"] / 2 < end)
    page.touch("touchStart", (x, y))
    for step in (20, 60, 120):
        page.touch("touchMove", (x - step, y))
    page.touch("touchEnd")
    verdict("one finger pans", True, times(page)[0] > begin)
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)
    page.run("cuarena.view.reset()")


def check_tabs(page):
    """Every control is reached by Tab, and has a name."""
    wanted = page.run("document.querySelectorAll('header select, header button, .tools button, canvas').length")
    page.run("document.activeElement.blur()")
    seen = set()
    for _ in range(60):
        page.key("Tab")
        seen.add(page.run("(() => { const e = document.activeElement; return e.closest("
                          "'header select, header button, .tools button, canvas') ? e.outerHTML : ''; })()"))
    verdict("Tab reaches every control", wanted, len(seen - {""}))
    verdict("every one of them has a name", 0, page.run(
        "[...document.querySelectorAll('button, canvas, select')].filter(e => "
        "!(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"))


def check_theme(page):
    def back():
        settle(page)
        return page.run("getComputedStyle(document.body).backgroundColor")
    light = back()
    page.prefer(dark=True)
    dark = back()
    verdict("light and dark differ", True, light != dark)
    page.run("document.getElementById('theme').value = 'light';"
             "document.getElementById('theme').dispatchEvent(new Event('change'))")
    verdict("the switch is above the system", light, back())
    page.run("document.getElementById('theme').value = '';"
             "document.getElementById('theme').dispatchEvent(new Event('change'))")
    verdict("and leaves it to it", dark, back())
    page.prefer(dark=False)


def check_narrow(page, name):
    for width in (1200, 768, 320):
        page.resize(width, 800)
        settle(page)
        verdict("%s: %d pixels are wide enough" % (name, width), True,
                page.run("document.documentElement.scrollWidth <= innerWidth"))
    page.resize(1200, 800)
    settle(page)


def quiet(page, name, path):
    verdict(name + ": nothing on the console", [], page.errors)
    verdict(name + ": nothing asked of others", [path.resolve().as_uri()[:100]], page.requests)


def check_page(folder, pictures):
    path, facts, tables = report(folder, "multistream", "--preset", "grow", "--streams",
                                 TRACES / "multistream.csv.gz")
    with Browser(1200, 800) as page:
        page.open(path)
        check_hover(page, facts, tables)
        check_small_block(page, facts, tables)
        check_drawing(page, facts, tables)
        check_cover(page)
        check_zoom(page, facts)
        check_keys(page, facts)
        check_touch(page, facts)
        check_tabs(page)
        check_theme(page)
        check_narrow(page, "multistream")
        quiet(page, "multistream", path)
        keep(page, pictures, "multistream")


def check_refused(folder, pictures):
    path, facts, tables = report(folder, "refused", "--pool", "720MiB",
                                 TRACES / "cupy_analytics.csv.gz")
    refusals = tables["refusals"]
    with Browser(1200, 800) as page:
        page.open(path)
        verdict("a refusal is told of", False, page.run("document.getElementById('failure').hidden"))
        verdict("with what the library said", facts["failure"]["text"],
                page.run("document.getElementById('failure-text').textContent"))
        way = [tables["stays"]["block"][i] for i in facts["failure"]["stays"]]
        verdict("and the blocks in the way", [str(block) for block in way], page.run(
            "[...document.querySelectorAll('#failure-blocks tbody tr')].map(row => row.cells[0].textContent)"))
        verdict("its moment is the one that is told of", refusals["moment"][0],
                page.run("cuarena.state.moment"))
        told = page.run("document.getElementById('moment-title').textContent")
        number = "".join(filter(str.isdigit, told))
        verdict("by the number that the library says", True,
                "event %s of pass 1:" % number in facts["failure"]["text"])
        page.key("f")
        begin, end = times(page)
        verdict("f goes there", True, begin < refusals["moment"][0] < end < facts["moments"])
        sizes = page.run("freeRanges(cuarena.report, cuarena.state.moment).map(range => range.bytes)")
        verdict("the free ranges are those of the library", [refusals["free"][0], refusals["largest"][0]],
                [sum(sizes), max(sizes)])
        check_narrow(page, "refused")
        quiet(page, "refused", path)
        keep(page, pictures, "refused")


def check_moves(folder, pictures):
    trace = Path(folder) / "<script>alert(1)<_script>.csv.gz"
    trace.write_bytes((TRACES / "cupy_analytics.csv.gz").read_bytes())
    path, facts, tables = report(folder, "moves", "--pool", "718MiB", "--compact", "on-fragmented", trace)
    stays = tables["stays"]
    moved = [i for i in range(1, len(stays["begin"])) if stays["begin"][i] > 0 and
             stays["block"][i] in stays["block"][max(0, i - 60):i] and stays["life"][i] > 5]
    with Browser(1200, 800) as page:
        page.open(path)
        verdict("a title of markup is text", "<script>alert(1)<_script>",
                page.run("document.getElementById('title').textContent"))
        i = max(moved, key=lambda k: stays["life"][k] * stays["bytes"][k])
        text = hover(page, stays["begin"][i] + stays["life"][i] / 2,
                     stays["offset"][i] * facts["unit_bytes"] + stays["bytes"][i] / 2)
        verdict("a moved block is found where it went", True, text.startswith("block %d," % stays["block"][i]))
        verdict("moves are told of", True, page.run(
            "document.getElementById('happened').textContent.includes('moved ')"))
        quiet(page, "moves", path)
        keep(page, pictures, "moves")


RECORDED = '''op,id,size,stream,time,tag,address,note
grow,,65536,,10,,0x10000,
a,7,16384,0x1,20,weights,0x10000,
a,8,16384,0x55,30,</script><b>,0x18000,
f,7,16384,0x1,40,weights,0x10000,
fail,,60000,0x1,50,,,CUARENA_FRAGMENTED
'''
STATE = '''{"version": 1, "statistics": {"reserved_bytes": 8192, "live_bytes": 2048},
 "tags": [{"number": 3, "name": "</script><b>"}], "streams": [{"number": 2, "handle": "0x55"}],
 "segments": [{"address": 139637976727552, "bytes": 4096}, {"address": 65536, "bytes": 4096}],
 "blocks": [{"id": "0x8000000100000001", "address": 139637976728576, "bytes": 2048,
  "requested_bytes": 2000, "tag": 3, "stream": 2, "flags": ["pinned"]}]}
'''


def check_written(folder, pictures, name, text, place, wanted):
    """A page of what an arena wrote: what the tip says at a place."""
    source = Path(folder) / name
    source.write_text(text)
    path, _, _ = report(folder, name, source)
    with Browser(1200, 800) as page:
        page.open(path)
        got = hover(page, *place)
        for part in wanted:
            verdict("%s: the tip has '%s'" % (name, part), True, part in got)
        verdict(name + ": tags are text", True, "</script><b>" in page.run(
            "document.getElementById('tags').textContent"))
        verdict(name + ": a refusal is told of if there was one", "fail" not in text,
                page.run("document.getElementById('failure').hidden"))
        way = page.run("document.getElementById('failure-way').textContent")
        verdict(name + ": so is what stood in its way", "fail" in text, way.startswith("In its way stood"))
        check_narrow(page, name)
        quiet(page, name, path)
        keep(page, pictures, name)


def check_recorded(folder, pictures):
    check_written(folder, pictures, "recorded.csv", RECORDED, (3.5, 0x9000),
                  ["block 1, 16 KiB", "tag </script><b>", "stream 0x55", "at 0x18000",
                   "age 1 event (10 ns), to the end"])


def check_unreserved(folder, pictures):
    """A recording that does not tell what was taken from the memory."""
    lines = [line for line in RECORDED.splitlines() if not line.startswith(("grow", "fail"))]
    source = Path(folder) / "unreserved.csv"
    source.write_text("\n".join(lines) + "\n")
    path, _, _ = report(folder, "unreserved", source)
    with Browser(1200, 800) as page:
        page.open(path)
        for name, text in (("curves-title", "Live bytes"), ("curves-legend", "live")):
            verdict("unreserved: " + name, text, page.run(
                "document.getElementById('%s').textContent" % name))
        verdict("unreserved: the summary", False, "reserved" in page.run(
            "document.getElementById('summary').textContent"))
        quiet(page, "unreserved", path)
        keep(page, pictures, "unreserved")


def check_state(folder, pictures):
    check_written(folder, pictures, "state.json", STATE, (0.5, 6000),
                  ["block 0x8000000100000001, pinned", "takes 2 KiB", "tag </script><b>",
                   "stream 0x55", "at 0x7f00000"])


def keep(page, pictures, name):
    if pictures is None:
        return
    for dark in (False, True):
        page.prefer(dark)
        settle(page)
        page.picture(Path(pictures) / ("%s-%s.png" % (name, "dark" if dark else "light")), whole=True)


def main():
    pictures = sys.argv[1] if len(sys.argv) > 1 else None
    if found() is None:
        print("skip: no browser: chromium-headless-shell or another of Chromium")
        return 77
    try:
        Browser().__exit__()
    except (RuntimeError, OSError) as error:
        print("skip: %s does not start: %s" % (found(), error))
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_page, check_refused, check_moves, check_recorded, check_unreserved,
                      check_state):
            check(folder, pictures)
    print("%d failed" % len(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
