"""Questions whose passages are known, with what the routes of a knowledge base find for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import zip_longest

from clew.app import Clew
from clew.errors import InputError
from clew.evaluation.corpus import CorpusKb
from clew.evaluation.datasets import LabelledQuestion
from clew.evaluation.fusion_fit import JudgedRoutes
from clew.evaluation.support import Groups, Support
from clew.types import FileStatus, ParentChunk

MAX_GENERATED = 400
QUESTION_ROUTES = frozenset({"question"})
"""A generated question finds itself there, which says nothing about people's questions."""


def judge(
    clew: Clew,
    kb: str,
    questions: Sequence[tuple[str, Groups]],
    *,
    leave_out: Collection[str] = (),
    on_progress: Callable[[float], None] = lambda _: None,
) -> list[JudgedRoutes]:
    """What the KB's routes (but those to leave out) find for each question; groups hold parent ids. Raises
    ServiceError, StorageError."""
    judged = []
    for i, (question, groups) in enumerate(questions):
        [(_, routes)] = clew.routes(question, kbs=[kb]).routes
        judged.append(JudgedRoutes([route for route in routes if route.name not in leave_out], groups))
        on_progress((i + 1) / len(questions))
    return judged


def of_corpus(clew: Clew, corpus: CorpusKb, questions: Sequence[LabelledQuestion]) -> list[tuple[str, Groups]]:
    """Questions about a corpus, with the parents that support them."""
    parents = defaultdict[str, list[ParentChunk]](list)
    for file in clew.list_files(corpus.kb_id):
        for parent in clew.file_parents(file.file_id):
            parents[corpus.passage_of[parent.section_path]].append(parent)
    support = Support(parents)
    judged = [(question.question, support.groups(question)) for question in questions]
    return [(question, groups) for question, groups in judged if groups]


def of_kb(clew: Clew, kb: str, questions: Sequence[LabelledQuestion]) -> list[tuple[str, Groups]]:
    """Questions about a KB's own files; supporting ids name chunks, parents, or files (by id or name). Raises
    InputError where none of them is in the KB."""
    parents = defaultdict[str, set[str]](set)
    for file in clew.list_files(kb, status=FileStatus.COMPLETED):
        for child in clew.file_children(file.file_id):
            for name in (child.chunk_id, child.parent_id, file.file_id, file.name):
                parents[name].add(child.parent_id)
    labelled = []
    for question in questions:
        groups = [frozenset(p for id in group for p in parents.get(id, ())) for group in question.groups]
        if groups and all(groups):
            labelled.append((question.question, tuple(groups)))
    if not labelled:
        raise InputError(
            f"None of the {len(questions)} questions names a chunk, passage or file of {kb!r} in supporting_ids; use "
            "the ids that clew search --json prints, or file names."
        )
    return labelled


def generated(clew: Clew, kb: str) -> list[tuple[str, Groups]]:
    """The questions that a language model said the KB's passages answer, at most 400, from all its files alike. Raises
    InputError where there are none."""
    per_file: list[list[tuple[str, Groups]]] = []
    for file in clew.list_files(kb, status=FileStatus.COMPLETED):
        by_parent = clew.records.questions(file.file_id)
        per_file.append([(asked[0], (frozenset({parent}),)) for parent, asked in sorted(by_parent.items()) if asked])
    chosen = [each for row in zip_longest(*per_file) for each in row if each is not None][:MAX_GENERATED]
    if not chosen:
        raise InputError(
            f"{kb!r} has no generated questions: they need a language model (models.enrichment). Give labelled "
            "questions instead."
        )
    return chosen
