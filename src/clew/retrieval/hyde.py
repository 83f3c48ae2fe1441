"""A hypothetical answer to look up beside the question.

After Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023: a passage that
answers the question, right or wrong, is closer to the passages that answer it than the question is. One prompt does
both halves of the work: it answers, and it spreads the terms that documents of the field would use.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import ServiceError
from clew.models.base import ChatMessage, ChatModel
from clew.models.deadline import within
from clew.text.language import detect_language
from clew.text.thinking import without_thinking
from clew.types import Candidate

MAX_REPLY_TOKENS = 400
MAX_CHARACTERS = 1200
"""Of the passage that is looked up; what is longer adds noise to the keywords."""

_PROMPT = {
    "zh": (
        "写一段能回答下面问题的资料原文，像出自该领域的正式文件（年报、合同、法规、手册等），100至150字。"
        "直接陈述答案，并尽量用上该领域文件会用的术语：全称与简称、同义词、上下位概念、相关指标和单位。"
        "不知道的具体数字和姓名不要编造，用一般说法代替。只输出这段文字，不要解释，不要列表。\n\n问题：{question}"
    ),
    "en": (
        "Write a passage that answers the question below, as it would stand in a formal document of the field (annual "
        "report, contract, regulation, manual), in 80 to 120 words. State the answer directly and use the terms that "
        "such documents use: full names and abbreviations, synonyms, broader and narrower terms, related measures and "
        "units. Do not invent numbers or names that you do not know; say it in general terms instead. Output the "
        "passage only, without explanation or list.\n\nQuestion: {question}"
    ),
}


@dataclass(frozen=True, slots=True)
class Hypothetical:
    """The passage, empty where there is none; then ``failure`` says what the model did instead."""

    text: str
    failure: str = ""


def hypothetical_answer(question: str, model: ChatModel, timeout: float) -> Hypothetical:
    """What a passage that answers the question could say. ``timeout`` in seconds bounds the call; never raises for a
    failing model."""
    prompt = _PROMPT[detect_language(question)].replace("{question}", question)
    try:
        reply = within(
            timeout,
            f"The model {model.name}",
            lambda: model.complete([ChatMessage("user", prompt)], max_tokens=MAX_REPLY_TOKENS, timeout=timeout),
        )
    except ServiceError as error:
        return Hypothetical("", str(error))
    text = without_thinking(reply.text)[:MAX_CHARACTERS].strip()
    failure = "" if text else f"The model {model.name} wrote no passage."
    return Hypothetical(text, failure)


def is_sure(best: Candidate | None) -> bool:
    """Whether a first ranking needs no hypothetical answer: its best passage is the first of keywords and of vectors
    alike."""
    return best is not None and best.ranks.get("bm25") == 1 and best.ranks.get("l2") == 1
