"""What follows a publish: section summaries and questions, and their entries in the search index.

sentences → extractive tree → publish → model's tree and questions → publish again

A run may be repeated after a crash: what a model wrote and what was encoded is cached, and records and index entries
are replaced as a whole. A run that a newer one has taken over writes nothing more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from clew.config import Settings
from clew.errors import NotFoundError
from clew.indexing.caching import FileCache
from clew.indexing.editing import blocks_of
from clew.indexing.embedding import TITLE_CHARACTERS, embed_texts, entry_of
from clew.indexing.summaries import ModelWriter, extractive_summaries
from clew.models.base import ChatModel, Embedder
from clew.storage.base import IndexEntry, Records, SearchIndex
from clew.text.language import detect_language
from clew.types import ChildChunk, File, FloatArray, Representation, Section, SummarySource, SummaryStatus

_WRITTEN = (Representation.SUMMARY, Representation.QUESTION)


class RunOverError(Exception):
    """A newer run has taken over, the file is gone, or Clew is being closed."""


@dataclass(slots=True)
class Summariser:
    """Summarises published files. Stateless, but for the model, which may be exchanged; safe to use from several
    threads."""

    records: Records
    index: SearchIndex
    embedder: Embedder
    settings: Settings
    chat: ChatModel | None
    """The enrichment model; None: extractive summaries, no questions."""

    def summarise(self, file_id: str, run: int, check: Callable[[], None] = lambda: None) -> None:
        """Write what is wanted of the file's published version and end the run.

        ``check`` is called now and then and may raise to stop the work. Raises RunOverError, ServiceError,
        StorageError.
        """
        file = self.records.get_file(file_id)
        settings = self._settings_of(file)
        chat = self.writer(file)
        sections = self.records.sections(file_id)
        # What a person took out of the passages must not come back in their summary.
        blocks = blocks_of(self.records.file_parents(file_id)) if file.edits else self.records.blocks(file_id)
        extractive = extractive_summaries(sections, blocks, settings.summaries)
        summaries: dict[str, tuple[str, SummarySource]] = {p: (text, "extractive") for p, text in extractive.items()}
        check()
        self._publish(file, run, summaries, {}, settings)
        if chat is not None:
            written, questions = self._write(chat, file, run, sections, settings, check)
            summaries |= {path: (text, "model") for path, text in written.items()}
            self._publish(file, run, summaries, questions, settings)
        if self.records.end_summaries(file_id, run, model="" if chat is None else chat.name):
            self.records.forget_cached(file_id, file.version, "summaries")

    def writer(self, file: File) -> ChatModel | None:
        """The model that writes the file's summaries under the present settings."""
        return self.chat if self._settings_of(file).summaries.writer == "auto" else None

    def lacks(self, file: File) -> bool:
        """Whether a published file has not the summaries that the present settings give it."""
        if not file.version or not self._settings_of(file).summaries.enabled:
            return False
        if file.summary_status is not SummaryStatus.COMPLETED:
            return True
        chat = self.writer(file)
        return file.summary_model != ("" if chat is None else chat.name)

    def _settings_of(self, file: File) -> Settings:
        return self.settings.for_kb(self.records.get_kb(file.kb_id).settings)

    def _write(
        self,
        chat: ChatModel,
        file: File,
        run: int,
        sections: Sequence[Section],
        settings: Settings,
        check: Callable[[], None],
    ) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        parents = self.records.file_parents(file.file_id)
        asks = settings.representations.question and settings.summaries.questions_per_parent > 0
        total = len(sections) + (len(parents) if asks else 0)
        done = Counter[str]()

        def on_done(pieces: int) -> None:
            check()
            done["pieces"] += pieces
            if pieces and not self.records.set_summary_progress(file.file_id, run, min(total, done["pieces"]), total):
                raise RunOverError

        writer = ModelWriter(
            chat,
            FileCache(self.records, file.file_id, file.version, "summaries"),
            settings.summaries,
            self.embedder.count_tokens,
            partial(self.records.add_usage, file.file_id),
        )
        language = "zh" if file.language.startswith("zh") else detect_language(parents[0].text if parents else "")
        title = file.title or file.name
        written = writer.summaries(title, language, sections, parents, on_done)
        return written, writer.questions(title, language, parents, on_done) if asks else {}

    def _publish(
        self,
        file: File,
        run: int,
        summaries: Mapping[str, tuple[str, SummarySource]],
        questions: Mapping[str, Sequence[str]],
        settings: Settings,
    ) -> None:
        """Records first: they say whether this run may still write."""
        if not self.records.put_summaries(file.file_id, run, summaries, questions):
            raise RunOverError
        entries = list(self._entries(file, summaries, questions, settings))
        self.index.delete(file.kb_id, file.file_id, representations=_WRITTEN)
        self.index.upsert(file.kb_id, entries)
        # A version that was published meanwhile has deleted the old one's entries already, without these.
        if not self._goes_on(file.file_id, run):
            self.index.delete(file.kb_id, file.file_id, representations=_WRITTEN)
            raise RunOverError

    def _goes_on(self, file_id: str, run: int) -> bool:
        try:
            return self.records.get_file(file_id).summary_run == run
        except NotFoundError:
            return False

    def _entries(
        self,
        file: File,
        summaries: Mapping[str, tuple[str, SummarySource]],
        questions: Mapping[str, Sequence[str]],
        settings: Settings,
    ) -> Iterator[IndexEntry]:
        """Each summary and question as a vector of the child chunk that is nearest to it."""
        if not settings.representations.l2:
            return
        children = self.records.file_children(file.file_id)
        keys = [(child.chunk_id, file.version) for child in children]
        vectors = self.index.vectors(file.kb_id, Representation.L2, keys)
        if settings.representations.summary:
            yield from self._summary_entries(file, summaries, children, vectors)
        if questions:
            yield from self._question_entries(file, questions, children, vectors)

    def _summary_entries(
        self,
        file: File,
        summaries: Mapping[str, tuple[str, SummarySource]],
        children: Sequence[ChildChunk],
        vectors: Mapping[str, FloatArray],
    ) -> Iterator[IndexEntry]:
        titles = {section.path: section.titles for section in self.records.sections(file.file_id)}
        below = {path: [c for c in children if c.section_path.startswith(path)] for path in summaries}
        # A section of one chunk is found by that chunk's own vector.
        texts = {
            path: _encoder_text(file, path, titles[path], text)
            for path, (text, _) in summaries.items()
            if len(below[path]) > 1
        }
        found, _ = embed_texts(texts, self.embedder, FileCache(self.records, file.file_id, file.version, "summaries"))
        parts = Counter[str]()
        for path, vector in found.items():
            child = _nearest(below[path], vector, vectors)
            part = parts[child.chunk_id]
            yield entry_of(child, file.version, Representation.SUMMARY, vector, part=part, section_path=path)
            parts[child.chunk_id] += 1

    def _question_entries(
        self,
        file: File,
        questions: Mapping[str, Sequence[str]],
        children: Sequence[ChildChunk],
        vectors: Mapping[str, FloatArray],
    ) -> Iterator[IndexEntry]:
        of_parent = defaultdict[str, list[ChildChunk]](list)
        for child in children:
            of_parent[child.parent_id].append(child)
        parts = Counter[str]()
        for parent_id, asked in questions.items():
            if not of_parent[parent_id]:
                continue
            for vector in self.embedder.embed_queries(list(asked)):
                child = _nearest(of_parent[parent_id], vector, vectors)
                part = parts[child.chunk_id]
                yield entry_of(child, file.version, Representation.QUESTION, vector, part=part)
                parts[child.chunk_id] += 1


def _encoder_text(file: File, path: str, titles: Sequence[str], summary: str) -> str:
    above = " > ".join(titles)[-TITLE_CHARACTERS:] if path else ""
    return "\n".join(part for part in (file.title[:TITLE_CHARACTERS], above, summary.replace("\n", " ")) if part)


def _nearest(children: Sequence[ChildChunk], vector: FloatArray, vectors: Mapping[str, FloatArray]) -> ChildChunk:
    known = [child for child in children if child.chunk_id in vectors]
    if not known:
        return children[0]
    return known[int(np.argmax(np.stack([vectors[child.chunk_id] for child in known]) @ vector))]
