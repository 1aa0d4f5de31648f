"""A figure as a file, and as a piece of a page: SVG with its texts as texts, and PNG. The same figure gives the same bytes."""

import io
import re
import xml.etree.ElementTree as ET

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
    style = f"font-family: {FILE_FONTS}"
    root.set("style", style)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def to_inline_svg(figure: Figure, name: str, title: str) -> str:
    """An ``<svg>`` element for an HTML page: no background, the page's font, its text colour for ink.

    ``name`` is put before the ids, so that several figures can share a page. The page may set the CSS variables
    ``--figure-muted``, ``--figure-rule`` and ``--figure-paper``.
    """
    root = _tidy(figure, f"{name}-", title)
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.set("style", "font-family: inherit; width: 100%; height: auto")
    background = root.find(f"{{{SVG}}}g/{{{SVG}}}g")
    if background is not None:
        background.clear()
    for element in root.iter():
        for attribute in ("style", "fill", "stroke"):
            if attribute in element.attrib:
                element.set(attribute, _recoloured(element.attrib[attribute], attribute))
    return ET.tostring(root, encoding="unicode").replace(' xmlns:ns0="', ' xmlns="')


def _save(figure: Figure, target: io.IOBase, **options: object) -> None:
    with theme():
        figure.savefig(target, **options)  # type: ignore[arg-type]


def _tidy(figure: Figure, prefix: str, title: str) -> ET.Element:
    """Matplotlib's SVG without its metadata, unused ids, empty groups and needless digits."""
    made = io.BytesIO()
    _save(figure, made, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ET.fromstring(made.getvalue())
    for element in root.findall(f"{{{SVG}}}metadata"):
        root.remove(element)
    used = _used_ids(root)
    for element in root.iter():
        _tidy_element(element, prefix, used)
    _drop_groups(root)
    root.set("role", "img")
    root.set("aria-label", title)
    return root


def _used_ids(root: ET.Element) -> set[str]:
    links = {element.attrib.get(f"{{{XLINK}}}href", "#")[1:] for element in root.iter()}
    urls = re.findall(r"url\(#(\w+)\)", " ".join(value for element in root.iter() for value in element.attrib.values()))
    return links | set(urls)


def _tidy_element(element: ET.Element, prefix: str, used: set[str]) -> None:
    if element.attrib.get("id") not in used:
        element.attrib.pop("id", None)
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, prefix + value)
        elif name == f"{{{XLINK}}}href":
            element.set(name, f"#{prefix}{value[1:]}")
        elif name == "style":
            text = re.sub(r"font-family: [^;]*;? ?", "", value)
            element.set(name, re.sub(r"url\(#", f"url(#{prefix}", text).replace(": ", ":").replace("; ", ";"))
        elif name == "clip-path":
            element.set(name, value.replace("url(#", f"url(#{prefix}"))
        elif name in ("d", "x", "y", "width", "height", "transform"):
            element.set(name, _rounded(value))
    if re.fullmatch(r"rotate\(-?0 .*\)", element.attrib.get("transform", "")):
        element.attrib.pop("transform")
    element.tail = None
    if not element.tag.endswith(("text", "style")):
        element.text = None


def _rounded(value: str) -> str:
    short = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.{DIGITS}f}".rstrip("0").rstrip("."), value)
    return re.sub(r"\s+", " ", short).strip().replace("-0 ", "0 ")


def _drop_groups(element: ET.Element) -> None:
    """Groups that say nothing give way to what is in them, inside out."""
    for child in list(element):
        _drop_groups(child)
    kept: list[ET.Element] = []
    for child in list(element):
        if (
            child.tag in (f"{{{SVG}}}g", f"{{{SVG}}}defs")
            and not child.attrib
            and (len(child) == 0 or child.tag.endswith("g"))
        ):
            kept.extend(child)
        else:
            kept.append(child)
    element[:] = kept


def _recoloured(value: str, attribute: str) -> str:
    for ours, theirs in PAGE_COLOURS.items():
        value = value.replace(ours, theirs)
    return value
