"""The confusion matrix as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from multihop_classifier.training.measures import measure

pictures = pytest.importorskip("multihop_classifier.training.pictures", exc_type=ImportError)


def test_confusion_is_drawn(tmp_path: Path) -> None:
    scored = measure([True, True, False, False], [0.9, 0.2, 0.1, 0.3])
    pictures.confusion({"validation": scored, "test": scored}, tmp_path / "two.png")
    pictures.confusion({"test": scored}, tmp_path / "one.png")
    sizes = [(tmp_path / name).read_bytes()[16:20] for name in ("one.png", "two.png")]
    assert int.from_bytes(sizes[1]) == pytest.approx(2 * int.from_bytes(sizes[0]), abs=2)
