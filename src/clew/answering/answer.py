"""From evidence to an answer's events: written by a chat model, or quoted where none is configured."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from clew.answering.citations import CitationFilter, citations_of
from clew.answering.prompts import (
    CLOSEST_LEAD,
    CUT_LIST,
    NO_MODEL,
    NO_MODEL_SUMMARY,
    NOT_FOUND,
    QUOTES_LEAD,
    SUMMARY_LEAD,
    UNCERTAIN_NOTICE,
    Language,
    answer_messages,
    coverage_note,
    unmentioned_note,
    unread_note,
)
from clew.answering.quoting import Quote, best_quotes
from clew.answering.small_talk import SmallTalk, small_talk, small_talk_messages, small_talk_reply
from clew.config import Settings
from clew.models.base import ChatMessage, ChatModel
from clew.models.metering import MeteredChat, MeteredEmbedder
from clew.retrieval.context import u_shaped
from clew.retrieval.pipeline import RetrievalRequest, RetrievalResult, Retriever
from clew.text.central import says_little
from clew.text.language import detect_language
from clew.trace import RetrievalTrace, to_json
from clew.types import AnswerEvent, Citation, Evidence

# A summary of a topic quotes several passages, of many candidates some of each.
_ASKS_ALL = frozenset({"list_all", "list_verb"})
_ASKS_ROWS = _ASKS_ALL | {"metric", "value", "number"}
"""Signs that a question about a topic wants figures or a list, for which table rows are quoted as well."""
_CONSIDERED_OF_TOPIC, _QUOTES_OF_TOPIC, _QUOTES_OF_PASSAGE = 40, 8, 2


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers questions: retrieval, then text with citations. Safe to use from several threads."""

    retriever: Retriever
    chat: ChatModel | None
    settings: Settings

    def answer(self, request: RetrievalRequest, trace: RetrievalTrace | None = None) -> Iterator[AnswerEvent]:
        """The answer's events in the order of spec 4, without the terminal one, which the run adds. ``trace`` is filled
        while it goes on, for a caller that tells of it (:func:`usage_event`) also where the answer ends early.

        Raises what retrieval and the chat model raise; closing the iterator closes the model's stream.
        """
        trace = trace or RetrievalTrace(request.question, request.question)
        language = detect_language(request.question)
        kind = small_talk(request.question, request.history)
        if kind is not None:
            yield from self._without_retrieval(kind, request, trace, language)
            return
        result = yield from self.retriever.stream(request, trace)
        finish_reason = "stop"
        if not result.evidence:
            yield _sources([])
            yield _delta(NOT_FOUND[language])
        elif self.chat is None and result.lines:
            yield from _summarised(result, language)
        elif self.chat is None:
            yield from self._quoted(request, result, language)
        else:
            finish_reason = yield from self._written(self.chat, result, language)
        if coverage := coverage_note(result.trace.sections, language, shown=self._shown(result)):
            yield _delta(f"\n\n{coverage}")
        if unread := unread_note(result.trace.attachments, language):
            yield _delta(f"\n\n{unread}")
        if result.trace.uncertain:
            notice = UNCERTAIN_NOTICE[language]
            yield _delta(f"\n\n{notice}")
            yield AnswerEvent("notice", {"text": notice, "reason": result.trace.uncertain_reason})
        yield usage_event(trace, finish_reason)

    def _shown(self, result: RetrievalResult) -> int | None:
        """Of how many sections an answer without a language model shows sentences, for a whole document: a section's
        own summary stands for those below it."""
        sections = result.trace.sections
        if self.chat is not None or not result.lines or sections is None or sections.scope != "document":
            return None
        return len({line.place.filter for line in result.lines})

    def _without_retrieval(
        self, kind: SmallTalk, request: RetrievalRequest, trace: RetrievalTrace, language: Language
    ) -> Iterator[AnswerEvent]:
        """A reply to small talk, as the events of an answer for which nothing was looked up."""
        question = request.question.strip()
        trace.question, trace.rewritten, trace.stop_reason = question, question, "not_needed"
        plan = {"mode": None, "source": kind, "confidence": 1.0, "kind": None, "rewritten": question}
        yield AnswerEvent("retrieval_plan", plan)
        done = {"rounds": 0, "chunks": 0, "stop_reason": trace.stop_reason, "uncertain": False}
        yield AnswerEvent("retrieval_done", done | {"uncertain_reason": "", "ms": 0.0})
        yield _sources([])
        finish_reason = "stop"
        if self.chat is None:
            yield _delta(small_talk_reply(kind, question, request.history, language))
        else:
            messages = small_talk_messages(question, request.history, language)
            finish_reason = yield from self._streamed(self.chat, messages, (), trace)
        yield usage_event(trace, finish_reason)

    def limited(self, max_tokens: int | None, temperature: float | None) -> Answerer:
        """The same with other limits of the chat model where they are given."""
        answer, chat = self.settings.answer, self.settings.models.chat
        if max_tokens is not None:
            answer = answer.model_copy(update={"max_tokens": max_tokens})
        if temperature is not None:
            chat = chat.model_copy(update={"temperature": temperature})
        models = self.settings.models.model_copy(update={"chat": chat})
        return replace(self, settings=self.settings.model_copy(update={"answer": answer, "models": models}))

    def _quoted(self, request: RetrievalRequest, result: RetrievalResult, language: Language) -> Iterator[AnswerEvent]:
        kb = request.kbs[0]
        quotes = best_quotes(
            result.query.text,
            result.query.vector,
            result.evidence,
            MeteredEmbedder(kb.embedder, result.trace.spend).embed_passages,
            limit=_CONSIDERED_OF_TOPIC if result.trace.sections else kb.settings.answer.quote_sentences,
        )
        signs = set(result.trace.kind.signals if result.trace.kind else ())
        cut = ""
        if result.trace.sections:
            rows = bool(_ASKS_ROWS & signs)
            told = [q for q in quotes if (rows and q.header) or not says_little(q.text)]
            quotes = _spread(told or quotes)
            cut = CUT_LIST[language] if _ASKS_ALL & signs and len(quotes) < len(told) else ""
        first: dict[int, str] = {}
        for quote in quotes:
            first.setdefault(quote.number, quote.text)
        yield _sources(citations_of(result.evidence, first), result.evidence)
        if nothing := unmentioned_note(result.trace.unmentioned, language):
            yield _delta(f"{nothing}\n\n{CLOSEST_LEAD[language]}\n\n")
        else:
            yield _delta(QUOTES_LEAD[language] + "\n\n")
        for quote in quotes:
            yield _delta(_quote_markdown(quote) + "\n\n")
        if cut:
            yield _delta(cut + "\n\n")
        yield _delta(NO_MODEL[language])

    def _written(
        self, chat: ChatModel, result: RetrievalResult, language: Language
    ) -> Generator[AnswerEvent, None, str]:
        yield _sources(citations_of(result.evidence), result.evidence)
        # A summary follows the order of its document, in which the sections are read.
        is_summary = result.trace.sections is not None or bool(result.lines)
        evidence = result.evidence if is_summary else u_shaped(result.evidence)
        messages = answer_messages(
            result.trace.rewritten, evidence, language, summary=is_summary, unmentioned=result.trace.unmentioned
        )
        return (yield from self._streamed(chat, messages, [e.number for e in result.evidence], result.trace))

    def _streamed(
        self, chat: ChatModel, messages: Sequence[ChatMessage], numbers: Sequence[int], trace: RetrievalTrace
    ) -> Generator[AnswerEvent, None, str]:
        """What the chat model writes, without citations of anything but ``numbers``; returns why it ended."""
        marks = CitationFilter(numbers)
        stream = MeteredChat(chat, "answer", trace.spend).stream(
            messages,
            temperature=self.settings.models.chat.temperature,
            max_tokens=self.settings.answer.max_tokens,
            timeout=self.settings.models.chat.timeout,
        )
        finish_reason = "stop"
        for piece in stream:
            finish_reason = piece.finish_reason or finish_reason
            if text := marks.feed(piece.text):
                yield _delta(text)
        if text := marks.finish():
            yield _delta(text)
        return finish_reason


def _summarised(result: RetrievalResult, language: Language) -> Iterator[AnswerEvent]:
    """The sentences that say most, by section, each cited from its passage."""
    first: dict[int, str] = {}
    for line in result.lines:
        first.setdefault(line.number, line.text)
    yield _sources(citations_of(result.evidence, first), result.evidence)
    yield _delta(SUMMARY_LEAD[language] + "\n\n")
    files = {line.place.file.file_id for line in result.lines}
    for place, lines in groupby(result.lines, key=lambda line: line.place):
        titles = [place.file.title or place.file.name] if len(files) > 1 or not place.section.path else []
        titles += [place.section.title] if place.section.path else []
        yield _delta(f"**{' · '.join(titles)}**\n\n")
        for line in lines:
            yield _delta(f"> {' '.join(line.text.split())} [{line.number}]\n\n")
    sources = {line.place.section.summary_source for line in result.lines}
    yield _delta(NO_MODEL_SUMMARY[language] if sources == {"extractive"} else NO_MODEL[language])


def _spread(quotes: Sequence[Quote]) -> list[Quote]:
    """The best quotes, at most two of one passage, those of one passage together."""
    of_passage: dict[int, list[Quote]] = {}
    for quote in quotes:
        taken = of_passage.setdefault(quote.number, [])
        if len(taken) < _QUOTES_OF_PASSAGE and sum(map(len, of_passage.values())) < _QUOTES_OF_TOPIC:
            taken.append(quote)
    return [quote for taken in of_passage.values() for quote in taken]


def usage_event(trace: RetrievalTrace, finish_reason: str = "stop") -> AnswerEvent:
    """What the answer cost until now, and how it was found."""
    whole = to_json(trace)
    costs = {"tokens": whole["usage"], "tokens_by_part": whole["usage_by_part"]}
    return AnswerEvent("usage", costs | {"finish_reason": finish_reason, "retrieval_trace": whole})


def _delta(text: str) -> AnswerEvent:
    return AnswerEvent("delta", {"text": text})


def _sources(citations: Sequence[Citation], evidence: Sequence[Evidence] = ()) -> AnswerEvent:
    passages = {e.number: e.passage for e in evidence}
    return AnswerEvent("sources", {"sources": [to_json(c) | {"text": passages[c.number]} for c in citations]})


def _quote_markdown(quote: Quote) -> str:
    """A sentence as a block quote; a table row as a small table under its header."""
    if not quote.header:
        return f"> {quote.text.replace(chr(10), ' ')} [{quote.number}]"
    first, *others = [_cells(line) for line in [*quote.header.split("\n"), quote.text]]
    width = max(len(row) for row in [first, *others])
    lines = [_table_line(first, width), "|" + " --- |" * width, *(_table_line(row, width) for row in others)]
    return "\n".join([*lines, "", f"[{quote.number}]"])


def _cells(line: str) -> list[str]:
    # A row whose first or last cell is empty lost the space beside its separator when the line was stripped.
    return [cell.strip().replace("|", "\\|") for cell in f" {line} ".split(" | ")]


def _table_line(cells: Sequence[str], width: int) -> str:
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"
