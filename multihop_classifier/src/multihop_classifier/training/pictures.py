"""The confusion matrix and the course of training as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from multihop_classifier.training.measures import Measures
from multihop_classifier.training.rows import Part

if TYPE_CHECKING:
    from multihop_classifier.training.fit import Epoch

_LABELS = ("single", "multi")


def confusion(measures: Mapping[Part, Measures], path: Path) -> None:
    """One matrix beside the other: rows are the labels, columns what was said."""
    figure = Figure(figsize=(3.6 * len(measures), 3.8), layout="constrained")
    for axes, (name, measured) in zip(
        figure.subplots(1, len(measures), squeeze=False)[0], measures.items(), strict=True
    ):
        counts = measured.confusion
        shares = [[count / max(sum(row), 1) for count in row] for row in counts]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row in range(2):
            for column in range(2):
                colour = "white" if shares[row][column] > 0.5 else "black"
                text = f"{counts[row][column]}\n{shares[row][column]:.0%}"
                axes.text(column, row, text, ha="center", va="center", color=colour)
        axes.set_xticks([0, 1], _LABELS)
        axes.set_yticks([0, 1], _LABELS)
        axes.set_xlabel("said")
        axes.set_ylabel("label")
        axes.set_title(f"{name}, {measured.total} questions\nthreshold {measured.threshold:.2f}", fontsize=9)
    figure.savefig(path, dpi=130)


def epochs(course: Sequence[Epoch], path: Path) -> None:
    """Loss of training and F1 of validation by epoch."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    numbers = [epoch.number for epoch in course]
    axes.plot(numbers, [epoch.loss for epoch in course], marker="o", label="loss of training")
    axes.plot(numbers, [epoch.validation_f1 for epoch in course], marker="o", label="F1 of validation")
    axes.set_xticks(numbers)
    axes.set_xlabel("epoch")
    axes.legend()
    figure.savefig(path, dpi=130)
