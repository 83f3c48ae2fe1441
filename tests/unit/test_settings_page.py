import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_settings_as_they_are() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "settings_page.py"))["page"]()
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == page, "run: python scripts/settings_page.py"
