"""What the HTML parser asks of an element: its tag, text, style, numbers."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace

from lxml import etree

from clew.indexing.parsers.items import Style

_SKIPPED_TAGS = (
    "script style template noscript head iframe object embed svg canvas button select option input "
    "textarea nav map audio video dialog "
)
SKIPPED = frozenset(_SKIPPED_TAGS.split())
_BLOCKS_TAGS = (
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer "
    "form h h1 h2 h3 h4 h5 h6 header hr html li main ol p pre section summary table tbody thead tfoot tr "
    "td th ul caption "
)
BLOCKS = frozenset(_BLOCKS_TAGS.split())
_BOLD = frozenset(("b", "strong", "th"))
_FONT_WEIGHT = re.compile(r"font-weight\s*:\s*(\w+)")
_FONT_SIZE = re.compile(r"font-size\s*:\s*([\d.]+)\s*(pt|px|em|rem|%)?")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_POINTS = {"px": 0.75, "em": 12.0, "rem": 12.0, "%": 0.12}


def tag_of(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def text_of(element: etree._Element) -> str:
    """All text below an element, as it stands."""
    return "".join(str(text) for text in element.itertext())


def is_hidden(element: etree._Element) -> bool:
    """Whether an element's own style hides it."""
    return bool(_HIDDEN.search(element.get("style") or ""))


def parent_of(element: etree._Element) -> etree._Element:
    parent = element.getparent()
    return element if parent is None else parent


def runs_of(root: etree._Element, style: Style) -> list[tuple[str, Style]]:
    """Text with its style, block ends and line breaks as spaces."""
    runs: list[tuple[str, Style]] = []
    styles = [style]
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = tag_of(element)
        if event == "start":
            styles.append(style_of(element, tag, styles[-1]))
            if tag in SKIPPED or is_hidden(element):
                walk.skip_subtree()
            else:
                runs.append((" " if tag in BLOCKS or tag == "br" else "", styles[-1]))
                runs.append((element.text or "", styles[-1]))
        else:
            styles.pop()
            if element is not root:
                runs.append((" " if tag in BLOCKS else "", styles[-1]))
                runs.append((element.tail or "", styles[-1]))
    return runs


def style_of(element: etree._Element, tag: str, inherited: Style) -> Style:
    css = element.get("style")
    bold = True if tag in _BOLD else inherited.bold
    italic = True if tag in ("i", "em") else inherited.italic
    underline = True if tag == "u" else inherited.underline
    if not css:
        if (bold, italic, underline) == (inherited.bold, inherited.italic, inherited.underline):
            return inherited
        return replace(inherited, bold=bold, italic=italic, underline=underline)
    weight = _FONT_WEIGHT.search(css)
    if weight:
        bold = weight[1] in ("bold", "bolder") or (weight[1].isdigit() and int(weight[1]) >= 600)
    size = _FONT_SIZE.search(css)
    points = float(size[1]) * _POINTS.get(size[2] or "", 1.0) if size and size[1].count(".") <= 1 else inherited.size
    return Style(
        bold=bold,
        italic="font-style:italic" in css.replace(" ", "") or italic,
        underline="underline" in css or underline,
        size=points,
        centred="text-align:center" in css.replace(" ", "") or inherited.centred,
    )


def common_style(runs: list[tuple[str, Style]]) -> Style:
    """The style that (nearly) all of the text has."""
    shown = [(len(text.strip()), style) for text, style in runs if text.strip()]
    total = sum(n for n, _ in shown) or 1

    def most(flag: str) -> bool:
        return sum(n for n, style in shown if getattr(style, flag)) >= 0.95 * total

    size = max(((n, style.size) for n, style in shown), default=(0, 0.0))[1]
    return Style(most("bold"), most("italic"), most("underline"), size, most("centred"))


def number_of(value: str | None, default: int) -> int:
    digits = re.match(r"\s*(\d{1,6})", value or "")
    return int(digits[1]) if digits else default


def language_of(element: etree._Element) -> str | None:
    for candidate in (element, *element.iterchildren()):
        found = re.search(r"(?:lang(?:uage)?|brush)[-:]\s*([\w+#]+)", candidate.get("class") or "")
        if found:
            return found[1]
    return None


def payload_of(source: str) -> bytes:
    """An embedded image's bytes, else its address: what tells this image from another."""
    if source.startswith("data:") and ";base64," in source[:100]:
        try:
            return base64.b64decode(source.partition(",")[2], validate=False)
        except (binascii.Error, ValueError):
            pass
    return source.encode("utf-8", "replace")
