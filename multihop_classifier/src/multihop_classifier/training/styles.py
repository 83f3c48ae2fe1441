"""The same question in another manner: what a person writes about one thing in a search box, a chat or a form.

Public collections each have one manner (lower case without question mark, or always with one; always polite, or never),
and it tells the collection rather than the question. Shuffling manners in training takes that cue away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

PLACEHOLDERS = ("X", "Y", "Z", "W", "V", "U")

_ENDS = "?？.。!！ \t"
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_OPENINGS = {
    "zh": ("请问", "你知道", "我想知道", "想问一下，", "麻烦查一下，", "帮我看看", "根据资料，"),
    "en": (
        "Can you tell me ",
        "I would like to know: ",
        "Please find out: ",
        "According to the documents, ",
        "Quick question, ",
        "Do you know ",
    ),
}
_POLITE = {
    "zh": re.compile(
        r"^(?:请问一下|请问|你好[，,]?|你知道|我想知道|你能告诉我|谁能告诉我|有没有人知道|想问一下)[，,：:]?"
    ),
    "en": re.compile(
        r"^(?:can|could) you (?:please )?tell me,? |^(?:please )?tell me,? |^i want to know,? ", re.IGNORECASE
    ),
}


def restyle(question: str, chance: random.Random) -> str:
    """``question`` with another opening, case or end; never another meaning."""
    language = "zh" if _CHINESE.search(question) else "en"
    text = question.strip()
    body = text.rstrip(_ENDS) or text
    if chance.random() < 0.5:
        body = _POLITE[language].sub("", body) or body
    if chance.random() < 0.2:
        opening = chance.choice(_OPENINGS[language])
        body = opening + (body if language == "zh" else body[:1].lower() + body[1:])
    if language == "en" and chance.random() < 0.3:
        body = body.lower()
    return body + chance.choice(("？", "?", "") if language == "zh" else ("?", "", " ?"))


def mask_names(question: str, names: Sequence[str]) -> str:
    """``question`` with each name replaced by a letter, the same name by the same one, in the order of occurrence."""
    wanted = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    if not wanted:
        return question
    letters: dict[str, str] = {}

    def letter(match: re.Match[str]) -> str:
        key = match.group().lower()
        return letters.setdefault(key, PLACEHOLDERS[min(len(letters), len(PLACEHOLDERS) - 1)])

    return re.sub("|".join(re.escape(name) for name in wanted), letter, question, flags=re.IGNORECASE)
