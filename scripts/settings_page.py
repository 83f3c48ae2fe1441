"""Writes docs/settings.md from the settings themselves: ``python scripts/settings_page.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from clew.config import KB_SECTIONS, Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"

HEAD = """# Settings

Sources, strongest first: what a caller passes, environment variables `CLEW_SECTION__KEY` (for example
`CLEW_RETRIEVAL__BM25_B=0.6`), `clew.toml` in the data folder (or the file that `CLEW_CONFIG` names), the defaults
below. `CLEW_DATA` names the data folder. Unknown settings and impossible values are refused with their path.

A knowledge base can lay its own values over the sections marked with *:
`clew kb settings NAME --set retrieval.bm25_b=0.6`.

This page is written by `python scripts/settings_page.py`.
"""


def rows(model: BaseModel, path: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, default, meaning) of every setting."""
    for name, field in type(model).model_fields.items():
        value: Any = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from rows(value, f"{path}{name}.")
            continue
        default = '""' if "Secret" in type(value).__name__ else json.dumps(value, ensure_ascii=False)
        yield f"{path}{name}", default, " ".join((field.description or "").split())


def page() -> str:
    lines = [HEAD]
    for section in Settings.model_fields:
        values = getattr(Settings(), section)
        star = " *" if section in KB_SECTIONS else ""
        lines.append(
            f"\n## {section}{star}\n\n{type(values).__doc__}\n\n| setting | default | meaning |\n| --- | --- | --- |"
        )
        lines += [f"| `{path}` | `{default}` | {meaning} |" for path, default, meaning in rows(values, f"{section}.")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
