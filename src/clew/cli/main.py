"""``clew``: the command line. Results go to standard output, progress and errors to standard error."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from clew import __version__
from clew.app_models import make_embedder
from clew.cli import tuning
from clew.cli.archiving import backup, restore
from clew.cli.descriptions import describe
from clew.cli.door import Door, LocalDoor, open_door, search_request
from clew.cli.evaluate import evaluate
from clew.cli.overlay import overlay_of, remove_path
from clew.cli.printing import checks_of, print_answer, print_changes, print_checks, print_parsed
from clew.cli.routing import route
from clew.cli.searching import search
from clew.cli.summaries import files, summarise, wait_for_summaries
from clew.config import default_data_folder, load_settings, merged
from clew.errors import ClewError, InputError
from clew.types import SUMMARIES_GO_ON, RetrievalMode

app = typer.Typer(
    name="clew",
    help="Answers questions over your own documents, and shows how it found the answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
kb_app = typer.Typer(help="Knowledge bases: create, list, settings, delete.", no_args_is_help=True)
app.add_typer(kb_app, name="kb")
app.add_typer(tuning.app, name="tune")
app.command("backup")(backup)
app.command("restore")(restore)
app.command("eval")(evaluate)
app.command("route")(route)
app.command("files")(files)
app.command("summarise")(summarise)
app.command("describe")(describe)
app.command("search")(search)

_errors = Console(stderr=True, highlight=False)
_POLL_SECONDS = 0.2
_WATCHED = 50

DataOption = Annotated[Path | None, typer.Option("--data", help="Data folder; default CLEW_DATA or ~/.clew.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
KbOption = Annotated[str, typer.Option("--kb", help="Knowledge base, by name or id.")]
KbsOption = Annotated[list[str] | None, typer.Option("--kb", help="Knowledge base; may be given several times.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only files of which this is known: company, period, type, language … =value."),
]
FilesOption = Annotated[list[str] | None, typer.Option("--file", help="Restrict to these file ids.")]
ModeOption = Annotated[str, typer.Option("--mode", help="auto, single or multi.")]
KindOption = Annotated[str, typer.Option("--kind", help="auto, fact or summary.")]


def main() -> None:
    """Entry point: errors that Clew raises on purpose become one line and exit code 1."""
    try:
        app()
    except ClewError as error:
        _errors.print(f"clew: {error}", style="red", soft_wrap=True, markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        _errors.print("clew: interrupted; unfinished files go on at the next `clew add` or `clew serve`.")
        sys.exit(130)


@contextmanager
def _door(data: Path | None) -> Iterator[Door]:
    door = open_door(data or default_data_folder())
    if isinstance(door, LocalDoor):
        door.clew.on_model_progress = lambda share, what: _errors.print(f"{share:4.0%} {what}")
    try:
        yield door
    finally:
        door.close()


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


# --- knowledge bases -------------------------------------------------------------------------------------------


@kb_app.command("create")
def kb_create(
    name: str,
    description: str = "",
    settings: Annotated[list[str] | None, typer.Option("--set", help="Setting, as path=value.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a knowledge base."""
    with _door(data) as door:
        kb = door.create_kb(name, overlay_of(settings or []), description)
    _print_json(kb) if as_json else print(f"{kb['kb_id']}  {kb['name']}")


@kb_app.command("list")
def kb_list(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List knowledge bases with their files."""
    with _door(data) as door:
        kbs = door.list_kbs()
    if as_json:
        _print_json(kbs)
        return
    for kb in kbs:
        counts = ", ".join(f"{count} {status}" for status, count in kb["files"].items() if count) or "empty"
        print(f"{kb['kb_id']}  {kb['name']}  ({counts})")


@kb_app.command("settings")
def kb_settings(
    name: str,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Setting, as path=value.")] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", help="Setting to reset, by path.")] = None,
    data: DataOption = None,
) -> None:
    """Show or change a knowledge base's own settings."""
    with _door(data) as door:
        kb = next((k for k in door.list_kbs() if name in (k["name"], k["kb_id"])), None)
        if kb is None:
            raise InputError(f"There is no knowledge base {name!r}; `clew kb list` shows all of them.")
        if settings or unset:
            overlay = merged(dict(kb["settings"]), overlay_of(settings or []))
            for path in unset or []:
                remove_path(overlay, path)
            kb = door.update_kb(name, overlay)
    print(json.dumps(kb["settings"], ensure_ascii=False, indent=2))


@kb_app.command("delete")
def kb_delete(
    name: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: DataOption = None,
) -> None:
    """Delete a knowledge base with all its files."""
    if not yes:
        typer.confirm(f"Delete knowledge base {name!r} with all its files?", abort=True)
    with _door(data) as door:
        door.delete_kb(name)


# --- files -----------------------------------------------------------------------------------------------------


@dataclass
class _Added:
    """What ``clew add`` did, by path."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    file_ids: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)


@app.command("add")
def add(
    paths: list[Path],
    kb: KbOption,
    prune: Annotated[bool, typer.Option("--prune", help="Remove files that are gone from a folder.")] = False,
    summaries: Annotated[bool, typer.Option("--summaries", help="Wait for the section summaries as well.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ingest files or folders; what was added before and has not changed is skipped."""
    found = list(_files_below(paths))
    with _door(data) as door:
        known = {f["source_path"]: f for f in door.list_files(kb) if f["source_path"]}
        added = _Added()
        for path in found:
            _add_one(door, kb, path, known, added)
        _find_gone(door, paths, found, known, added, prune=prune)
        _wait(door, added)
        ingested = [file_id for path, file_id in added.file_ids.items() if path not in added.failed]
        if summaries:
            wait_for_summaries(door, ingested)
        left = isinstance(door, LocalDoor) and any(
            door.file(file_id)["summary_status"] in SUMMARIES_GO_ON for file_id in ingested
        )
    if left:
        _errors.print(f"Section summaries follow with `clew summarise {kb}`, or while `clew serve` runs.", markup=False)
    _report_added(added, as_json=as_json)


@app.command("update")
def update(file_id: str, path: Path, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Put a new version under an existing file id."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    with _door(data) as door:
        added = _Added()
        door.update_file(file_id, path)
        added.updated.append(str(path))
        added.file_ids[str(path)] = file_id
        _wait(door, added)
    _report_added(added, as_json=as_json)


@app.command("restore-file")
def restore_file(file_id: str, data: DataOption = None) -> None:
    """Take a file whose update failed back to its previous version."""
    with _door(data) as door:
        file = door.restore_file(file_id)
    print(f"{file['file_id']}  {file['name']}")


@app.command("disable")
def disable(file_ids: list[str], data: DataOption = None) -> None:
    """Hide files from every search; `clew enable` shows them again."""
    with _door(data) as door:
        for file_id in file_ids:
            door.enable_file(file_id, enabled=False)


@app.command("enable")
def enable(file_ids: list[str], data: DataOption = None) -> None:
    """Show disabled files again."""
    with _door(data) as door:
        for file_id in file_ids:
            door.enable_file(file_id, enabled=True)


@app.command("facts")
def facts(
    file_id: str,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Correct a fact, as name=value.")] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", help="Take a fact away.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is known about a file (company, aliases, period, date, type), and correct it."""
    corrected: dict[str, Any] = dict(map(_fact, changes or []))
    corrected |= dict.fromkeys(unset or [])
    with _door(data) as door:
        file = door.correct_facts(file_id, corrected) if corrected else door.file(file_id)
    if as_json:
        _print_json(file["facts"])
    else:
        for name, value in file["facts"].items():
            print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")


def _fact(assignment: str) -> tuple[str, Any]:
    name, sign, value = assignment.partition("=")
    if not sign:
        raise InputError(f"--set {assignment}: write name=value, for example period=2020.")
    split = [each.strip() for each in value.split(",") if each.strip()]
    return name.strip(), split if name.strip() == "aliases" else value.strip()


@app.command("remove")
def remove(file_ids: list[str], data: DataOption = None) -> None:
    """Delete files everywhere."""
    with _door(data) as door:
        for file_id in file_ids:
            door.remove_file(file_id)


@app.command("parse")
def parse(path: Path, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show blocks, section tree and chunks of a file, without storing anything."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    folder = data or default_data_folder()
    settings = load_settings(folder)
    failed = print_parsed(path, make_embedder(settings, folder), settings.indexing, as_json=as_json)
    if failed:
        sys.exit(1)


# --- questions -------------------------------------------------------------------------------------------------


@app.command("ask")
def ask(
    question: str,
    kb: KbsOption = None,
    file: FilesOption = None,
    where: WhereOption = None,
    attach: Annotated[
        list[Path] | None, typer.Option("--attach", help="File to read for this question, beside the knowledge bases.")
    ] = None,
    mode: ModeOption = "auto",
    kind: KindOption = "auto",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with citations and the way it was found."""
    missing = next((path for path in attach or [] if not path.is_file()), None)
    if missing is not None:
        raise InputError(f"{missing}: there is no such file.")
    with _door(data) as door:
        request = search_request(question, kb or [], file or [], cast(RetrievalMode, mode), where or []) | {
            "kind": kind
        }
        if attach:
            request["conversation_id"] = door.attach(attach)
        events = door.ask(request)
        ok = print_answer(events, as_json=as_json)
    if not ok:
        sys.exit(1)


# --- server and health -------------------------------------------------------------------------------------------


@app.command("serve")
def serve(
    host: Annotated[str | None, typer.Option(help="Address; only loopback is allowed.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.")] = None,
    data: DataOption = None,
) -> None:
    """Serve the page and the API."""
    from clew.cli.serving import run_server  # noqa: PLC0415 - the web stack is loaded only where it is needed

    run_server(data or default_data_folder(), host=host, port=port, say=_errors.print)


@app.command("mcp")
def mcp(
    kb: Annotated[list[str] | None, typer.Option("--kb", help="Let the tools read only this knowledge base.")] = None,
    data: DataOption = None,
) -> None:
    """Serve the tools kb_rag, attachment_rag, list_knowledge_bases and browse_sections over MCP, on standard input
    and output."""
    from clew.cli.tool_server import run_tools  # noqa: PLC0415 - the MCP stack is loaded only where it is needed

    run_tools(data or default_data_folder(), kbs=kb or [])


@app.command("doctor")
def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Compare records, search index and originals.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Compare them, and put right what can be.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every part by name."""
    with _door(data) as door:
        checks = door.check()
        if deep or repair:
            checks += checks_of(door.examine(repair=repair))
        through = "this folder" if isinstance(door, LocalDoor) else "the running server"
    _print_json(checks) if as_json else print_checks(checks, through)
    if not all(check["ok"] for check in checks):
        sys.exit(1)


@app.command("version")
def version() -> None:
    """Print the version."""
    print(__version__)


# --- inside ------------------------------------------------------------------------------------------------------


def _files_below(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            below = [p for p in sorted(path.rglob("*")) if p.is_file()]
            yield from (p for p in below if not any(part.startswith(".") for part in p.relative_to(path).parts))
        else:
            raise InputError(f"{path}: there is no such file or folder.")


def _add_one(door: Door, kb: str, path: Path, known: dict[str, Any], added: _Added) -> None:
    source_path = str(path.resolve())
    before = known.get(source_path)
    try:
        if before is None:
            file = door.add_file(kb, path, source_path)
            (added.new if file["is_new"] else added.unchanged).append(str(path))
        elif before["content_hash"] == _sha256(path) and before["status"] != "failed":
            file = before
            added.unchanged.append(str(path))
        else:
            file = door.update_file(before["file_id"], path)
            added.updated.append(str(path))
    except InputError as error:
        added.failed[str(path)] = str(error)
        return
    added.file_ids[str(path)] = file["file_id"]


def _find_gone(
    door: Door,
    paths: Sequence[Path],
    found: Sequence[Path],
    known: dict[str, Any],
    added: _Added,
    *,
    prune: bool,
) -> None:
    folders = [path.resolve() for path in paths if path.is_dir()]
    there = {str(path.resolve()) for path in found}
    for source_path, file in known.items():
        if source_path not in there and any(folder in Path(source_path).parents for folder in folders):
            added.gone.append(source_path)
            if prune:
                door.remove_file(file["file_id"])


def _wait(door: Door, added: _Added) -> None:
    """Show progress until no file is processing, and collect the reasons of those that failed."""
    waiting = dict(added.file_ids)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}% {task.fields[stage]}"),
        TimeElapsedColumn(),
        console=_errors,
        disable=not waiting,
    ) as progress:
        whole = progress.add_task(f"{len(waiting)} files", total=len(waiting), stage="")
        bars: dict[str, TaskID] = {}
        while waiting:
            # They are begun in the order of the queue: those far behind need not be looked at.
            for path, file_id in list(waiting.items())[:_WATCHED]:
                file = door.file(file_id)
                if file["status"] == "processing":
                    if file["progress"] > 0:
                        if path not in bars:
                            bars[path] = progress.add_task(Path(path).name[:40], total=1.0, stage="")
                        progress.update(bars[path], completed=file["progress"], stage=file["stage"])
                    continue
                del waiting[path]
                if path in bars:
                    progress.remove_task(bars.pop(path))
                progress.advance(whole)
                if file["status"] == "failed":
                    added.failed[path] = file["reason"]
                elif path in added.updated and file["changes"]:
                    added.changes[path] = file["changes"]
            if waiting:
                time.sleep(_POLL_SECONDS)


def _report_added(added: _Added, *, as_json: bool) -> None:
    if as_json:
        _print_json({
            "new": added.new,
            "updated": added.updated,
            "unchanged": added.unchanged,
            "gone": added.gone,
            "failed": added.failed,
            "changes": added.changes,
            "file_ids": added.file_ids,
        })  # fmt: skip
    else:
        for path, file_id in added.file_ids.items():
            if path not in added.failed:
                print(f"{file_id}  {path}")
        for path, changes in added.changes.items():
            print_changes(path, changes)
        for reason in added.failed.values():
            _errors.print(f"failed: {reason}", style="red", soft_wrap=True, markup=False)
        counts = {"new": added.new, "updated": added.updated, "unchanged": added.unchanged, "gone": added.gone}
        parts = [f"{len(items)} {name}" for name, items in counts.items() if items]
        parts += [f"{len(added.failed)} failed"] if added.failed else []
        _errors.print(", ".join(parts) or "nothing to do")
    if added.failed:
        sys.exit(1)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
