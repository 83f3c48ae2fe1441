"""A question over knowledge bases and attachments: one request, one pool of evidence."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.retrieval.attachments import SignalPackage, asked_about
from clew.retrieval.pipeline import RetrievalRequest
from clew.retrieval.recall import FileScopes, SearchedKb
from clew.types import Scope, SectionFilter

_COMPARES = re.compile(
    r"相比|对比|对照|比较|相较|区别|差异|不同|差别|一致|矛盾|冲突|结合|核对|"
    r"\b(?:compar\w+|versus|vs|differ\w*|contrast\w*|contradict\w*|consistent|agree\w*|match\w*|against|together)\b",
    re.IGNORECASE,
)


def with_attachments(request: RetrievalRequest, package: SignalPackage, kb: SearchedKb) -> RetrievalRequest:
    """The request with a conversation's attachments beside its knowledge bases.

    ``kb`` holds their content. A question about certain attachments ("this file") reads these alone, unless it compares
    them with something.
    """
    settings = request.kbs[0].settings if request.kbs else kb.settings
    tokens = settings.retrieval.attachment_context_tokens
    chosen, which = asked_about(package, request.question, tokens)
    alone = bool(which) and not _COMPARES.search(request.question)
    scopes = FileScopes(chosen.searched, chosen.searched & chosen.semantic_scope)
    own = replace(kb, settings=settings, files=scopes)
    others = () if alone else request.kbs
    return replace(
        request,
        kbs=(*others, own),
        scope=_widened(request.scope, chosen, alone=alone),
        attachments=chosen,
        attachments_asked=which,
    )


def _widened(scope: Scope, package: SignalPackage, *, alone: bool) -> Scope:
    """The scope with the attachments in it; filters of files and sections are about the knowledge bases only."""
    own = package.bm25_scope
    if alone:
        return Scope((package.kb_id,), own)
    sections = scope.sections
    if sections is not None:
        sections |= {SectionFilter(file_id, "") for file_id in own}
    return Scope((*scope.kb_ids, package.kb_id), None if scope.file_ids is None else scope.file_ids | own, sections)
