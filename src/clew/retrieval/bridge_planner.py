"""The planner that needs no language model: it follows the bridge entities that the evidence names.

After each round it walks from the passages found to those that are about what these name, scores them by how the link
stands in the text and how the passage fits the question (:mod:`clew.retrieval.bridging`), and asks for the best ones
with a sub-question of its own: the question with what is resolved taken out and the bridge put in its place. Sides of a
comparison are looked up by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.retrieval import bridging
from clew.retrieval.bridge_weights import MODELS
from clew.retrieval.bridging import BridgeModels, Evidence, Passage
from clew.retrieval.graph_walk import Mention, Target, Walk
from clew.retrieval.planners import Plan, Situation, Variant
from clew.retrieval.recall import in_scope
from clew.storage.base import Posting, Records, SearchIndex
from clew.text.entities import Entity, extract_entities, has_cjk
from clew.text.everyday_english import FUNCTION_WORDS
from clew.text.names import fold_name, is_name
from clew.text.tokenizing import only_connects, query_terms, tokenize, word_spans
from clew.types import Candidate, FloatArray, Query, Representation, Scope

_NAMES_PER_ROUND = 3
_ENTITY_SOURCES = 4
# Characters around a bridge whose words are taken as resolved by it.
_CLAUSE = 80
_LINKED_PER_ROUND = 8
# Below this a bridge is not worth a look-up.
_LEAST_BRIDGE = 0.03
# The evidence is enough where the best passages speak of this share of what the question asks, and the second-best of
# them is this likely to be evidence.
_BEST = 5
_ENOUGH_SHARE = 0.5
_ENOUGH_SECOND = 0.2
_COMPARISON = re.compile(
    r"\b(?:or|both|same|and|than|versus|vs|between|either)\b|还是|或|和|与|跟|及|谁更|哪个更|哪一个|相同|都|比|與|還是|同樣",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Bridge:
    """A name that the evidence mentions, the passages that are about it, and how likely the best one is evidence."""

    name: str
    shown: str
    source: str
    """The chunk that names it."""
    start: int
    """Where it stands in that chunk's text."""
    targets: tuple[Target, ...]
    """Empty for an entity that no chunk is known to be about."""
    probability: float


class BridgePlanner:
    """Plans the look-ups of one question; make a new one for each.

    ``walk`` is limited to the KBs of the request, ``scope`` limits it further; without ``models`` those fitted on the
    question's language serve.
    """

    name = "bridge"

    def __init__(
        self, walk: Walk, index: SearchIndex, records: Records, scope: Scope, models: BridgeModels | None = None
    ) -> None:
        self._walk = walk
        self._index = index
        self._records = records
        self._scope = scope
        self._given = models
        self._models = models or MODELS["en"]
        self._followed: dict[str, Bridge] = {}
        self._targets: set[str] = set()
        self._mentions: dict[str, list[Mention]] = {}
        self._dense: dict[str, float] = {}
        self._question: list[Mention] = []
        self._versions: dict[str, int] = {}
        self._allowed: dict[str, bool] = {}
        self._folded: dict[str, str] = {}
        self._relations: dict[tuple[str, int], float] = {}
        self._extracted: dict[str, list[Entity]] = {}

    def begin(self, queries: Mapping[str, Query]) -> Mapping[str, Sequence[Posting]]:
        """Passages that are about what the question names, by KB: one more route of the first look-up."""
        query = next(iter(queries.values()))
        self._models = self._given or MODELS[query.language]
        self._question = self._walk.mentions(query.text, self._allows, capitals=query.text.lower() != query.text)
        scored = {
            target: len(mention.name.split()) ** 0.5 * mention.quality
            for mention in self._question
            for target in mention.targets
        }
        best = sorted(scored, key=lambda target: (-scored[target], target.chunk_id))[:_LINKED_PER_ROUND]
        return self._postings(best)

    def plan(self, situation: Situation) -> Plan:
        """The next bridges to follow; nothing more where none is worth it."""
        evidence = self.evidence(situation)
        bridges = self._bridges(situation, evidence)
        missing = self._unresolved(situation)
        chosen = bridges[:_NAMES_PER_ROUND]
        share, second = self._completeness(situation, evidence)
        enough = not missing and share >= _ENOUGH_SHARE and second >= _ENOUGH_SECOND
        confidence = round(share * second * (0.5 if missing else 1.0), 3)
        if not chosen or not situation.rounds_left:
            return Plan(not enough, "", (), confidence, _verdict(situation, missing, enough))
        names = tuple(bridge.shown for bridge in chosen)
        self._followed.update((bridge.name, bridge) for bridge in chosen)
        self._targets.update(target.chunk_id for bridge in chosen for target in bridge.targets[:_LINKED_PER_ROUND])
        return Plan(
            need_more=True,
            next_question=self._sub_question(situation, chosen),
            key_entities=names,
            confidence=confidence,
            reason=_following(situation, names),
            variants=tuple(
                Variant(self._sub_question(situation, [bridge]), self._postings(bridge.targets[:_LINKED_PER_ROUND]))
                for bridge in chosen
            ),
        )

    def order(self, situation: Situation) -> list[Candidate]:
        """The pool by the probability that each passage belongs to the evidence."""
        evidence = self.evidence(situation)
        passages = [evidence.passages[c.chunk_id] for c in situation.pool]
        probabilities = self._models.final.probabilities(bridging.final_features(passages, evidence))
        ranked = sorted(
            zip(situation.pool, probabilities.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0].chunk_id)
        )
        return [replace(c, score=p, scores={**c.scores, "bridge": p}) for c, p in ranked]

    def outlook(self, situation: Situation) -> dict[str, float]:
        """What the first look-up shows of where rounds would lead: how likely its best two passages are evidence, and
        the likeliest one outside that they lead to."""
        evidence = self.evidence(situation)
        pool = {c.chunk_id for c in situation.pool}
        outside = [evidence.passages[chunk_id] for chunk_id in evidence.links if chunk_id not in pool]
        leads = self._models.link.probabilities(bridging.link_features(outside, evidence)).tolist()
        first, second, *_ = (*sorted(evidence.first.values(), reverse=True), 0.0, 0.0)
        return {"first_1": first, "first_2": second, "linked": max(leads, default=0.0)}

    # --- evidence ----------------------------------------------------------------------------------------------

    def evidence(self, situation: Situation) -> Evidence:
        """Passages of the pool and those they link to, with their features' values."""
        pool = [c.chunk_id for c in situation.pool]
        comparison = len(self._question) > 1 and bool(_COMPARISON.search(situation.question))
        evidence = Evidence(comparison=comparison, relations=self._relations)
        files = {c.chunk_id: (c.kb_id, c.file_id) for c in situation.pool}
        for candidate in situation.pool:
            for mention in self._mentions_of(candidate.chunk_id, situation):
                files.update({t.chunk_id: (t.kb_id, t.file_id) for t in mention.targets if t.chunk_id not in files})
        self._read_vectors(files, situation)
        for chunk_id in files:
            evidence.passages[chunk_id] = self._passage(chunk_id)
        self._first_scores(evidence, situation)
        self._later_scores(evidence, situation)
        for candidate in situation.pool:
            passage = evidence.passages[candidate.chunk_id]
            passage.mentions = self._mentions[candidate.chunk_id]
            passage.text = situation.chunks[candidate.chunk_id].text
            passage.round = candidate.round
            passage.bridge = self._bridge_in(candidate.chunk_id, situation)
        bridging.link_up(evidence, pool, self.relation_terms(situation.question))
        first = self._models.first.probabilities(bridging.first_features([evidence.passages[c] for c in pool]))
        evidence.first = dict(zip(pool, first.tolist(), strict=True))
        return evidence

    def _bridge_in(self, chunk_id: str, situation: Situation) -> float:
        if chunk_id not in self._folded:
            chunk = situation.chunks[chunk_id]
            self._folded[chunk_id] = f" {fold_name(' '.join([*chunk.section_titles, chunk.text]))} "
        text = self._folded[chunk_id]
        return max(
            (
                bridge.probability
                for name, bridge in self._followed.items()
                if bridge.source != chunk_id and _within(name, text)
            ),
            default=0.0,
        )

    def _passage(self, chunk_id: str) -> Passage:
        passage = Passage(chunk_id, dense=self._dense.get(chunk_id, 0.0), target=chunk_id in self._targets)
        for mention in self._question:
            if any(target.chunk_id == chunk_id for target in mention.targets):
                passage.named = max(passage.named, mention.quality)
                passage.named_words = max(passage.named_words, len(mention.name.split()))
        return passage

    def _first_scores(self, evidence: Evidence, situation: Situation) -> None:
        found = situation.history[0].candidates
        top_bm25 = max((c.scores.get("bm25", 0.0) for c in found), default=0.0)
        top_dense = max((self._dense[c.chunk_id] for c in found if c.chunk_id in self._dense), default=None)
        for rank, candidate in enumerate(found):
            passage = evidence.passages.get(candidate.chunk_id)
            if passage is not None:
                passage.rank = rank
                passage.bm25 = candidate.scores.get("bm25", 0.0) / top_bm25 if top_bm25 else 0.0
        for chunk_id, passage in evidence.passages.items():
            known = top_dense is not None and chunk_id in self._dense
            passage.dense = self._dense[chunk_id] - top_dense if known and top_dense is not None else 0.0

    def _later_scores(self, evidence: Evidence, situation: Situation) -> None:
        for bridge, recalled in zip(self._followed.values(), situation.history[1:], strict=False):
            top_bm25 = max((c.scores.get("bm25", 0.0) for c in recalled.candidates), default=0.0)
            top_dense = max((c.scores["l2"] for c in recalled.candidates if "l2" in c.scores), default=0.0)
            for rank, candidate in enumerate(recalled.candidates):
                passage = evidence.passages.get(candidate.chunk_id)
                if passage is None:
                    continue
                passage.sub_rank = max(passage.sub_rank, bridge.probability / (1 + rank))
                if "l2" in candidate.scores:
                    passage.sub_dense = max(passage.sub_dense, candidate.scores["l2"] - top_dense)
                if top_bm25:
                    passage.sub_bm25 = max(passage.sub_bm25, candidate.scores.get("bm25", 0.0) / top_bm25)

    def _mentions_of(self, chunk_id: str, situation: Situation) -> list[Mention]:
        if chunk_id not in self._mentions:
            own = self._walk.names_of(chunk_id)
            self._mentions[chunk_id] = self._walk.mentions(situation.chunks[chunk_id].text, self._allows, ignore=own)
        return self._mentions[chunk_id]

    def _read_vectors(self, files: Mapping[str, tuple[str, str]], situation: Situation) -> None:
        """Cosine of every passage with the question, from the stored vectors."""
        for candidate in situation.history[0].candidates:
            if "l2" in candidate.scores:
                self._dense.setdefault(candidate.chunk_id, candidate.scores["l2"])
        missing: dict[str, list[tuple[str, int]]] = {}
        for chunk_id, (kb_id, file_id) in files.items():
            if chunk_id not in self._dense:
                missing.setdefault(kb_id, []).append((chunk_id, self._version(file_id)))
        for kb_id, keys in missing.items():
            vector = situation.queries[kb_id].vector
            if vector is not None:
                stored = self._index.vectors(kb_id, Representation.L2, keys)
                self._dense.update(_cosines(stored, vector))

    # --- bridges -----------------------------------------------------------------------------------------------

    def _bridges(self, situation: Situation, evidence: Evidence) -> list[Bridge]:
        """Bridges that lead out of the evidence and have not been followed, the likeliest first."""
        pool = {c.chunk_id for c in situation.pool}
        outside = [chunk_id for chunk_id in evidence.links if chunk_id not in pool]
        passages = [evidence.passages[chunk_id] for chunk_id in outside]
        scores = self._models.link.probabilities(bridging.link_features(passages, evidence))
        probability = dict(zip(outside, scores.tolist(), strict=True))
        bridges: dict[str, Bridge] = {}
        for candidate in situation.pool:
            text = situation.chunks[candidate.chunk_id].text
            for mention in self._mentions[candidate.chunk_id]:
                targets = [t for t in mention.targets if t.chunk_id in probability]
                if not targets or mention.name in self._followed:
                    continue
                targets.sort(key=lambda t: -probability[t.chunk_id])
                best = probability[targets[0].chunk_id]
                known = bridges.get(mention.name)
                if best >= _LEAST_BRIDGE and (known is None or best > known.probability):
                    shown = text[mention.start : mention.end]
                    bridges[mention.name] = Bridge(
                        mention.name, shown, candidate.chunk_id, mention.start, tuple(targets), best
                    )
        for bridge in self._entity_bridges(situation, evidence):
            bridges.setdefault(bridge.name, bridge)
        return sorted(bridges.values(), key=lambda bridge: (-bridge.probability, bridge.name))

    def entities(self, situation: Situation, evidence: Evidence) -> list[tuple[Passage, str, int, int]]:
        """Entities that the likeliest passages name and no chunk is known to be about, with the passage, the folded
        name and where it stands: a look-up may find where else they occur."""
        sources = sorted(evidence.first, key=lambda chunk_id: -evidence.first[chunk_id])[:_ENTITY_SOURCES]
        asked = f" {fold_name(situation.question)} "
        found = []
        for chunk_id in sources:
            passage = evidence.passages[chunk_id]
            mentions = self._mentions[chunk_id]
            known = self._walk.names_of(chunk_id).union(m.name for m in mentions)
            for entity in self._named(chunk_id, passage.text):
                name = fold_name(entity.text)
                # A part of a known name is what the tagger has left of it (易九世 of 路易九世).
                is_part = any(m.start <= entity.start and entity.end <= m.end for m in mentions)
                new = name not in known and name not in self._followed and not is_part and not _within(name, asked)
                if new and is_name(name):
                    found.append((passage, name, entity.start, entity.end))
        return found

    def _entity_bridges(self, situation: Situation, evidence: Evidence) -> Iterator[Bridge]:
        found = self.entities(situation, evidence)
        terms = self.relation_terms(situation.question)
        scores = self._models.entity.probabilities(bridging.entity_features(found, evidence, terms))
        best: dict[str, Bridge] = {}
        for (passage, name, start, end), probability in zip(found, scores.tolist(), strict=True):
            if probability >= _LEAST_BRIDGE and (name not in best or probability > best[name].probability):
                best[name] = Bridge(name, passage.text[start:end], passage.chunk_id, start, (), probability)
        yield from best.values()

    def _named(self, chunk_id: str, text: str) -> list[Entity]:
        if chunk_id not in self._extracted:
            self._extracted[chunk_id] = extract_entities(text)
        return self._extracted[chunk_id]

    def _completeness(self, situation: Situation, evidence: Evidence) -> tuple[float, float]:
        """Share of what the question asks beside its names that the best passages speak of, and the probability of the
        second-best passage: an answer of several hops stands on two at least."""
        passages = [evidence.passages[c.chunk_id] for c in situation.pool]
        scores = self._models.final.probabilities(bridging.final_features(passages, evidence)).tolist()
        ranked = sorted(zip(scores, passages, strict=True), key=lambda pair: -pair[0])
        best = [situation.chunks[passage.chunk_id] for _, passage in ranked[:_BEST]]
        terms = self.relation_terms(situation.question)
        spoken = {term[:5] for chunk in best for term in tokenize(" ".join([*chunk.section_titles, chunk.text]))}
        share = len(terms & spoken) / len(terms) if terms else 1.0
        return share, ranked[1][0] if len(ranked) > 1 else 0.0

    def _unresolved(self, situation: Situation) -> list[str]:
        """Names in the question that the evidence neither is about nor mentions."""
        pool = {c.chunk_id for c in situation.pool}
        mentioned = {m.name for c in situation.pool for m in self._mentions[c.chunk_id]}
        return [
            situation.question[m.start : m.end]
            for m in self._question
            if m.name not in mentioned and not any(t.chunk_id in pool for t in m.targets)
        ]

    def _sub_question(self, situation: Situation, bridges: Sequence[Bridge]) -> str:
        """The question with what the bridges' passages resolve taken out and the bridges put in its (first) place.

        Resolved are the names of these passages, and the words of the question that stand in them; function words
        between resolved ones go with them.
        """
        question = situation.question
        resolved = self._resolved_spans(situation, bridges)
        names = ("、" if situation.query.language == "zh" else ", ").join(bridge.shown for bridge in bridges)
        if not resolved:
            return _asked([question.rstrip(" ?？。."), names], question)
        pieces: list[str] = []
        last = 0
        for start, end in resolved:
            pieces += [question[last:start], "" if pieces else names]
            last = end
        return _asked([*pieces, question[last:].rstrip(" ?？。.")], question)

    def _resolved_spans(self, situation: Situation, bridges: Sequence[Bridge]) -> list[tuple[int, int]]:
        question = situation.question
        pool = {c.chunk_id for c in situation.pool}
        spans = [(m.start, m.end) for m in self._question if any(t.chunk_id in pool for t in m.targets)]
        known: set[str] = set()
        for bridge in bridges:
            chunk = situation.chunks[bridge.source]
            around = chunk.text[max(0, bridge.start - _CLAUSE) : bridge.start + _CLAUSE]
            known.update(term[:5] for term in tokenize(" ".join([*chunk.section_titles[-1:], around])))
        for start, end in _words(question):
            word = question[start:end]
            terms = query_terms(word)
            # An English question's first word only opens it, and its short words say little.
            says = len(word) > 1 if has_cjk(word) else start > 0 and len(word) > 2
            if says and not _connects(word) and all(term[:5] in known for term in terms):
                spans.append((start, end))
        return _joined(sorted(spans), question)

    def relation_terms(self, question: str) -> frozenset[str]:
        """What the question asks beside the names in it."""
        pieces, last = [], 0
        for mention in self._question:
            pieces.append(question[last : mention.start])
            last = mention.end
        return bridging.relation_terms(" ".join([*pieces, question[last:]]))

    # --- scope -------------------------------------------------------------------------------------------------

    def _allows(self, target: Target) -> bool:
        """Whether the scope allows a chunk; where it names sections, the records say where the chunk stands."""
        if target.kb_id not in self._scope.kb_ids:
            return False
        if self._scope.file_ids is not None and target.file_id not in self._scope.file_ids:
            return False
        if self._scope.sections is None:
            return True
        if target.chunk_id not in self._allowed:
            chunk = self._records.children([target.chunk_id]).get(target.chunk_id)
            self._allowed[target.chunk_id] = chunk is not None and in_scope(chunk, self._scope)
        return self._allowed[target.chunk_id]

    def _version(self, file_id: str) -> int:
        if file_id not in self._versions:
            self._versions[file_id] = self._records.get_file(file_id).version
        return self._versions[file_id]

    def _postings(self, targets: Sequence[Target]) -> dict[str, list[Posting]]:
        chunks = self._records.children([target.chunk_id for target in targets])
        postings: dict[str, list[Posting]] = {}
        for place, target in enumerate(targets, start=1):
            chunk = chunks.get(target.chunk_id)
            if chunk is not None:
                posting = Posting(chunk.chunk_id, chunk.parent_id, chunk.file_id, target.version, 1.0 / place)
                postings.setdefault(target.kb_id, []).append(posting)
        return postings


def _within(name: str, text: str) -> bool:
    """Whether a folded name occurs in a folded text that has a space at both ends; Chinese has no word borders."""
    return f" {name} " in text or (not name.isascii() and name in text)


def _words(text: str, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
    """Where the words of ``text[first:last]`` stand in ``text``."""
    for match in _WORD.finditer(text, first, len(text) if last is None else last):
        if has_cjk(match[0]):
            yield from ((match.start() + start, match.start() + end) for start, end in word_spans(match[0]))
        else:
            yield match.span()


def _connects(word: str) -> bool:
    return only_connects(word) if has_cjk(word) else word.lower() in FUNCTION_WORDS


def _joined(spans: Sequence[tuple[int, int]], question: str) -> list[tuple[int, int]]:
    """Spans with those joined between which only function words stand."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and (
            start <= joined[-1][1] or all(_connects(question[s:e]) for s, e in _words(question, joined[-1][1], start))
        ):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _asked(pieces: Sequence[str], question: str) -> str:
    text = " ".join(" ".join(pieces).split()) if " " in question.strip() else "".join(pieces)
    return text.strip(" ,") + ("？" if "？" in question else "?")


def _cosines(vectors: Mapping[str, FloatArray], query: FloatArray) -> dict[str, float]:
    if not vectors:
        return {}
    scores = np.stack(list(vectors.values())) @ query
    return dict(zip(vectors, scores.tolist(), strict=True))


def _following(situation: Situation, names: Sequence[str]) -> str:
    if situation.query.language == "zh":
        return f"资料提到{'、'.join(names)}，继续检索"
    return f"the evidence names {', '.join(names)}"


def _verdict(situation: Situation, missing: Sequence[str], enough: bool) -> str:
    chinese = situation.query.language == "zh"
    if missing:
        return f"没有找到关于{'、'.join(missing)}的资料" if chinese else f"nothing was found about {', '.join(missing)}"
    if enough:
        return "问题的各部分都有对应资料" if chinese else "every part of the question has its evidence"
    return "资料只涉及问题的一部分" if chinese else "the evidence covers only a part of the question"
