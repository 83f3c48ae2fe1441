"""Summary questions on the section tree: which sections are meant, and what of them is read (spec 3.3).

A question means a whole document, sections that it names, or a topic. The language model chooses from the outline
where one is configured; without one, or where it fails, numbers and titles decide, and a topic's sections are those in
which the look-up finds it. What is read stays inside the request's scope: sections come from it, and each is read by
its path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from clew.errors import ClewError
from clew.models.base import ChatModel
from clew.models.metering import metered
from clew.retrieval.recall import Recalled, SearchedKb
from clew.retrieval.section_naming import asks_for_whole, named_files, named_sections, upper_sections
from clew.retrieval.section_picker import ScopeOfSummary, pick_sections
from clew.storage.base import Records
from clew.text.central import central_sentences, says_little, says_something
from clew.text.language import count_words
from clew.text.sentences import sentence_spans
from clew.trace import RetrievalTrace, SectionReading
from clew.types import Candidate, ChildChunk, Evidence, File, FileStatus, Query, Scope, Section, SectionFilter

MAX_OUTLINE = 5000
"""Of more sections in the scope only the first are looked at: upper levels come first."""
_MAX_NAMED = 20
_ALIKE = 0.8
_SHORT_WORDS = 12.0
"""Summaries of fewer words say too little to answer with: the text itself is read, or searched where it is long."""
_LINES, _FEW_LINES = 14, 4
"""Sentences that an answer without a language model shows of one section that is asked for, and of one of several."""
_FEW_PARTS, _MANY_PARTS = 6, 24
"""Parts of a document or section that are too few to show what is in it, and those that are shown at most."""
_DETAIL = re.compile(
    r"详细|详尽|具体(?:介绍|说明|内容|描述)|逐[条项一]|展开|细节"
    r"|\b(?:in (?:full )?detail|detailed|thorough(?:ly)?|in depth|step by step)\b",
    re.IGNORECASE,
)
_CELL = " | "


@dataclass(frozen=True, slots=True)
class Place:
    """A section with its file."""

    kb_id: str
    file: File
    section: Section

    @property
    def filter(self) -> SectionFilter:
        """The section and everything below it."""
        return SectionFilter(self.file.file_id, self.section.path)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a question means: ``places`` are roots, named sections, or (``topic``, by a model) the sections about it."""

    scope: ScopeOfSummary
    source: Literal["model", "titles", "look-up"]
    reason: str
    places: tuple[Place, ...]
    detail: bool = False
    files: tuple[File, ...] = ()
    """Files that the question is about; the whole scope where it names none."""

    def narrowed(self, scope: Scope) -> Scope:
        """The request's scope restricted to what is meant; never wider than before."""
        if self.scope == "topic" or not self.places:
            files = frozenset(file.file_id for file in self.files)
            return replace(scope, file_ids=files) if files else scope
        return scope.narrowed_to_sections([place.filter for place in self.places])


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A sentence (or a model's summary) to show, the passage that it is cited from, and the section it sums up."""

    number: int
    text: str
    place: Place


@dataclass(slots=True)
class Reading:
    """What is read for a summary: passages for the answer's context, and lines to show without a language model."""

    evidence: list[Evidence] = field(default_factory=list)
    lines: list[SummaryLine] = field(default_factory=list)


class SectionSearch:
    """Answers which sections a summary question means, and reads them. Safe to use from several threads."""

    def __init__(self, records: Records, chat: ChatModel | None) -> None:
        self._records = records
        self._chat = chat

    def choose(self, question: str, kbs: Sequence[SearchedKb], scope: Scope, trace: RetrievalTrace) -> Choice | None:
        """What the question means; None where the scope holds no sections. ``trace`` is told of a failing model."""
        places = list(self._places(kbs, scope))
        if not places:
            return None
        files = list({place.file.file_id: place.file for place in places}.values())
        meant = tuple(named_files(question, files))
        known = {file.file_id for file in meant or files}
        among = [place for place in places if place.file.file_id in known]
        choice = self._by_model(question, among, kbs[0], trace) or _by_names(question, among, meant or tuple(files))
        return replace(choice, files=meant, detail=choice.detail or bool(_DETAIL.search(question)))

    def read(
        self, choice: Choice, kb: SearchedKb, count_tokens: Callable[[str], int]
    ) -> tuple[Reading, SectionReading]:
        """Sections and their summaries within the context's budget. ``fallback`` of the record says why nothing was
        read: then the passages of the sections are to be searched."""
        budget = kb.settings.retrieval.context_budget_tokens
        below = self._below(choice.places)
        record = SectionReading(
            scope=choice.scope,
            source=choice.source,
            reason=choice.reason,
            sections=tuple(_traced(place) for place in choice.places),
            matched=len(below),
        )
        if choice.detail:
            return Reading(), replace(record, fallback="details are asked for")
        below = [self._summarised(place) for place in below]
        told = [place for place in below if place.section.summary]
        whole = self._whole(choice.places, budget) if choice.scope == "sections" else []
        short = sum(map(_told_words, told)) < _SHORT_WORDS
        if short and not whole:
            return Reading(), replace(record, fallback="the summaries say too little")
        quoter = _Quoter(self._records)
        if whole:
            reading = Reading(whole)
            record = replace(record, read=len(below), text=True)
        else:
            reading, read = _summaries(told, quoter, budget, count_tokens)
            record = replace(record, read=read, matched=len(told))
        # Where there are hardly any sentences, passages and table rows are quoted by the question instead.
        reading.lines = [] if short else _lines(choice, told, reading.evidence, quoter)
        return reading, record

    def topic(
        self,
        choice: Choice,
        recalled: Recalled,
        matching: Iterable[tuple[str, str]],
        kb: SearchedKb,
        count_tokens: Callable[[str], int],
    ) -> tuple[Reading, SectionReading]:
        """The sections about a topic, best first: their summaries, and of the first ones the passage.

        ``matching`` are pairs of file id and path of all sections that hold its words, more than are ranked; beside
        them those that a model picked and those of the best passages belong to it.
        """
        budget = kb.settings.retrieval.context_budget_tokens
        ranked: dict[tuple[str, str], Candidate] = {}
        for candidate in recalled.candidates:
            chunk = recalled.chunks[candidate.chunk_id]
            ranked.setdefault((chunk.file_id, chunk.section_path), candidate)
        picked = {(place.file.file_id, place.section.path) for place in choice.places}
        matched = {*list(ranked)[: kb.settings.retrieval.rerank_top_k], *picked, *matching}
        reading = Reading()
        left = budget
        sections: list[Place] = []
        for key in sorted((key for key in ranked if key in matched), key=lambda key: key not in picked):
            candidate = ranked[key]
            place = self._place(candidate, key[1])
            child = recalled.chunks[candidate.chunk_id]
            text = child.text if len(reading.evidence) < _LINES or not place.section.summary else place.section.summary
            tokens = count_tokens(text)
            if tokens > left:
                break
            left -= tokens
            sections.append(place)
            reading.evidence.append(_evidence(len(reading.evidence) + 1, place, candidate, child, text, tokens))
        record = SectionReading(
            scope="topic",
            source=choice.source,
            reason=choice.reason,
            sections=tuple(map(_traced, sections)),
            matched=len(matched),
            read=len(sections),
        )
        return reading, record

    def lines_of_whole(self, evidence: Sequence[Evidence]) -> list[SummaryLine]:
        """The central sentences of files whose whole text is the evidence."""
        lines: list[SummaryLine] = []
        for file_id, passages in groupby(evidence, key=lambda e: e.candidate.file_id):
            file = self._records.get_file(file_id)
            kb_id = file.kb_id
            root = Section("", (file.title or file.name,), 0, summary_source="extractive")
            sentences = [(e.number, sentence) for e in passages for sentence in _sentences(e.text)]
            if sentences:
                words = sum(count_words(sentence) for _, sentence in sentences) * _LINES / len(sentences)
                kept = central_sentences([sentence for _, sentence in sentences], words)[:_LINES]
                lines += [SummaryLine(*sentences[i], Place(kb_id, file, root)) for i in kept]
        return lines

    def _places(self, kbs: Sequence[SearchedKb], scope: Scope) -> Iterator[Place]:
        for kb in kbs:
            files = _files(self._records, kb.kb.kb_id)
            file_ids = scope.file_ids
            if kb.files is not None:
                file_ids = kb.files.bm25 if file_ids is None else file_ids & kb.files.bm25
            for file_id, section in self._records.outline(kb.kb.kb_id, file_ids=file_ids, limit=MAX_OUTLINE):
                if file_id in files and scope.allows(SectionFilter(file_id, section.path)):
                    yield Place(kb.kb.kb_id, files[file_id], section)

    def _place(self, candidate: Candidate, path: str) -> Place:
        file = self._records.get_file(candidate.file_id)
        sections = self._records.sections(candidate.file_id, prefix=path)
        section = next((s for s in sections if s.path == path), Section(path, (), 0))
        return Place(candidate.kb_id, file, section)

    def _by_model(self, question: str, places: Sequence[Place], kb: SearchedKb, trace: RetrievalTrace) -> Choice | None:
        chat = metered(self._chat, "sections", trace.spend)
        if chat is None:
            return None
        settings = kb.settings.summaries
        try:
            pick = pick_sections(
                question,
                [(place.file.title or place.file.name, place.section) for place in places],
                chat,
                tokens=settings.input_tokens,
                timeout=settings.choice_timeout,
                count_tokens=kb.embedder.count_tokens,
            )
        except ClewError as error:
            trace.degraded.append(f"choice of sections: {error}")
            return None
        chosen = tuple(places[i] for i in pick.places)
        if pick.scope == "document":
            ids = {place.file.file_id for place in chosen} or {place.file.file_id for place in places}
            chosen = tuple(p for p in places if p.file.file_id in ids and not p.section.path) or chosen
        return Choice(pick.scope, "model", pick.reason, _outermost(chosen), pick.detail)

    def _below(self, places: Sequence[Place]) -> list[Place]:
        """The places with everything below them, upper levels first."""
        found: dict[tuple[str, str], Place] = {}
        for place in places:
            for section in self._records.sections(place.file.file_id, prefix=place.section.path):
                found.setdefault((place.file.file_id, section.path), replace(place, section=section))
        return sorted(found.values(), key=lambda place: (place.section.level, place.file.file_id, place.section.path))

    def _summarised(self, place: Place) -> Place:
        """The place; the central sentences of its own text stand in for a summary that is not written yet."""
        if place.section.summary is not None or place.file.summary_total or place.file.summary_status == "completed":
            return place
        prefix = place.section.path
        parents = self._records.file_parents(place.file.file_id, prefix=prefix)
        sentences = [sentence for parent in parents for sentence in _sentences(parent.text)]
        if not sentences or (not prefix and len(parents) > 400):
            return place
        text = "\n".join(sentences[i] for i in central_sentences(sentences, 100))
        return replace(place, section=replace(place.section, summary=text, summary_source="extractive"))

    def _whole(self, places: Sequence[Place], budget: int) -> list[Evidence]:
        """The sections' own passages where all of them fit into the budget."""
        parents = [
            (place, parent)
            for place in places
            for parent in self._records.file_parents(place.file.file_id, prefix=place.section.path)
        ]
        if not parents or sum(parent.tokens for _, parent in parents) > budget:
            return []
        first: dict[str, ChildChunk] = {}
        evidence: list[Evidence] = []
        for file_id in {place.file.file_id for place in places}:
            for child in self._records.file_children(file_id):
                first.setdefault(child.parent_id, child)
        for place, parent in parents:
            if parent.chunk_id in first:
                child = first[parent.chunk_id]
                candidate = _candidate(place, child)
                evidence.append(_evidence(len(evidence) + 1, place, candidate, child, parent.text, parent.tokens))
        return evidence


def _sentences(text: str) -> list[str]:
    """The sentences of running text, without tables."""
    return [
        sentence
        for line in text.splitlines()
        if _CELL not in line
        for start, end in sentence_spans(line)
        if says_something(sentence := " ".join(line[start:end].split()))
    ]


def _by_names(question: str, places: Sequence[Place], files: Sequence[File]) -> Choice:
    """By numbers and titles; what names neither a document nor a section is a topic."""
    found: list[tuple[float, str, Place]] = []
    for file in files:
        own = {place.section.path: place for place in places if place.file.file_id == file.file_id}
        named = named_sections(question, [place.section for place in own.values()], file)
        found += [(each.score, each.by, own[each.section.path]) for each in named]
    best = max((score for score, _, _ in found), default=0.0)
    chosen = [(by, place) for score, by, place in found if score >= _ALIKE * best][:_MAX_NAMED]
    by_number = any(by != "title" for by, _ in chosen)
    if chosen and (by_number or best >= 1.0 or not asks_for_whole(question, files)):
        said = ", ".join(dict.fromkeys(place.section.title for _, place in chosen))
        return Choice("sections", "titles", f"names by {chosen[0][0]}: {said}"[:200], tuple(p for _, p in chosen))
    if asks_for_whole(question, files):
        roots = tuple(place for place in places if not place.section.path)
        if roots:
            return Choice("document", "titles", "names nothing but the document", roots)
    return Choice("topic", "look-up", "names no document and no section", ())


def _told_words(place: Place) -> float:
    """Words of a summary without labels and formulas."""
    return sum(count_words(line) for line in (place.section.summary or "").split("\n") if not says_little(line))


def _outermost(places: Sequence[Place]) -> tuple[Place, ...]:
    """Without those that lie below another one."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda place: len(place.section.path)):
        inside = any(
            k.file.file_id == place.file.file_id and place.section.path.startswith(k.section.path) for k in kept
        )
        if not inside:
            kept.append(place)
    return tuple(kept)


def _summaries(
    told: Sequence[Place], quoter: _Quoter, budget: int, count_tokens: Callable[[str], int]
) -> tuple[Reading, int]:
    """Summaries of as many sections as the budget holds, upper levels first, in reading order; how many were read."""
    chosen: list[Place] = []
    left = budget
    seen: set[tuple[str, str]] = set()
    read = 0
    for place in told:
        text = place.section.summary or ""
        read += 1
        if (place.file.file_id, text) in seen:
            continue  # a section that holds one other alone has its summary
        tokens = count_tokens(text)
        if tokens > left and chosen:
            read -= 1
            break
        seen.add((place.file.file_id, text))
        chosen.append(place)
        left -= tokens
    reading = Reading()
    for place in sorted(chosen, key=lambda place: (place.file.file_id, place.section.path)):
        for child, text in quoter.passages(place):
            number = len(reading.evidence) + 1
            reading.evidence.append(_evidence(number, place, _candidate(place, child), child, text, count_tokens(text)))
    return reading, read


def _lines(choice: Choice, told: Sequence[Place], evidence: Sequence[Evidence], quoter: _Quoter) -> list[SummaryLine]:
    """What an answer without a model shows: of a document its upper sections, of a section its own summary and then
    those of the sections right below it."""
    by_chunk = {e.candidate.chunk_id: e.number for e in evidence}
    by_parent = {e.candidate.parent_id: e.number for e in reversed(evidence)}
    by_key = {(place.file.file_id, place.section.path): place for place in told}
    shown: list[tuple[Place, int]] = []
    for place in choice.places:
        key = (place.file.file_id, place.section.path)
        inside = [p for (f, path), p in by_key.items() if f == key[0] and path.startswith(key[1]) and path != key[1]]
        alone = len(choice.places) == 1
        parts = [by_key[key[0], section.path] for section in _parts([p.section for p in inside])] if alone else []
        if key in by_key and (choice.scope == "sections" or not parts):
            shown.append((by_key[key], _LINES if alone and len(parts) < 2 else _FEW_LINES))
        shown += [(part, 2 if len(parts) < _MANY_PARTS / 2 else 1) for part in parts if len(parts) > 1]
    asked = {(place.file.file_id, place.section.path) for place in choice.places if place.section.path}
    lines: list[SummaryLine] = []
    said: set[str] = set()
    for place, most in shown:
        sentences = [(child, s) for child, text in quoter.passages(place) for s in text.split("\n")]
        if (place.file.file_id, place.section.path) not in asked:
            sentences = [(child, s) for child, s in sentences if not says_little(s)]
        kept = sentences
        if len(sentences) > most:
            words = sum(count_words(s) for _, s in sentences) * most / len(sentences)
            kept = [sentences[i] for i in central_sentences([s for _, s in sentences], words)][:most]
        for child, sentence in kept:
            number = by_chunk.get(child.chunk_id) or by_parent.get(child.parent_id)
            if number is not None and sentence not in said:
                said.add(sentence)
                lines.append(SummaryLine(number, sentence, place))
    return lines


def _parts(inside: Sequence[Section]) -> list[Section]:
    """The sections that show what is in a document: those of the upper level, or of the next one where these are few
    (a filing's four parts say less than its items)."""
    upper = upper_sections(inside)
    if len(upper) < _FEW_PARTS:
        deeper = [s for s in inside if upper and s.level == upper[0].level + 1]
        if len(upper) < len(deeper) <= _MANY_PARTS:
            bare = [s for s in upper if not any(d.path.startswith(s.path) for d in deeper)]
            upper = sorted([*deeper, *bare], key=lambda s: s.path)
    return upper[:_MANY_PARTS]


class _Quoter:
    """Finds the passages that the sentences of extractive summaries come from."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._children: dict[str, list[tuple[ChildChunk, str]]] = {}

    def passages(self, place: Place) -> list[tuple[ChildChunk, str]]:
        """The summary's sentences by the child chunk they stand in, in order; a model's summary whole, with the first
        chunk of the section. Empty for a section without chunks."""
        children = [
            (child, text)
            for child, text in self._of_file(place.file.file_id)
            if child.section_path.startswith(place.section.path)
        ]
        if not children:
            return []
        summary = place.section.summary or ""
        if place.section.summary_source != "extractive":
            return [(children[0][0], summary)]
        found: list[tuple[ChildChunk, list[str]]] = []
        for sentence in filter(None, summary.split("\n")):
            child = _holder(sentence, children)
            same = next((texts for known, texts in found if known.chunk_id == child.chunk_id), None)
            if same is None:
                found.append((child, [sentence]))
            else:
                same.append(sentence)
        return [(child, "\n".join(texts)) for child, texts in found]

    def _of_file(self, file_id: str) -> list[tuple[ChildChunk, str]]:
        if file_id not in self._children:
            self._children[file_id] = [
                (child, " ".join(child.text.split())) for child in self._records.file_children(file_id)
            ]
        return self._children[file_id]


def _holder(sentence: str, children: Sequence[tuple[ChildChunk, str]]) -> ChildChunk:
    """The child that holds a sentence; where it was cut in two, the one that holds its beginning, else the first."""
    for part in (sentence, sentence[: max(12, len(sentence) // 3)]):
        for child, text in children:
            if part in text:
                return child
    return children[0][0]


def _candidate(place: Place, child: ChildChunk) -> Candidate:
    return Candidate(child.chunk_id, child.parent_id, child.file_id, place.kb_id, 1.0, ("summary",))


def _evidence(number: int, place: Place, candidate: Candidate, child: ChildChunk, text: str, tokens: int) -> Evidence:
    return Evidence(
        number=number,
        candidate=candidate,
        file_name=place.file.name,
        file_title=place.file.title or place.file.name,
        section_path=child.section_path,
        section_titles=child.section_titles,
        text=text,
        passage=child.text,
        tokens=tokens,
        page=child.page,
        regions=child.regions,
        facts=place.file.shown_facts,
    )


def _traced(place: Place) -> Mapping[str, object]:
    return {
        "file_id": place.file.file_id,
        "file": place.file.name,
        "section_path": place.section.path,
        "titles": list(place.section.titles),
        "summary_source": place.section.summary_source,
    }


def titles_in(records: Records, scope: Scope) -> list[str]:
    """Titles of the scope's files, then of their sections, upper levels first."""
    titles: list[str] = []
    for kb_id in scope.kb_ids:
        files = _files(records, kb_id)
        for file_id, section in records.outline(kb_id, file_ids=scope.file_ids, limit=MAX_OUTLINE):
            if file_id in files and scope.allows(SectionFilter(file_id, section.path)):
                titles.append(section.title if section.path else files[file_id].title or files[file_id].name)
    return titles


def _files(records: Records, kb_id: str) -> dict[str, File]:
    return {file.file_id: file for file in records.list_files(kb_id, status=FileStatus.COMPLETED)}


def queries_of(queries: Sequence[tuple[SearchedKb, Query]], **retrieval: object) -> list[tuple[SearchedKb, Query]]:
    """The same queries with other settings of the look-up."""
    return [
        (
            replace(
                kb,
                settings=kb.settings.model_copy(
                    update={"retrieval": kb.settings.retrieval.model_copy(update=retrieval)}
                ),
            ),
            query,
        )
        for kb, query in queries
    ]
