"""What a planner sees between two rounds, what it says, and how one is told from another.

Two planners exist: the language model (:mod:`clew.retrieval.model_planner`) and the one that follows bridge entities
without any model (:mod:`clew.retrieval.bridge_planner`). A failing model planner never turns into the other one: its
failure is an answer of its own, and the evidence found until then is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import rjieba

from clew.retrieval.recall import Recalled
from clew.storage.base import Posting
from clew.types import Candidate, ChildChunk, Query


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known after a round.

    ``pool`` holds the candidates of all rounds, best first; ``chunks`` their chunks; ``asked`` every question that was
    looked up, in order, the last one being the current sub-question; ``entities`` the key entities so far.
    """

    question: str
    query: Query
    """The original question as the first KB's embedder sees it."""
    queries: Mapping[str, Query]
    """The original question as each KB's embedder sees it, by KB id."""
    history: Sequence[Recalled]
    """What each look-up found, before the merge; a round may have several."""
    asked: tuple[str, ...]
    pool: Sequence[Candidate]
    chunks: Mapping[str, ChildChunk]
    round: int
    rounds_left: int
    entities: tuple[str, ...] = ()

    @property
    def sub_question(self) -> str:
        """The question of the round that has just ended."""
        return self.asked[-1]


@dataclass(frozen=True, slots=True)
class Variant:
    """One text that a round looks up; ``linked`` are postings by KB id of chunks that are known to be about what it
    asks for, best first: one more route of the look-up."""

    text: str
    linked: Mapping[str, Sequence[Posting]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A planner's verdict after a round.

    ``next_question`` is empty where nothing more is needed, or nothing better can be asked. ``variants`` are what the
    round looks up where that is more than the question itself: the question with one entity at a time.
    """

    need_more: bool
    next_question: str = ""
    key_entities: tuple[str, ...] = ()
    confidence: float | None = None
    reason: str = ""
    variants: tuple[Variant, ...] = ()


class Planner(Protocol):
    """Decides after each round whether to go on, and with which question."""

    @property
    def name(self) -> str:
        """``bridge``, or the model's name."""
        ...

    def begin(self, queries: Mapping[str, Query]) -> Mapping[str, Sequence[Posting]]:
        """What the planner adds to the first look-up, as a route by KB id."""
        ...

    def plan(self, situation: Situation) -> Plan:
        """Raises ServiceError where no verdict can be had; nothing more is asked then."""
        ...

    def order(self, situation: Situation) -> list[Candidate] | None:
        """The pool in the order in which its passages answer the question, with the score that says so; None where the
        planner knows none better than the fused one."""
        ...


# Words that come and go when a question is merely put differently; question words stay, for they ask something else.
_FILLER_WORDS = (
    "a an the is are was were be been do does did of in on to for s please tell me and that which "
    "的 是 了 吗 呢 啊 吧 请 请问 一下 在 中 里 哪个 什么 是什么"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def question_key(question: str) -> tuple[str, ...]:
    """Equal for questions that are the same but for width, case, accents, punctuation and a trivial change of order.

    The words are compared as a bag: a look-up with the same words in another order finds what the first one found.
    """
    folded = unicodedata.normalize("NFKD", question).casefold()
    folded = "".join(ch for ch in folded if not unicodedata.combining(ch))
    words = [word for run in _WORD.findall(folded) for word in rjieba.cut(run)]
    kept = [word for word in words if word not in _FILLERS and word.strip()]
    return tuple(sorted(kept or words))
