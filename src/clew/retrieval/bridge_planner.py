"""The planner that needs no language model: it follows the bridge entities that the evidence names.

After each round it walks from the passages found to those that are about what these name, scores them by how the link
stands in the text and how the passage fits the question (:mod:`clew.retrieval.bridging`), and asks for the best ones
with a sub-question of its own: the question with what is resolved taken out and the bridge put in its place. Sides of a
comparison are looked up by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.retrieval import bridging
from clew.retrieval.bridge_weights import MODELS
from clew.retrieval.bridging import BridgeModels, Evidence, Passage
from clew.retrieval.graph_walk import Mention, Target, Walk
from clew.retrieval.planners import Plan, Situation
from clew.retrieval.recall import in_scope
from clew.storage.base import Posting, Records, SearchIndex
from clew.types import Candidate, FloatArray, Query, Representation, Scope

_NAMES_PER_ROUND = 3
_LINKED_PER_ROUND = 8
# Below this a link is not worth a look-up.
_LEAST_BRIDGE = 0.05
# Above this a bridge that has not been followed leaves the evidence incomplete.
_OPEN_BRIDGE = 0.3
_COMPARISON = re.compile(
    r"\b(?:or|both|same|and|than|versus|vs|between|either)\b|还是|或|和|与|跟|及|谁更|哪个更|哪一个|相同|都|比|與|還是|同樣",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Bridge:
    """A name that the evidence mentions, the passages that are about it, and how likely the best one is evidence."""

    name: str
    shown: str
    targets: tuple[Target, ...]
    probability: float


class BridgePlanner:
    """Plans the look-ups of one question; make a new one for each.

    ``walk`` is limited to the KBs of the request, ``scope`` limits it further.
    """

    name = "bridge"

    def __init__(
        self, walk: Walk, index: SearchIndex, records: Records, scope: Scope, models: BridgeModels = MODELS
    ) -> None:
        self._walk = walk
        self._index = index
        self._records = records
        self._scope = scope
        self._models = models
        self._followed: set[str] = set()
        self._targets: set[str] = set()
        self._mentions: dict[str, list[Mention]] = {}
        self._dense: dict[str, float] = {}
        self._question: list[Mention] = []
        self._versions: dict[str, int] = {}
        self._allowed: dict[str, bool] = {}

    def begin(self, queries: Mapping[str, Query]) -> Mapping[str, Sequence[Posting]]:
        """Passages that are about what the question names, by KB: one more route of the first look-up."""
        query = next(iter(queries.values()))
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
        open_bridge = max((bridge.probability for bridge in bridges), default=0.0)
        confidence = round((1.0 - open_bridge) * (0.5 if missing else 1.0), 3)
        if not missing and open_bridge < _OPEN_BRIDGE:
            return Plan(False, confidence=confidence, reason=_reason(situation, (), missing))
        if not chosen:
            return Plan(True, confidence=confidence, reason=_reason(situation, (), missing))
        names = tuple(bridge.shown for bridge in chosen)
        if situation.rounds_left:
            self._followed.update(bridge.name for bridge in chosen)
        linked = [target for bridge in chosen for target in bridge.targets][:_LINKED_PER_ROUND]
        self._targets.update(target.chunk_id for target in linked)
        return Plan(
            need_more=True,
            next_question=self._sub_question(situation, names),
            key_entities=names,
            confidence=confidence,
            reason=_reason(situation, names, missing),
            linked=self._postings(linked),
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

    # --- evidence ----------------------------------------------------------------------------------------------

    def evidence(self, situation: Situation) -> Evidence:
        """Passages of the pool and those they link to, with their features' values."""
        pool = [c.chunk_id for c in situation.pool]
        evidence = Evidence(comparison=len(self._question) > 1 and bool(_COMPARISON.search(situation.question)))
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
        bridging.link_up(evidence, pool, self._relation_terms(situation.question))
        first = self._models.first.probabilities(bridging.first_features([evidence.passages[c] for c in pool]))
        evidence.first = dict(zip(pool, first.tolist(), strict=True))
        return evidence

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
        for recalled in situation.history[1:]:
            top_bm25 = max((c.scores.get("bm25", 0.0) for c in recalled.candidates), default=0.0)
            top_dense = max((c.scores["l2"] for c in recalled.candidates if "l2" in c.scores), default=0.0)
            for candidate in recalled.candidates:
                passage = evidence.passages.get(candidate.chunk_id)
                if passage is None:
                    continue
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
                    bridges[mention.name] = Bridge(mention.name, shown, tuple(targets), best)
        return sorted(bridges.values(), key=lambda bridge: (-bridge.probability, bridge.name))

    def _unresolved(self, situation: Situation) -> list[str]:
        """Names in the question that the evidence neither is about nor mentions."""
        pool = {c.chunk_id for c in situation.pool}
        mentioned = {m.name for c in situation.pool for m in self._mentions[c.chunk_id]}
        return [
            situation.question[m.start : m.end]
            for m in self._question
            if m.name not in mentioned and not any(t.chunk_id in pool for t in m.targets)
        ]

    def _sub_question(self, situation: Situation, names: Sequence[str]) -> str:
        """The question with its resolved names replaced by the bridges, the other bridges appended."""
        question, left = situation.question, list(names)
        pool = {c.chunk_id for c in situation.pool}
        pieces, last = [], 0
        for mention in self._question:
            if any(target.chunk_id in pool for target in mention.targets):
                pieces.append(question[last : mention.start])
                pieces.append(left.pop(0) if left else "")
                last = mention.end
        text = "".join([*pieces, question[last:]]).rstrip(" ?？。.")
        mark = "？" if "？" in question else "?"
        return " ".join(" ".join([text, ", ".join(left)]).split()).strip(" ,") + mark

    def _relation_terms(self, question: str) -> frozenset[str]:
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


def _cosines(vectors: Mapping[str, FloatArray], query: FloatArray) -> dict[str, float]:
    if not vectors:
        return {}
    scores = np.stack(list(vectors.values())) @ query
    return dict(zip(vectors, scores.tolist(), strict=True))


def _reason(situation: Situation, names: Sequence[str], missing: Sequence[str]) -> str:
    chinese = situation.query.language == "zh"
    if names:
        shown = ("、" if chinese else ", ").join(names)
        return f"资料提到{shown}，继续检索" if chinese else f"the evidence names {shown}"
    if missing:
        shown = ("、" if chinese else ", ").join(missing)
        return f"没有找到关于{shown}的资料" if chinese else f"nothing was found about {shown}"
    return "问题的各部分都有对应资料" if chinese else "every part of the question has its evidence"
