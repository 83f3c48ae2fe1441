"""Recorded decisions against other thresholds and against labels: what would have changed, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from clew.config import ComplexitySettings
from clew.errors import InputError, SettingsError
from clew.retrieval.complexity.cascade import replay
from clew.trace import ComplexityDecision

Label = Literal["single", "multi"]
_STEPS = 101


@dataclass(frozen=True, slots=True)
class Agreement:
    """Decisions against labels; ``multi`` is the positive class. All but ``n`` lie in [0, 1]."""

    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    multi_share: float
    """Share of the questions that go through several rounds: the cost."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What other thresholds would have decided: the new modes, and which questions change."""

    modes: tuple[Label, ...]
    changed: tuple[int, ...]


def read_decision(record: Mapping[str, Any]) -> ComplexityDecision:
    """A recorded decision as a value; fields of other versions are ignored. Raises InputError for anything else."""
    known = {f.name for f in fields(ComplexityDecision)}
    try:
        return ComplexityDecision(**{key: value for key, value in record.items() if key in known})
    except TypeError as error:
        raise InputError(
            f"This is no recorded decision ({error}); export decisions with `clew route --json`."
        ) from error


def replay_all(decisions: Sequence[ComplexityDecision], settings: ComplexitySettings) -> Replay:
    """All decisions under ``settings``, from their recorded numbers; nobody is asked again."""
    modes: tuple[Label, ...] = tuple(replay(decision, settings) for decision in decisions)
    changed = tuple(i for i, decision in enumerate(decisions) if decision.mode != modes[i])
    return Replay(modes, changed)


def agreement(modes: Sequence[Label], labels: Sequence[Label]) -> Agreement:
    """Precision, recall and the rest; a ratio without cases is 0. Raises InputError where there are no labels."""
    if not labels:
        raise InputError("There are no labelled questions, so nothing can be compared.")
    pairs = list(zip(modes, labels, strict=True))
    hits = pairs.count(("multi", "multi"))
    said, true = list(modes).count("multi"), list(labels).count("multi")
    precision, recall = _ratio(hits, said), _ratio(hits, true)
    return Agreement(
        n=len(pairs),
        accuracy=_ratio(sum(mode == label for mode, label in pairs), len(pairs)),
        precision=precision,
        recall=recall,
        f1=_ratio(2 * precision * recall, precision + recall),
        multi_share=_ratio(said, len(pairs)),
    )


def threshold_curve(
    decisions: Sequence[ComplexityDecision], labels: Sequence[Label], settings: ComplexitySettings, threshold: str
) -> list[tuple[float, Agreement]]:
    """Agreement with the labels as one threshold moves from 0 to 1 and the others stay. Raises SettingsError for a
    name that is no threshold."""
    if not threshold.endswith("_threshold") or threshold not in ComplexitySettings.model_fields:
        raise SettingsError(f"complexity.{threshold}: there is no such threshold; see docs/settings.md.")
    curve = []
    for step in range(_STEPS):
        value = step / (_STEPS - 1)
        moved = settings.model_copy(update={threshold: value})
        curve.append((value, agreement(replay_all(decisions, moved).modes, labels)))
    return curve


def training_rows(decisions: Sequence[ComplexityDecision], labels: Sequence[Label | None]) -> list[dict[str, Any]]:
    """Rows for the classifier's training: question, label (None where nobody gave one) and the five features."""
    names = ("comparison", "logic", "entities", "bridge", "length")
    return [
        {
            "question": decision.question,
            "label": label,
            "features": [decision.features[name] for name in names],
            "features_version": decision.features["version"],
            "decided": decision.mode,
            "source": decision.source,
        }
        for decision, label in zip(decisions, labels, strict=True)
    ]


def draw_curves(
    curves: Mapping[str, Sequence[tuple[float, Agreement]]], current: Mapping[str, float], out: Path
) -> None:
    """A picture with one panel a threshold: precision, recall, F1 and the share of multi; the current value is marked.

    Raises InputError where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra: most installations draw nothing
    except ImportError as error:
        raise InputError("Pictures need matplotlib: pip install 'clew[plots]'.") from error
    figure = Figure(figsize=(6 * len(curves), 4.2), layout="constrained")
    for axes, (name, curve) in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True):
        values = [value for value, _ in curve]
        for measure in ("precision", "recall", "f1", "multi_share"):
            axes.plot(values, [getattr(row, measure) for _, row in curve], label=measure.replace("_", " "))
        axes.axvline(current[name], color="grey", linestyle=":", label="now")
        axes.set(title=name, xlabel="threshold", ylim=(0, 1.02))
        axes.legend(fontsize="small")
    figure.savefig(out, dpi=120)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
