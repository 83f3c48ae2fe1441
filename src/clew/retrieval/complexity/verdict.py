"""The zero-shot question to the language model (spec 3.1, step 3), and the reader of its reply."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from clew.models.base import ChatMessage

MAX_REPLY_TOKENS = 32

_PROMPT_ZH = (
    "判断：要用检索回答下面的问题，是否需要多次检索（先查出一个中间答案才能继续查，或要分别查几样东西再比较、汇总）？"
    "如果一次检索找到一处资料就够，答“否”。只回答一个字：是 或 否。\n\n问题：{question}"
)
_PROMPT_EN = (
    "To answer the question below from documents, are several look-ups needed (an intermediate answer has to be found "
    "first, or several things have to be looked up and compared or combined)? If one look-up that finds one place is "
    "enough, say no. Answer with one word only: yes or no.\n\nQuestion: {question}"
)

_THINKING = re.compile(r"<(think|thinking|thought|reasoning|analysis)\b[^>]*>.*?(?:</\1\s*>|$)", re.DOTALL)
_THINKING_END = re.compile(r".*</(?:think|thinking|thought|reasoning|analysis)\s*>", re.DOTALL)
_NO = (
    r"不是|不需要|不用|不必|无需|没有?必要|无须|(?<!是)否(?!则|定|认)|单跳|单次|一次检索(?:即可|就够|就可|足够)|no(?!\w"
    r"|t\b)|nope|false|single(?:[- ]hop)?"
    r"|not? (?:needed|necessary|required)|one look-?up|(?:is|does)(?: not|n't)"
)
_YES = (
    r"是的?(?!否|不是|一|指|为)|需要|要多|多跳|多次检索|(?<!没)有必要|yes|yep|true|multi(?:ple)?(?:[- ](?:hop|step)s?)?"
    r"|several look-?ups"
)
_ANSWER = re.compile(
    rf"(?:答案|回答|结论|判断(?:结果)?|所以|因此|综上|final answer|answer|verdict|conclusion|therefore"
    rf"|so)\W*(?:应?该?[是为]|is|:)?\W*"
    rf"(?:(?P<no>{_NO})|(?P<yes>{_YES}))"
)
_FIRST = re.compile(rf"\W*(?:(?P<no>{_NO}|n)|(?P<yes>{_YES}|y))(?![a-z0-9])")
_ANY = re.compile(rf"(?<![a-z])(?:(?P<no>{_NO})|(?P<yes>(?<![但还于总就可只若凡正也都算]){_YES}))(?![a-z])")


def verdict_messages(question: str, *, chinese: bool) -> list[ChatMessage]:
    """The messages for the model, in the question's language."""
    prompt = _PROMPT_ZH if chinese else _PROMPT_EN
    return [ChatMessage("user", prompt.replace("{question}", question))]


def read_verdict(reply: str) -> bool | None:
    """True for yes (several look-ups), False for no, None where the reply says neither or both.

    Thinking is left out, also where its end was cut off. What is announced as the answer counts first, then the
    first word, then the only side that is named at all.
    """
    text = unicodedata.normalize("NFKC", reply).lower()
    text = _THINKING_END.sub("", _THINKING.sub(" ", text)).strip()
    announced = [_side(match) for match in _ANSWER.finditer(text)]
    if announced:
        return announced[-1]
    first = _FIRST.match(text)
    if first:
        return _side(first)
    return _agreed([_side(match) for match in _ANY.finditer(text)])


def _side(match: re.Match[str]) -> bool:
    return match["yes"] is not None


def _agreed(sides: Sequence[bool]) -> bool | None:
    return sides[0] if sides and all(side == sides[0] for side in sides) else None
