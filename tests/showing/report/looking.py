"""Looking at a page: what its small windows say, what sticks out of it, which texts are too faint."""

import json
import re

# What sticks out of the page, or out of the picture it belongs to.
STICKING_OUT = """(() => {
  const width = document.documentElement.clientWidth;
  const found = document.documentElement.scrollWidth > width ? ["the page"] : [];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("pre, clipPath, .skip, .tip")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 0.5 || box.left < -0.5)) found.push(element.outerHTML.slice(0, 90));
  }
  for (const text of document.querySelectorAll("svg text")) {
    const box = text.getBoundingClientRect();
    const frame = text.ownerSVGElement.getBoundingClientRect();
    const inside = box.left > frame.left - 1 && box.right < frame.right + 1 && box.bottom < frame.bottom + 1;
    if (!inside) found.push(text.textContent);
  }
  return found;
})()"""
FAINT = """(() => {
  const light = (c) => c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const numbers = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const paper = light(numbers(getComputedStyle(document.body).backgroundColor));
  const found = [];
  for (const name of ["body", "dt", "figcaption", ".note", "nav a", "td", "label", ".tick", ".axis-name", ".switch"]) {
    const element = document.querySelector(name);
    if (!element) continue;
    const style = getComputedStyle(element);
    const ink = light(numbers(element instanceof SVGElement ? style.fill : style.color));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5) found.push([name, ratio]);
  }
  return found;
})()"""


def tip(page, place):
    """What the small window of a plot says: its heading, and values by name."""
    heading, rows = page.run(
        f"(() => {{ const e = document.querySelector({json.dumps(place + ' .tip')}); if (e.hidden) return ['', []]; "
        "return [e.querySelector('.tip-head').textContent, [...e.querySelectorAll('.tip-row')].map((r) => "
        "[r.querySelector('.tip-name').textContent, r.querySelector('.tip-value').textContent])]; })()"
    )
    return heading, {name: read(value) for name, value in rows}


def read(text):
    """A number as the page prints it."""
    mantissa, power, exponent = text.replace("−", "-").partition(" × 10")
    return float(mantissa) * 10.0 ** int(exponent) if power else float(mantissa)


def coordinates(heading):
    return {axis: read(value) for axis, value in re.findall(r"(\w+) = ([−\d.]+)", heading)}


def map_of(kind, run=0):
    return f'.panel[data-kind="{kind}"][data-run="{run}"]'


def picture(page, place):
    """The pixels of a map as text, to see whether it changed."""
    return page.run(f"document.querySelector({json.dumps(place + ' canvas')}).toDataURL()")


def assert_sound(page):
    """It fits into a window and into a telephone, asks for nothing and complains about nothing."""
    for width in (1280, 390):
        page.resize(width)
        page.settle()
        assert page.run(STICKING_OUT) == []
    assert page.complaints() == []
    assert page.requests() == []
