"""The examples of ``docs/library.md`` run, in their order, and print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import clew
from clew.app import Clew

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 8
    assert sum("# →" in example for example in EXAMPLES) >= 8


def test_the_examples_print_what_the_page_says(
    tmp_path: Path, models_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files are parsed by processes that are started in the new folder and have to find this same code.
    monkeypatch.setenv("PYTHONPATH", str(Path(clew.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEW_MODELS__FOLDER", str(models_folder))
    namespace: dict[str, object] = {"__name__": "library_page"}
    try:
        for example in EXAMPLES:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(example, str(PAGE), "exec"), namespace)
            said = [line.removeprefix("# → ") for line in example.splitlines() if line.startswith("# → ")]
            assert printed.getvalue().splitlines() == said, example
    finally:
        opened = namespace.get("clew")
        if isinstance(opened, Clew):
            opened.close()
