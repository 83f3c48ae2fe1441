"""The last question of a conversation as one that stands alone.

With a language model it rewrites; without one a conservative rule fills in only what is clearly missing: the year, or
the one name that a pronoun or an elliptical "and X?" refers to. Where neither is sure, the question stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clew.errors import ServiceError
from clew.models.base import ChatMessage, ChatModel
from clew.text.entities import extract_entities
from clew.text.language import detect_language
from clew.text.thinking import without_thinking

MAX_TURNS = 4
MAX_CHARACTERS = 800
TIMEOUT = 8.0

_PROMPT = {
    "zh": (
        "把用户的最后一个问题改写成不看对话也能懂的独立问题。只补全省略和指代，不回答问题，不增加新的要求；"
        "若它本来就独立，原样返回。只输出改写后的问题。\n\n对话：\n{turns}\n\n最后的问题：{question}"
    ),
    "en": (
        "Rewrite the user's last question so that it can be understood without the conversation. Only resolve "
        "references and fill in what was left out; do not answer it and add nothing else. If it stands alone already, "
        "return it unchanged. Output the question only.\n\nConversation:\n{turns}\n\nLast question: {question}"
    ),
}
_ROLES = {"zh": {"user": "用户", "assistant": "助手"}, "en": {"user": "User", "assistant": "Assistant"}}
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ELLIPSIS = re.compile(
    r"^(?:那么?|还有)?(?P<zh>.{1,30}?)呢[？?]?$|^(?:and|what about|how about)\s+(?P<en>.{1,60}?)\??$", re.I
)
_PRONOUN = re.compile(
    r"它们?(?:的|是|在|有)?|该(?:公司|企业|银行|集团|报告|产品)|这家(?:公司|企业)|"
    r"\b(?:this|that|the) (?:company|firm|bank|report)\b|\bits?\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The standalone question, how it came about, and what a failing model said."""

    question: str
    source: Literal["none", "model", "rule"] = "none"
    failure: str = ""


def rewrite(question: str, history: Sequence[Turn], model: ChatModel | None) -> Rewritten:
    """The standalone question. A model that fails is recorded and the rule takes over; never raises for it."""
    if not history:
        return Rewritten(question)
    if model is None:
        return _by_rule(question, history)
    language = detect_language(question)
    turns = "\n".join(f"{_ROLES[language][t.role]}: {t.text[:MAX_CHARACTERS]}" for t in history[-2 * MAX_TURNS :])
    prompt = _PROMPT[language].replace("{turns}", turns).replace("{question}", question)
    try:
        reply = model.complete([ChatMessage("user", prompt)], max_tokens=256, timeout=TIMEOUT)
    except ServiceError as error:
        ruled = _by_rule(question, history)
        return Rewritten(ruled.question, ruled.source, str(error))
    text = without_thinking(reply.text).strip('"“”').strip()
    if not text or "\n" in text or len(text) > 4 * len(question) + 400:
        ruled = _by_rule(question, history)
        return Rewritten(ruled.question, ruled.source, "The model's rewrite was empty or no question.")
    return Rewritten(text, "model" if text != question else "none")


def _by_rule(question: str, history: Sequence[Turn]) -> Rewritten:
    previous = next((t.text.strip() for t in reversed(history) if t.role == "user"), "")
    if not previous:
        return Rewritten(question)
    filled = _elliptical(question, previous) or _pronoun(question, previous)
    return Rewritten(filled, "rule") if filled else Rewritten(question)


def _elliptical(question: str, previous: str) -> str | None:
    """ "那2020年呢？", "What about the Rhine?": the previous question with its year, or its one name, exchanged."""
    match = _ELLIPSIS.match(question.strip())
    if match is None:
        return None
    asked = (match["zh"] or match["en"]).strip()
    years = _YEAR.findall(asked)
    if years and len(_YEAR.findall(previous)) == 1 and not extract_entities(asked):
        return _YEAR.sub(years[-1], previous)
    names = extract_entities(previous)
    if len(names) == 1 and len(extract_entities(asked)) == 1:
        return previous[: names[0].start] + asked.removeprefix("the ") + previous[names[0].end :]
    return None


def _named(text: str) -> bool:
    # Without capitals rare English words stand in for names; here they must not keep a pronoun from being resolved.
    return any(not entity.text.islower() for entity in extract_entities(text))


def _pronoun(question: str, previous: str) -> str | None:
    """ "它的注册地址在哪里？": the pronoun replaced by the one name of the previous question."""
    pronoun = _PRONOUN.search(question)
    names = {entity.text for entity in extract_entities(previous)}
    if pronoun is None or len(names) != 1 or _named(question):
        return None
    name, said = names.pop(), pronoun.group()
    if said.lower() == "its":
        name += "'s"
    elif said.startswith("它") and said[-1] in "的是在有":
        name += said[-1]
    return question[: pronoun.start()] + name + question[pronoun.end() :]
