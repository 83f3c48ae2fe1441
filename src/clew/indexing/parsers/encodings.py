"""Bytes → text: which encoding a text file is in, decided over the whole file.

A byte order mark or valid UTF-8 decides first. UTF-16 without a mark shows by its zero bytes. Between the legacy
encodings of Chinese the text itself decides: each candidate that decodes is scored by how common its characters are.
What is left (Western, Japanese, Cyrillic …) goes to charset-normalizer.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from charset_normalizer import from_bytes

from clew.errors import UnsupportedFileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHINESE = ("gb18030", "big5hkscs")
_NAMES = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "iso-8859-1": "cp1252", "ascii": "utf-8"}
# One bad byte in a thousand characters is a scratch, not another encoding.
_FEW = 0.001
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROL = 0.01
_MIN_COMMON = 0.15
_HAN = re.compile("[\u3400-\u9fff]")

# The characters that make up about half of modern Chinese text, simplified, and where they differ traditional.
_COMMON_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家"
    "种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机"
    "十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果"
    "加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活"
    "尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决"
    "治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉"
    "术领共确传师观清今切院让识候带导争运笔您章总则营收入净利润股份有限责任合同编号甲乙附件董监高款项额率亿元人民币"
    "客户项目技术数据信息系统服务产品销售市场投资风险管理会计财务报告年度季审核银行证券基金法律条例规定"
)
_COMMON_TRADITIONAL = frozenset(
    "這個們來為國說時會對於著過發後裡種經麼學當沒動還進樣開從實軍無與長機關點業將兩間問並應戰頭體見產話內給門"
    "東聲員論處義幾認條係氣題爾別變總電數報結務場計資許統區隊決馬書則聽達強難權設記類據邊張該規萬覺術領確傳師觀"
    "讓識帶導爭運筆您營淨潤責編號監額億幣戶項術訊統務銷場險財報審銀證券規臺灣縣鄉鎮雙環檢測驗標準應歲親愛醫藥"
)
_COMMON = _COMMON_SIMPLIFIED | _COMMON_TRADITIONAL
_WESTERN = frozenset("‘’“”–—…•™€£¥§©®°±·½¼¾«»¿¡×\u00a0àáâãäåæçèéêëìíîïñòóôõöøùúûüßÀÁÂÄÅÆÇÈÉÊËÍÎÑÓÔÖØÚÜœŒ")
_USUAL = _COMMON | frozenset("，。、：；？！“”‘’「」『』（）《》【】—…·　％")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the encoding it was in, and how many bytes could not be read."""

    text: str
    encoding: str
    replaced: int = 0

    @property
    def warning(self) -> str:
        """What to tell people where something was lost; empty otherwise."""
        if not self.replaced:
            return ""
        return f"{self.replaced} characters could not be read as {self.encoding} and are shown as \ufffd."


def decode_text(data: bytes, name: str, declared: str | None = None) -> Decoded:
    """The text of a file.

    ``declared`` is what the file or its sender claims (a header, a meta tag); it is believed where the bytes agree,
    except that the text decides between the Chinese encodings, whose bytes nearly always agree with each other.

    Raises:
        UnsupportedFileError: the bytes are not text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _checked(_lenient(data[len(mark) :], encoding), name)
    claimed = _NAMES.get((declared or "").strip().lower(), (declared or "").strip().lower())
    steps: tuple[Callable[[], Decoded | None], ...] = (
        lambda: _utf16_without_mark(data),
        lambda: _utf8(data),
        lambda: _as_declared(data, claimed) if claimed not in _CHINESE else None,
        lambda: _chinese(data),
        lambda: _as_declared(data, claimed),
        lambda: _western(data),
        lambda: _by_statistics(data),
    )
    for step in steps:
        decoded = step()
        if decoded is not None:
            return _checked(decoded, name)
    raise _binary(name)


def _by_statistics(data: bytes) -> Decoded | None:
    match = from_bytes(data).best()
    return None if match is None or "\x00" in str(match) else Decoded(str(match), match.encoding)


def _lenient(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        return Decoded(text, encoding, text.count("\ufffd"))


def _utf8(data: bytes) -> Decoded | None:
    decoded = _lenient(data, "utf-8")
    if not decoded.replaced:
        return decoded
    beyond_ascii = sum(1 for character in decoded.text if character > "\x7f")
    # Cut off inside a character, or a scratch in a text that otherwise is plainly UTF-8.
    few = decoded.replaced <= max(1, _FEW * len(decoded.text))
    return decoded if few and decoded.replaced * 10 <= beyond_ascii else None


def _as_declared(data: bytes, declared: str) -> Decoded | None:
    if not declared:
        return None
    try:
        decoded = _lenient(data, codecs.lookup(declared).name)
    except (LookupError, ValueError):
        return None
    return decoded if decoded.replaced <= _FEW * len(decoded.text) else None


def _chinese(data: bytes) -> Decoded | None:
    """The Chinese encoding whose reading has the more common characters, if either reads as Chinese."""
    best: tuple[float, Decoded] | None = None
    for encoding in _CHINESE:
        decoded = _lenient(data, encoding)
        if decoded.replaced > max(1, _FEW * len(decoded.text)):
            continue
        share = _common_share(decoded)
        if share >= _MIN_COMMON and (best is None or share > best[0]):
            best = (share, decoded)
    return best[1] if best else None


def _western(data: bytes) -> Decoded | None:
    """Western European text, mostly English: typographic quotes and accents among ASCII letters."""
    decoded = _lenient(data, "cp1252")
    beyond = [character for character in decoded.text if character > "\x7f"]
    usual = sum(1 for character in beyond if character in _WESTERN)
    if decoded.replaced or len(beyond) > 0.25 * len(decoded.text) or usual < 0.98 * len(beyond):
        return None
    return decoded


def _common_share(decoded: Decoded) -> float:
    """Of the characters beyond ASCII, the share of those that fill ordinary Chinese text."""
    counts = Counter(decoded.text)
    beyond = {character: n for character, n in counts.items() if character > "\x7f"}
    total = sum(beyond.values())
    if not total:
        return 0.0
    return (sum(n for character, n in beyond.items() if character in _USUAL) - 2 * decoded.replaced) / total


def _utf16_without_mark(data: bytes) -> Decoded | None:
    if len(data) < 4 or len(data) % 2:
        return None
    even, odd = data[0::2].count(0), data[1::2].count(0)
    half = len(data) // 2
    candidates = []
    if odd > even and odd >= 0.001 * half:
        candidates.append("utf-16-le")
    elif even > odd and even >= 0.001 * half:
        candidates.append("utf-16-be")
    elif not even and not odd and half <= 64 and _utf8(data) is None:
        candidates += ["utf-16-le", "utf-16-be"]  # a few characters without a single space or digit
    for encoding in candidates:
        decoded = _lenient(data, encoding)
        if decoded.replaced or _CONTROL.search(decoded.text):
            continue
        if (odd or even) and _plausible(decoded.text):
            return decoded
        han = len(_HAN.findall(decoded.text))
        if han >= 0.8 * len(decoded.text) and _common_share(decoded) >= 2 * _MIN_COMMON:
            return decoded
    return None


def _plausible(text: str) -> bool:
    """Whether nearly all characters are ASCII, Latin, Chinese or punctuation: UTF-16 read right."""
    usual = len(re.findall("[\t-\r\x20-\u024f\u2000-\u206f\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]", text))
    return usual >= 0.95 * len(text)


def _checked(decoded: Decoded, name: str) -> Decoded:
    if len(_CONTROL.findall(decoded.text)) > _MAX_CONTROL * len(decoded.text):
        raise _binary(name)
    return decoded


def _binary(name: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{name}: this is neither text nor a format that Clew knows. If it is a document, save it as PDF or DOCX."
    )
