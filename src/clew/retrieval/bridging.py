"""How likely a passage belongs to the evidence: features of passages, of the links between them, and a linear model.

Three models of the same form score a passage: ``first`` from what the question alone says of it, ``link`` with the
links that lead to it from the evidence, ``final`` with what the later look-ups say too. ``first`` tells the links
where they start from. The weights are fitted by ``benchmarks/fit_bridge.py``; docs/multihop.md has the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clew.retrieval.graph_walk import Mention
from clew.text.tokenizing import query_terms, tokenize
from clew.types import FloatArray

# Characters around a mention in which the question's words are looked for: about a clause.
_WINDOW = 60
# "directed" and "director" ask for the same.
_STEM = 5
# A passage that the first look-up did not rank, and a sub-question that did not find it.
_NO_RANK = 60
_NOT_FOUND = -0.2

FIRST = ("dense", "bm25", "both", "reciprocal_rank", "named", "named_words")
LINK = (
    *FIRST,
    "first",
    "linked",
    "linked_relation",
    "relation",
    "links_out",
    "links",
    "linked_and_named",
    "links_out_and_named",
    "linked_not_named",
    "first_of_comparison",
    "linked_from_named",
)
FINAL = (*LINK, "sub_dense", "sub_bm25", "target", "later", "bridge", "bridge_and_sub_bm25", "sub_rank")
ENTITY = ("first", "relation", "first_and_relation", "words", "score")


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Log-odds as a weighted sum of features; ``weights`` follow the order of the feature names."""

    weights: tuple[float, ...]
    bias: float

    def probabilities(self, features: FloatArray) -> FloatArray:
        """Shape ``(passages,)`` for features of shape ``(passages, features)``."""
        logits = features @ np.asarray(self.weights, np.float32) + np.float32(self.bias)
        result: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30)))
        return result


@dataclass(slots=True)
class Passage:
    """What is known of a passage: its scores for the question, and what it is about."""

    chunk_id: str
    dense: float = 0.0
    """Cosine with the question, minus that of the best passage."""
    bm25: float = 0.0
    """Share of the best passage's BM25 score; 0 where it was not found that way."""
    rank: int | None = None
    """Of the first look-up, from 0."""
    named: float = 0.0
    """How surely the question names what it is about: 0, or up to 1."""
    named_words: int = 0
    mentions: Sequence[Mention] = ()
    """What its text names; empty for passages that are not in the evidence yet."""
    text: str = ""
    round: int = 1
    sub_dense: float = _NOT_FOUND
    sub_bm25: float = 0.0
    sub_rank: float = 0.0
    """Reciprocal rank in the look-up of a bridge, times the bridge's probability; the best of all."""
    target: bool = False
    """A sub-question named what it is about."""
    bridge: float = 0.0
    """Probability of the likeliest bridge that was followed, comes from another passage, and occurs in this one."""


@dataclass(frozen=True, slots=True)
class Link:
    """A mention in one passage of what another one is about."""

    source: str
    quality: float
    relation: float
    """Overlap of the words around the mention with what the question asks."""


@dataclass(slots=True)
class Evidence:
    """The passages of a question, the links between them, and what the question asks beside its names."""

    passages: dict[str, Passage] = field(default_factory=dict)
    links: dict[str, list[Link]] = field(default_factory=dict)
    """By the chunk that they lead to."""
    comparison: bool = False
    relations: dict[tuple[str, int], float] = field(default_factory=dict)
    """Overlap around each mention, by chunk and place; kept from round to round."""
    first: dict[str, float] = field(default_factory=dict)
    """Of the passages in the evidence: the probability that the model ``first`` gives."""


def relation_terms(text: str) -> frozenset[str]:
    """What a question asks beside the names in it, as stems."""
    return frozenset(term[:_STEM] for term in query_terms(text) if len(term) > 1)


def relation(text: str, start: int, end: int, terms: frozenset[str]) -> float:
    """Overlap of the words around ``text[start:end]`` with ``terms``."""
    if not terms:
        return 0.0
    around = text[max(0, start - _WINDOW) : end + _WINDOW]
    found = {term[:_STEM] for term in tokenize(around)}
    return len(found & terms) / math.sqrt(len(terms))


def first_features(passages: Sequence[Passage]) -> FloatArray:
    """Shape ``(passages, len(FIRST))``."""
    return np.asarray([_first(p) for p in passages], np.float32).reshape(len(passages), len(FIRST))


def link_features(passages: Sequence[Passage], evidence: Evidence) -> FloatArray:
    """Shape ``(passages, len(LINK))``."""
    return np.asarray([_link(p, evidence) for p in passages], np.float32).reshape(len(passages), len(LINK))


def final_features(passages: Sequence[Passage], evidence: Evidence) -> FloatArray:
    """Shape ``(passages, len(FINAL))``."""
    rows = [
        [
            *_link(p, evidence),
            p.sub_dense,
            p.sub_bm25,
            float(p.target),
            float(p.round > 1),
            p.bridge,
            p.bridge * p.sub_bm25,
            p.sub_rank,
        ]
        for p in passages
    ]
    return np.asarray(rows, np.float32).reshape(len(passages), len(FINAL))


def _first(passage: Passage) -> list[float]:
    return [
        passage.dense,
        passage.bm25,
        passage.dense + 0.05 * passage.bm25,
        1.0 / (1 + (_NO_RANK if passage.rank is None else passage.rank)),
        float(passage.named > 0),
        math.sqrt(passage.named_words) * passage.named,
    ]


def _link(passage: Passage, evidence: Evidence) -> list[float]:
    linked = linked_relation = best_relation = from_named = 0.0
    sources = set()
    for link in evidence.links.get(passage.chunk_id, ()):
        source = evidence.first[link.source] * link.quality
        sources.add(link.source)
        linked = max(linked, source)
        linked_relation = max(linked_relation, source * link.relation)
        best_relation = max(best_relation, link.relation)
        if evidence.passages[link.source].named:
            from_named = max(from_named, link.quality)
    out = max(
        (
            evidence.first[target.chunk_id] * mention.quality
            for mention in passage.mentions
            for target in mention.targets
            if target.chunk_id in evidence.first and target.chunk_id != passage.chunk_id
        ),
        default=0.0,
    )
    named = float(passage.named > 0)
    first = evidence.first.get(passage.chunk_id, 0.0)
    return [
        *_first(passage),
        first,
        linked,
        linked_relation,
        best_relation,
        out,
        math.sqrt(len(sources)),
        linked * named,
        out * named,
        linked * (1 - named),
        first * named * evidence.comparison,
        from_named * (1 - named),
    ]


def entity_features(
    entities: Sequence[tuple[Passage, str, int, int]], evidence: Evidence, terms: frozenset[str]
) -> FloatArray:
    """Of entities, each with the passage that names it, its folded name and where it stands; shape
    ``(entities, len(ENTITY))``."""
    rows = []
    for passage, name, start, end in entities:
        first = evidence.first[passage.chunk_id]
        place = (passage.chunk_id, start)
        if place not in evidence.relations:
            evidence.relations[place] = relation(passage.text, start, end, terms)
        overlap = evidence.relations[place]
        rows.append([first, overlap, first * overlap, math.sqrt(len(name.split())), passage.dense])
    return np.asarray(rows, np.float32).reshape(len(rows), len(ENTITY))


def link_up(evidence: Evidence, pool: Sequence[str], terms: frozenset[str]) -> None:
    """Set the links that the mentions in the passages of the pool make, to whatever they lead."""
    evidence.links.clear()
    for chunk_id in pool:
        source = evidence.passages[chunk_id]
        for mention in source.mentions:
            place = (chunk_id, mention.start)
            if place not in evidence.relations:
                evidence.relations[place] = relation(source.text, mention.start, mention.end, terms)
            overlap = evidence.relations[place]
            for target in mention.targets:
                if target.chunk_id != chunk_id:
                    link = Link(chunk_id, mention.quality, overlap)
                    evidence.links.setdefault(target.chunk_id, []).append(link)


@dataclass(frozen=True, slots=True)
class BridgeModels:
    """The fitted models."""

    first: LinearModel
    link: LinearModel
    entity: LinearModel
    """Whether an entity that is nobody's name in the KB leads to the evidence that is missing."""
    final: LinearModel


def model_from(features: Sequence[str], weights: Mapping[str, float]) -> LinearModel:
    """A model from weights by feature name; a feature without a weight counts nothing."""
    return LinearModel(tuple(weights.get(feature, 0.0) for feature in features), weights["bias"])


def models_from(values: Mapping[str, Mapping[str, float]]) -> BridgeModels:
    """All models, each from its weights by feature name."""
    return BridgeModels(
        model_from(FIRST, values["first"]),
        model_from(LINK, values["link"]),
        model_from(ENTITY, values["entity"]),
        model_from(FINAL, values["final"]),
    )
