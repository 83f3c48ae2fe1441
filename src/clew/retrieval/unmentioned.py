"""Words of a question that the documents in scope never use.

The best passages of a knowledge base that is about something else look as good as any to a ranking: something always
comes first. What tells the two apart without a model is whether the words that say what a question is about occur at
all (``benchmarks/unmentioned.py`` says how well).
"""

from __future__ import annotations

from collections.abc import Callable

from clew.text.entities import has_cjk, tag
from clew.text.tokenizing import content_terms, tokenize

LEAST_SHARE = 0.5
"""Of the words that say what a question is about: with so many unknown, the documents say nothing about it."""

_SAYING = ("n", "j", "t")
"""Parts of speech that name things: nouns and names, abbreviations, times."""
# What questions about anything are made of.
_GENERIC = frozenset(
    """
    call called come came date day describe explain find first following found gave get give given go happen happened
    happens kind know known large last list long made main make many mean much name named new number old one people
    person said say small state summarise summarize take taken tell three time took two type use used went year
    """.split()  # noqa: SIM905
)


def subjects(question: str) -> list[str]:
    """The words that say what a question is about, each once: in Chinese nouns, names and times, elsewhere all but
    function words and those of any question. Numbers are left out: the same amount is written in many ways."""
    words: dict[str, None] = {}
    for word, part_of_speech in tag(question) or [(question, "")]:
        if has_cjk(word):
            if len(word) > 1 and part_of_speech.startswith(_SAYING):
                words[word] = None
        else:
            terms = [term for term in content_terms(word) if len(term) > 2 and not term.isdigit()]
            words.update((term, None) for term in terms if term not in _GENERIC)
    return list(words)


def unmentioned(question: str, occurs: Callable[[str], bool]) -> list[str]:
    """The words of the question for which ``occurs`` says no, where they are at least half of those that say what it
    is about; else none. ``occurs`` is asked about single terms of the index."""
    words = subjects(question)
    unknown = [word for word in words if not _used(word, occurs)]
    return unknown if unknown and len(unknown) >= LEAST_SHARE * len(words) else []


def _used(word: str, occurs: Callable[[str], bool]) -> bool:
    """Whether the word occurs; a Chinese word that was cut otherwise stands in the index as pairs of characters."""
    terms = tokenize(word)
    pairs = [term for term in terms if len(term) == 2]
    whole = max(terms, key=len, default="")
    return occurs(whole) or (has_cjk(word) and bool(pairs) and all(map(occurs, pairs)))
