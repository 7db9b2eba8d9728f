# SPDX-License-Identifier: BSD-3-Clause
"""A figure's SVG file as part of a page. The figure gets ids that are unique in the page, and a title and a
description for screen readers. Its background is removed, and everything that reaches beyond the figure."""

import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from testbed.errors import TestbedError

SVG = "http://www.w3.org/2000/svg"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
FONT = re.compile(r"font:\s*(?P<words>[a-z0-9 ]*?)\s*(?P<size>[\d.]+px)\s+(?P<family>[^;]+);?\s*")
DROPPED = ("metadata", "style")
ElementTree.register_namespace("", SVG)


def inline(path: Path, name: str, title: str, description: str) -> Element:
    """Load the figure in `path` for use within HTML; its ids begin with `name`."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise TestbedError(f"cannot read figure {path} ({error}); run make figures again") from error
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
        for dropped in [child for child in element if child.tag.rpartition("}")[2] in DROPPED]:
            element.remove(dropped)
        _font_in_parts(element)
    _clear_background(root)
    _own_ids(root, name)
    _describe(root, name, title, description)
    return root


def text(root: Element) -> str:
    """Serialise the element for HTML."""
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def glyphs(root: Element) -> dict[tuple[str, str], set[str]]:
    """Map each (weight, style) to the characters that the figure shows in that font."""
    used: dict[tuple[str, str], set[str]] = {}
    for element in root.iter():
        if element.tag in ("text", "tspan"):
            font = (element.get("font-weight", "400"), element.get("font-style", "normal"))
            used.setdefault(font, set()).update("".join(element.itertext()))
    return used


def _font_in_parts(element: Element) -> None:
    """Split matplotlib's `font:` into attributes, because WeasyPrint does not parse the shorthand with a weight."""
    match = FONT.search(element.get("style", ""))
    if not match:
        return
    for word in match["words"].split():
        weight = {"bold": "700", "normal": "400"}.get(word, word)
        element.set("font-style" if word in ("italic", "oblique") else "font-weight", weight)
    element.set("font-size", match["size"])
    element.set("font-family", ", ".join(part.strip().strip("'\"") for part in match["family"].split(",")))
    element.set("style", FONT.sub("", element.get("style", "")).strip())


def _own_ids(root: Element, name: str) -> None:
    """Keep only the ids that something in the figure refers to, prefixed with the figure's name."""
    used = set()
    for element in root.iter():
        href = str(element.attrib.pop(XLINK_HREF, element.get("href", "")))
        if href.startswith("#"):
            used.add(href[1:])
            href = f"#{name}-{href[1:]}"
        if href:
            element.set("href", href)
        for key, value in element.items():
            used.update(REFERENCE.findall(value))
            element.set(key, REFERENCE.sub(rf"url(#{name}-\1)", value))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.set("id", f"{name}-{own}")


def _clear_background(root: Element) -> None:
    """Remove the white fill that matplotlib draws below the figure and each of its axes; the page is the background."""
    for group in (root, *root.iter("g")):
        patch = group.find("./g/g/path" if group is root else "./g/path")
        behind = group is root or group.get("id", "").startswith("axes_")
        if behind and patch is not None and "#ffffff" in patch.get("style", ""):
            patch.set("style", "fill: none")


def _describe(root: Element, name: str, title: str, description: str) -> None:
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    # matplotlib states this in a style sheet, which inline() drops because it would apply to the whole page.
    root.set("stroke-linejoin", "round")
    for place, (tag, words) in enumerate((("title", title), ("desc", description))):
        element = Element(tag, {"id": f"{name}-{tag}"})
        element.text = words
        root.insert(place, element)
