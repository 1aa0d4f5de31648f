"""A figure as a file and as a piece of a page: SVG with its texts as texts, and PNG; always the same bytes."""

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

from matplotlib.figure import Figure

from .theme import INK, MUTED, PAPER, RULE, theme

#: Dots an inch of a PNG: a text column of a printed page at twice the screen's.
PNG_DPI = 200
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
#: The page's own colours in the place of ours: its text's, and variables that it may set.
PAGE_COLOURS = {
    INK: "currentColor",
    MUTED: "var(--figure-muted, currentColor)",
    RULE: "var(--figure-rule, rgb(128 128 128 / 0.3))",
    PAPER: "var(--figure-paper, Canvas)",
}
LINK = f"{{{XLINK}}}href"
#: Attributes made of lengths.
MEASURES = ("d", "x", "y", "width", "height", "transform")
FILE_FONTS = "'DejaVu Sans', Verdana, sans-serif"
#: Digits behind the point of a coordinate: a hundredth of a point is not seen.
DIGITS = 2

ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)


def to_png(figure: Figure) -> bytes:
    """A PNG on white."""
    made = io.BytesIO()
    _save(figure, made, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return made.getvalue()


def to_svg(figure: Figure, title: str) -> str:
    """An SVG file on white, with its title for readers of the screen."""
    root = _tidy(figure, "", title)
    root.set("font-family", FILE_FONTS)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def to_inline_svg(figure: Figure, name: str, title: str) -> str:
    """An ``<svg>`` element for an HTML page: no background, the page's font, its text colour for ink.

    It is as wide as what it stands in, and has no ``style`` that a strict Content-Security-Policy would refuse.
    ``name`` is put before the ids, so that several figures can share a page. The page may set the CSS variables
    ``--figure-muted``, ``--figure-rule`` and ``--figure-paper``.
    """
    figure.patch.set_visible(False)
    try:
        root = _tidy(figure, f"{name}-", title)
    finally:
        figure.patch.set_visible(True)
    root.attrib.pop("height")
    root.set("width", "100%")
    for element in root.iter():
        for attribute in ("fill", "stroke"):
            if element.get(attribute) in PAGE_COLOURS:
                element.set(attribute, PAGE_COLOURS[element.attrib[attribute]])
    return ET.tostring(root, encoding="unicode")


def _save(figure: Figure, target: io.BytesIO, **options: Any) -> None:
    with theme():
        figure.savefig(target, **options)


def _tidy(figure: Figure, prefix: str, title: str) -> ET.Element:
    """Matplotlib's SVG without metadata, style sheets, unused ids, empty groups and needless digits."""
    made = io.BytesIO()
    _save(figure, made, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ET.fromstring(made.getvalue())
    used = _used_ids(root)
    _clean_out(root)
    for element in root.iter():
        _tidy_element(element, prefix, used)
    _drop_groups(root)
    for name, value in {"role": "img", "aria-label": title, "stroke-linejoin": "round", "fill": INK}.items():
        root.set(name, value)
    return root


def _used_ids(root: ET.Element) -> set[str]:
    links = {element.get(LINK, "#")[1:] for element in root.iter()}
    urls = re.findall(r"url\(#(\w+)\)", " ".join(value for element in root.iter() for value in element.attrib.values()))
    return links | set(urls)


def _clean_out(root: ET.Element) -> None:
    """Without metadata, and without the style sheet, whose rules would reach all of a page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)


def _tidy_element(element: ET.Element, prefix: str, used: set[str]) -> None:
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() not in ("", "font-family"):
            element.set(name.strip(), value.strip())
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, prefix + value)
        elif name == LINK:
            element.set(name, f"#{prefix}{value[1:]}")
        elif value.startswith("url(#"):
            element.set(name, value.replace("url(#", f"url(#{prefix}"))
        elif name in MEASURES:
            element.set(name, _rounded(value))
    if re.fullmatch(r"rotate\(-?0 .*\)", element.get("transform", "")):
        element.attrib.pop("transform")
    element.tail = None
    if element.tag != f"{{{SVG}}}text":
        element.text = None


def _rounded(value: str) -> str:
    short = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.{DIGITS}f}".rstrip("0").rstrip("."), value)
    return re.sub(r"\s+", " ", short).strip()


def _drop_groups(element: ET.Element) -> None:
    """Groups that say nothing give way to what is in them, inside out, and empty definitions go."""
    kept: list[ET.Element] = []
    for child in list(element):
        _drop_groups(child)
        bare = not child.attrib
        if bare and child.tag == f"{{{SVG}}}g":
            kept.extend(child)
        elif not (bare and child.tag == f"{{{SVG}}}defs" and not len(child)):
            kept.append(child)
    element[:] = kept
