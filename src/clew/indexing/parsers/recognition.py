"""Text recognition (OCR): pictures of pages become words and ruling lines, through RapidOCR's models.

The models (PP-OCR, Chinese and English) come inside the ``rapidocr`` package; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.errors import UnsupportedFileError
from clew.indexing.parsers.base import is_wide
from clew.indexing.parsers.context import DEFAULT_CONTEXT, PageTexts
from clew.indexing.parsers.pdf_page import PageContent, Rule, Word
from clew.types import BBox

Image = NDArray[np.uint8]
"""Shape ``(height, width, 3)``."""

_READING = 1
"""Of what this module does with a picture: raise it when the same one may give other lines."""
_DETECTION_SIDE = 1280
"""The longer side at which lines are looked for; they are read at full size. Half the time of 2,000, the same lines."""
_MIN_SCORE = 0.6
"""Lines that are read with less confidence are strokes of a drawing or a stamp."""
_MIN_SIDE = 1000
"""Smaller pictures are enlarged: screenshots have letters of ten pixels."""
_SURE = 0.85
"""A page whose lines are read with less than this on average may lie on its side or head."""
_BLANK = 2.0
"""A picture whose pixels deviate less than this (of 255) shows nothing."""
_SIZE_OF_BOX = 0.8
"""Font size as a share of the height of a line's box."""
_WIDTHS = (1.0, 0.55, 0.3)
"""Widths of an ideograph, another character and a space, for where in a line a word stands."""


@dataclass(frozen=True, slots=True)
class Line:
    """One recognised line; the box in pixels."""

    text: str
    score: float
    x0: float
    y0: float
    x1: float
    y1: float


def recognise(
    picture: Image, width: float, height: float, number: int, known: PageTexts = DEFAULT_CONTEXT.page_texts
) -> PageContent:
    """The content of a page ``width`` × ``height`` points that ``picture`` shows: words and ruling lines.

    A page that lies on its side or head is turned; the content's ``turn`` says by how much. A picture that is ``known``
    is not read again.
    """
    if picture.std() < _BLANK:
        return PageContent(number, width, height)
    turn, lines, upright = _read(picture, known)
    if turn in (90, 270):
        width, height = height, width
    scale = width / upright.shape[1]
    content = PageContent(number, width, height, turn=turn)
    content.words = words_of(lines, scale)
    content.rules = _rules(upright, scale)
    return content


def _read(picture: Image, known: PageTexts) -> tuple[int, list[Line], Image]:
    """:func:`_upright_lines`, unless it is known what they give."""
    key = sha256(f"{picture.shape} {version('rapidocr')} {_READING}".encode() + picture.tobytes()).hexdigest()
    stored = known.get(key)
    if stored is not None:
        turn, lines = json.loads(stored)
        return turn, [Line(*line) for line in lines], _turned(picture, turn)
    turn, found, upright = _upright_lines(picture)
    known.put(key, json.dumps([turn, [astuple(line) for line in found]], ensure_ascii=False))
    return turn, found, upright


def _turned(picture: Image, turn: int) -> Image:
    """The picture with a clockwise turn taken back, because ``rot90`` turns anticlockwise."""
    return np.ascontiguousarray(np.rot90(picture, turn // 90))


def words_of(lines: Sequence[Line], scale: float) -> list[Word]:
    """Lines cut at their spaces into words, ``scale`` points a pixel; nearly equal sizes become one."""
    words = [word for line in lines for word in _words_of_line(line, scale)]
    if not words:
        return []
    usual = median(word.size for word in words for _ in word.text)
    return [replace(word, size=usual) if 0.8 * usual < word.size < 1.2 * usual else word for word in words]


def _words_of_line(line: Line, scale: float) -> list[Word]:
    wide, narrow, space = _WIDTHS
    weights = [wide if is_wide(char) else space if char == " " else narrow for char in line.text]
    unit = (line.x1 - line.x0) / (sum(weights) or 1.0)
    size = max(1.0, _SIZE_OF_BOX * (line.y1 - line.y0) * scale)
    words: list[Word] = []
    x = line.x0
    spaced = True
    for char, weight in zip(line.text, weights, strict=True):
        end = x + unit * weight
        if char == " ":
            spaced = True
        elif spaced:
            words.append(
                Word(char, x * scale, line.y0 * scale, end * scale, line.y1 * scale, size,
                     False, False, "", [x * scale], True)
            )  # fmt: skip
            spaced = False
        else:
            word = words[-1]
            word.text += char
            word.starts.append(x * scale)
            word.x1 = end * scale
        x = end
    return words


def _upright_lines(picture: Image) -> tuple[int, list[Line], Image]:
    """The clockwise degrees by which the page's text is turned, its lines read upright, and the upright picture."""
    lines = _lines(picture)
    tall = sum(len(line.text) for line in lines if line.y1 - line.y0 > 1.5 * (line.x1 - line.x0) and len(line.text) > 2)
    sideways = tall > 0.5 * sum(len(line.text) for line in lines)
    if not lines or (not sideways and _quality(lines) >= _SURE):
        return 0, lines, picture
    # Tall lines were read on their side, so their worth is no less; they stay only where turning reads far less.
    best, worth = (0, lines, picture), _worth(lines) * (0.8 if sideways else 1.0)
    for turn in (90, 270) if sideways else (180,):
        turned = _turned(picture, turn)
        found = _lines(turned)
        if _worth(found) > worth:
            best, worth = (turn, found, turned), _worth(found)
    return best


def _quality(lines: Sequence[Line]) -> float:
    letters = sum(len(line.text) for line in lines)
    return sum(line.score * len(line.text) for line in lines) / letters if letters else 0.0


def _worth(lines: Sequence[Line]) -> float:
    return sum(max(0.0, line.score - 0.5) * len(line.text) for line in lines)


def _lines(picture: Image) -> list[Line]:
    factor = min(3.0, max(1.0, _MIN_SIDE / max(picture.shape[:2])))
    if factor > 1.0:
        import cv2  # noqa: PLC0415 - see _engine

        picture = np.asarray(cv2.resize(picture, None, fx=factor, fy=factor), np.uint8)
    found = _engine()(picture)
    if found.txts is None or found.boxes is None:
        return []
    lines = []
    for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True):
        box = np.asarray(corners, float) / factor
        if text.strip() and score >= _MIN_SCORE:
            x0, y0 = box.min(axis=0)
            x1, y1 = box.max(axis=0)
            lines.append(Line(text.strip(), float(score), float(x0), float(y0), float(x1), float(y1)))
    return lines


def _rules(picture: Image, scale: float) -> list[Rule]:
    """Straight dark lines of the picture, longer than a few letters are high."""
    import cv2  # noqa: PLC0415 - see _engine

    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    dark = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 12)
    rules: list[Rule] = []
    shortest = max(20, int(30 / scale))
    for kernel, lying in ((np.ones((1, shortest), np.uint8), True), (np.ones((shortest, 1), np.uint8), False)):
        runs = cv2.morphologyEx(dark, cv2.MORPH_OPEN, kernel)
        _, _, stats, _ = cv2.connectedComponentsWithStats(runs)
        for x, y, wide, high, _area in stats[1:2000].tolist():
            thickness = high if lying else wide
            if thickness > max(4, 4 / scale):
                continue
            if lying:
                middle = (y + high / 2) * scale
                rules.append(Rule(x * scale, middle, (x + wide) * scale, middle))
            else:
                middle = (x + wide / 2) * scale
                rules.append(Rule(middle, y * scale, middle, (y + high) * scale))
    return rules


@cache
def _engine() -> Any:
    """RapidOCR with the models of its package. OpenCV and the models are loaded when the first picture comes."""
    try:
        from rapidocr import RapidOCR  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedFileError(
            f"The text of pictures cannot be read: the package rapidocr cannot be loaded ({error}). Install Clew anew, "
            "or set indexing.ocr.enabled to false."
        ) from error
    models = models_folder()
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Det.model_path": _model(models, "det"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTION_SIDE,
            "Rec.model_path": _model(models, "rec"),
            "EngineConfig.onnxruntime.intra_op_num_threads": min(4, os.cpu_count() or 1),
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def probe() -> str:
    """Which models read the text of pictures, for people. Raises UnsupportedFileError where they are missing."""
    folder = models_folder()
    return f"{Path(_model(folder, 'det')).stem} and {Path(_model(folder, 'rec')).stem} of rapidocr"


def models_folder() -> Path | None:
    """Where the package keeps its models; None where it is not installed."""
    package = find_spec("rapidocr")
    return Path(package.origin).parent / "models" if package is not None and package.origin else None


def _model(folder: Path | None, part: str) -> str:
    """The path of a model in the package: named, so that RapidOCR has nothing to download."""
    found = sorted(folder.glob(f"*_{part}_*.onnx")) if folder else []
    if not found:
        raise UnsupportedFileError(
            f"The text of pictures cannot be read: the package rapidocr holds no *_{part}_*.onnx ({folder}). "
            "Install rapidocr anew, or set indexing.ocr.enabled to false."
        )
    return str(found[-1])


def without_overlap(words: Sequence[Word], known: Sequence[Word]) -> list[Word]:
    """The words that do not stand where one of ``known`` stands already."""
    return [word for word in words if not any(_covers(other, word) for other in known)]


def _covers(known: Word, word: Word) -> bool:
    wide = min(known.x1, word.x1) - max(known.x0, word.x0)
    high = min(known.y1, word.y1) - max(known.y0, word.y0)
    area = (word.x1 - word.x0) * (word.y1 - word.y0)
    return wide > 0 and high > 0 and wide * high > 0.3 * area


def covered_share(boxes: Sequence[BBox], width: float, height: float) -> float:
    """How much of a page its images cover, from 0 to 1 (each counted alone)."""
    area = width * height
    return min(1.0, sum((b.x1 - b.x0) * (b.y1 - b.y0) for b in boxes) / area) if area else 0.0
