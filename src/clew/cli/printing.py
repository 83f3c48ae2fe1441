"""What commands print for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from clew.config import IndexingSettings
from clew.errors import FileFailedError
from clew.indexing.chunking import chunk_file
from clew.indexing.parse_worker import parse_within
from clew.models.base import Embedder
from clew.trace import to_json

Json = dict[str, Any]

_out = Console(highlight=False)
_errors = Console(stderr=True, highlight=False)
_PREVIEW = 240


def print_hits(result: Json, top: int) -> None:
    """The best hits with place, score and what found them, and the decision."""
    _out.print(decision_line(result["trace"]), style="dim")
    for rank, hit in enumerate(result["hits"][:top], start=1):
        place = " > ".join([hit["file"], *hit["section_titles"]])
        page = f", p. {hit['page']}" if hit["page"] else ""
        found = "+".join(hit["representations"])
        _out.print(f"{rank}. {place}{page}  [{found}] {hit['score']:.4f}", style="bold", markup=False)
        _out.print("   " + " ".join(hit["text"].split())[:_PREVIEW], markup=False)
    if not result["hits"]:
        _out.print("Nothing was found.")


def decision_line(trace: Json) -> str:
    """The trace on one line: ``multi · rules 0.82 · 3 rounds · 14 passages · 0.4 s``."""
    decision = trace.get("complexity") or {}
    rounds = len(trace.get("rounds", []))
    parts = [
        str(decision.get("mode", "single")),
        f"{decision.get('source', '')} {decision.get('rule_score', 0):.2f}",
        *([_sections_line(trace["sections"])] if trace.get("sections") else []),
        f"{rounds} round{'s' if rounds != 1 else ''}",
        f"{trace.get('chunks', 0)} passages",
        f"{trace.get('ms', {}).get('total', 0) / 1000:.2f} s",
    ]
    return " · ".join(parts)


def _sections_line(sections: Json) -> str:
    """``summary of sections, 12 match, 8 read``."""
    read = sections["fallback"] or f"{sections['matched']} match, {sections['read']} read"
    return f"summary of {sections['scope']}, {read}"


def print_answer(events: Iterable[tuple[str, Json]], *, as_json: bool) -> bool:
    """Print an answer as it comes (or one JSON object an event); returns whether it ended well."""
    ok = False
    sources: list[Json] = []
    for name, data in events:
        if as_json:
            print(json.dumps({"event": name, **data}, ensure_ascii=False), flush=True)
        elif name == "retrieval_plan":
            mode = data["mode"] or "nothing is looked up"
            kind = f", {data['kind']}" if data.get("kind") else ""
            _errors.print(f"{mode} ({data['source']}, {data['confidence']:.2f}){kind}", style="dim")
        elif name == "retrieval_step":
            why = f": {data['why']}" if data["why"] else ""
            line = f"  round {data['round']}: {data['sub_question']} → {data['new_chunks']} new passages{why}"
            _errors.print(line, style="dim", markup=False, soft_wrap=True)
        elif name == "retrieval_done":
            rounds = f"{data['rounds']} round{'s' if data['rounds'] != 1 else ''}"
            line = f"  {rounds}, {data['chunks']} passages, {data['stop_reason']}, {data['ms']:.0f} ms"
            _errors.print(line, style="dim")
        elif name == "sources":
            sources = data["sources"]
        elif name == "delta":
            sys.stdout.write(data["text"])
            sys.stdout.flush()
        elif name == "error":
            _errors.print(f"\nclew: {data['detail']}", style="red", markup=False, soft_wrap=True)
        ok = ok or name in {"done", "stopped"}
    if not as_json and ok:
        _print_sources(sources)
    return ok


def _print_sources(sources: Sequence[Json]) -> None:
    print("\n")
    for source in sources:
        place = " > ".join([source["file_name"], *source["section_titles"]])
        page = f", p. {source['page']}" if source["page"] else ""
        _out.print(f"[{source['number']}] {place}{page}", style="dim", markup=False)


def print_checks(checks: Sequence[Json], through: str) -> None:
    """The table of ``clew doctor``."""
    table = Table(title=f"Clew, seen through {through}", title_justify="left", show_header=False)
    for check in checks:
        table.add_row("ok" if check["ok"] else "FAILED", check["name"], check["detail"])
    _out.print(table)


def checks_of(findings: Sequence[Json]) -> list[Json]:
    """What ``clew doctor --deep`` found, as lines beside its other checks."""
    if not findings:
        return [{"name": "stores", "ok": True, "detail": "records, search index and originals agree"}]
    return [{"name": found["kind"], "ok": found["repaired"], "detail": found["detail"]} for found in findings]


def print_changes(path: str, changes: Json) -> None:
    """What an update changed, in one line."""
    blocks = ", ".join(f"{changes[f'blocks_{what}']} {what}" for what in ("reused", "changed", "removed", "added"))
    line = f"  blocks: {blocks}; embeddings: {changes['embeddings_made']} made, {changes['embeddings_saved']} saved"
    if vision := changes["vision_calls_made"] + changes["vision_calls_saved"]:
        line += f"; vision calls: {changes['vision_calls_saved']} of {vision} saved"
    _errors.print(f"{path}:\n{line}", markup=False, soft_wrap=True)
    for edit in changes["edits_lost"]:
        what = edit["text"] or "(disabled)"
        line = f"  edit lost, its passage is gone: {' > '.join(edit['section_titles'])}: {what}"
        _errors.print(line, style="yellow", markup=False, soft_wrap=True)


def print_parsed(path: Path, embedder: Embedder, settings: IndexingSettings, *, as_json: bool) -> bool:
    """Blocks, section tree and chunks of a file; returns whether it failed."""
    try:
        with _errors.status("") as status:
            parsed = parse_within(
                path,
                path.name,
                settings,
                on_page=lambda done, total: status.update(f"{done} of {total} pages recognised"),
            )
    except FileFailedError as error:
        if as_json:
            empty: list[Json] = []
            result = {"status": "failed", "reason": str(error), "blocks": empty, "sections": empty}
            print(json.dumps(result | {"parents": empty, "children": empty}, ensure_ascii=False))
        else:
            _errors.print(f"clew: {error}", style="red", markup=False, soft_wrap=True)
        return True
    parents, children = chunk_file(
        "",
        parsed,
        count_tokens=embedder.count_tokens,
        token_offsets=embedder.token_offsets,
        parent_tokens=settings.parent_tokens,
        child_tokens=settings.child_tokens,
        overlap_tokens=settings.overlap_tokens,
    )
    if as_json:
        print(
            json.dumps(
                {
                    "status": "completed",
                    "reason": "; ".join(parsed.warnings),
                    "blocks": to_json(parsed.blocks),
                    "sections": to_json(parsed.sections),
                    "parents": to_json(parents),
                    "children": to_json(children),
                },
                ensure_ascii=False,
            )
        )
        return False
    _out.print(f"{parsed.title}  ({parsed.media_type}, {parsed.language}, {parsed.pages or '–'} pages)", style="bold")
    for section in parsed.sections:
        page = f"  p. {section.page}" if section.page else ""
        _out.print(f"{'  ' * max(0, section.level - 1)}{section.path or '/'} {section.title}{page}", markup=False)
    _out.print(f"{len(parsed.blocks)} blocks, {len(parents)} parents, {len(children)} children")
    for warning in parsed.warnings:
        _errors.print(f"warning: {warning}", style="yellow", markup=False)
    return False
