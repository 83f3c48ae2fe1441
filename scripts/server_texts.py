"""The texts that the server writes for people and the page shows as they come, as JSON: reasons, notes, errors.

The page's test of languages reads this, so that a text without a Chinese form is noticed (web/src/i18n/told.test.ts).
Each is a template: `{}` stands for every value that is put in. Needs nothing but Python: python scripts/server_texts.py
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "clew"
# Command line, agents' tools, measuring and backups have no place on the page.
ELSEWHERE = (
    "cli/",
    "tools/",
    "evaluation/",
    "mcp.py",
    "api/openai_compat.py",
    "storage/archive.py",
    "retrieval/replay.py",
)
# Errors of people's doing or of services; a StorageError is a fault of the machine, told with the words of its system.
ERRORS = {
    "InputError",
    "NotFoundError",
    "ConflictError",
    "SettingsError",
    "FileFailedError",
    "UnsupportedFileError",
    "EncryptedFileError",
    "DamagedFileError",
    "EmptyFileError",
    "ServiceUnavailableError",
    "ServiceRefusedError",
    "OverloadedError",
    "RequestRefusedError",
    "StorageFullError",
    "StorageBusyError",
}
# Values by these names, wherever they are given or set, are read by people …
NAMES = {"note", "reason", "why", "failure", "fallback", "said", "detail", "_WHY", "_ADVICE", "_LABELS", "UNEXPECTED"}
NAMES |= {"outcome", "wanted", "what", "counted", "told", "message"}
# … and what these functions return, and these take.
RETURNING = {"reason", "advice", "_no_hypothetical", "_told", "_unreadable", "_following", "_verdict", "_meant"}
RETURNING |= {"_by_rules", "_by_classifier", "_by_model", "_by_fallback", "_probe_embedder", "_probe_chat"}
RETURNING |= {"probe_vision", "probe_reranker", "decide_kind", "_by_titles", "_fallback"}
TAKING = {"_drop": 2, "within": 1, "Choice": 2, "Signal": 2, "decision": 2, "problem": 3, "outcome": 1}
# Of these only the errors: the rest is written for logs, for files or for `clew doctor`.
SILENT = ("indexing/reconciling.py", "answering/export.py", "answering/prompts.py", "storage/", "config.py")
SIGNALS = SOURCE / "retrieval" / "kind_signals.toml"
FEATURES = SOURCE / "retrieval" / "complexity" / "features.py"


def main() -> None:
    """Print the templates with the places that they stand in, and what each signal of the two decisions says."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(ELSEWHERE):
            continue
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")), quiet=place.startswith(SILENT)):
            # A single word is a name or a code, which the page knows by itself.
            if " " in text or not text.isascii():
                found.setdefault(text, f"{place}:{line}")
    said = signals()
    for says in said.values():
        found.setdefault(says, SIGNALS.name)
    listed = [{"text": text, "place": place} for text, place in found.items()]
    print(json.dumps({"texts": listed, "signals": said}, indent=1, ensure_ascii=False))


def signals() -> dict[str, str]:
    """What each signal says, by its name."""
    dicts = [node for node in ast.walk(ast.parse(FEATURES.read_text(encoding="utf-8"))) if isinstance(node, ast.Dict)]
    pairs = [pair for each in dicts for pair in zip(each.keys, each.values, strict=True)]
    found = {
        named(key): next(templates(value.args[2]))
        for key, value in pairs
        if key and isinstance(value, ast.Call) and called(value) == "Signal"
    }
    of_kind = tomllib.loads(SIGNALS.read_text(encoding="utf-8"))["signals"]
    return found | {name: signal["says"] for name, signal in of_kind.items()}


def texts(tree: ast.Module, *, quiet: bool) -> Iterator[tuple[int, str]]:
    """Line and template of each text; of ``quiet`` modules their errors only."""
    for node in ast.walk(tree):
        for value in shown(node, quiet=quiet):
            for text in templates(value):
                yield value.lineno, " ".join(text.split())


def shown(node: ast.AST, *, quiet: bool) -> Iterator[ast.expr]:
    """The expressions in ``node`` whose values people read."""
    if isinstance(node, ast.Call) and called(node) in ERRORS:
        yield from node.args[:1]
    if quiet:
        return
    if isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg in NAMES)
        place = TAKING.get(called(node))
        if place is not None:
            yield from node.args[place : place + 1]
        if (
            called(node) == "append"
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func).endswith("degraded.append")
        ):
            yield from node.args
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(named(target) in NAMES for target in targets):
            yield node.value
    if isinstance(node, ast.Dict):
        yield from (value for key, value in zip(node.keys, node.values, strict=True) if key and named(key) in NAMES)
    if isinstance(node, ast.FunctionDef) and node.name in RETURNING:
        yield from (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value)


def templates(value: ast.expr) -> Iterator[str]:
    """The texts that an expression can be, with ``{}`` for what is put in."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in value.values)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        rights = list(templates(value.right)) or ["{}"]
        yield from (left + right for left in templates(value.left) for right in rights)
    elif isinstance(value, ast.IfExp):
        yield from templates(value.body)
        yield from templates(value.orelse)
    elif isinstance(value, ast.Tuple | ast.List):
        yield from (text for each in value.elts for text in templates(each))
    elif isinstance(value, ast.Subscript):
        yield from templates(value.value)
    elif isinstance(value, ast.Dict):
        yield from (text for each in value.values for text in templates(each))


def called(node: ast.Call) -> str:
    """The bare name of what is called."""
    return named(node.func)


def named(node: ast.expr) -> str:
    """The last part of a name, an attribute or a key."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return str(node.value) if isinstance(node, ast.Constant) else ""


if __name__ == "__main__":
    main()
