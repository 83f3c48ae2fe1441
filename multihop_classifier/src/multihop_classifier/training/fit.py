"""Fine-tuning: balanced sources, early stopping on the F1 of the validation part."""

from __future__ import annotations

import copy
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from multihop_classifier.training.encoder import MultiHopModel
from multihop_classifier.training.measures import measure
from multihop_classifier.training.reading import Reader
from multihop_classifier.training.rows import Row, balance
from multihop_classifier.training.styles import mask_names, restyle


@dataclass(frozen=True)
class Recipe:
    """How a model is trained."""

    epochs: int = 5
    patience: int = 2
    """Epochs without a better validation F1 after which training stops."""
    batch: int = 32
    rate: float = 5e-5
    head_rate: float = 1e-3
    features_rate: float = 2e-2
    decay: float = 0.01
    warm_up: float = 0.1
    freeze: int = 0
    """Lower layers that stay as they are (with them the embeddings)."""
    restyled: float = 0.5
    """Share of questions that are shown in another manner, newly chosen in each epoch."""
    masked: float = 0.3
    """Share of questions whose names are masked, newly chosen in each epoch."""
    blind: float = 0.3
    """Share of questions of which the head sees the features only, newly chosen in each epoch."""
    one_label: float = 1.0
    """Weight of a source that has one label only, against one with both."""
    showings: int = 0
    """After so many epochs the ways in which questions are shown come again; 0: never."""
    smoothing: float = 0.05
    """Labels are noisy: none is taken for quite certain."""
    bfloat16: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    number: int
    loss: float
    validation_f1: float
    seconds: float


def fit(
    model: MultiHopModel,
    reader: Reader,
    train: Sequence[Row],
    validation: Sequence[Row],
    recipe: Recipe,
    told: Callable[[Epoch], None] = lambda epoch: None,
) -> list[Epoch]:
    """Trains ``model`` in place; it ends with the weights of the best epoch. ``told`` hears of every epoch.

    Layers that shall not change are frozen already; ``reader`` fits to that.
    """
    torch.manual_seed(recipe.seed)
    chance = random.Random(recipe.seed)
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in model.encoder.parameters() if p.requires_grad], "lr": recipe.rate},
            {"params": list(model.by_text.parameters()), "lr": recipe.head_rate},
            {"params": list(model.by_features.parameters()), "lr": recipe.features_rate},
        ],
        weight_decay=recipe.decay,
    )
    steps = recipe.epochs * math.ceil(len(train) / recipe.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_at(step, steps, recipe.warm_up))
    weights = balance(train, one_label=recipe.one_label)
    truth = [row.multi for row in validation]
    epochs: list[Epoch] = []
    best: tuple[float, dict[str, torch.Tensor]] | None = None
    for number in range(1, recipe.epochs + 1):
        started = time.monotonic()
        items = reader.read([_shown(row, recipe, number) for row in train])
        loss = _train_epoch(model, reader, train, items, weights, recipe, chance, optimizer, schedule)
        f1 = measure(truth, predict(model, reader, validation, bfloat16=recipe.bfloat16)).f1 or 0.0
        epochs.append(Epoch(number, loss, f1, time.monotonic() - started))
        told(epochs[-1])
        if best is None or f1 > best[0]:
            best = f1, _trained(model)
        elif number - max(epochs, key=lambda epoch: epoch.validation_f1).number >= recipe.patience:
            break
    if best:
        model.load_state_dict(best[1], strict=False)
    return epochs


def predict(
    model: MultiHopModel,
    reader: Reader,
    rows: Sequence[Row],
    *,
    masked: bool = False,
    bfloat16: bool = False,
    batch: int = 64,
) -> list[float]:
    """Probabilities of multi in the order of ``rows``."""
    model.eval()
    items = reader.read([mask_names(row.question, row.entities) if masked else row.question for row in rows])
    order = sorted(range(len(rows)), key=lambda place: len(items[place]))
    probabilities = [0.0] * len(rows)
    with torch.inference_mode(), _precision(bfloat16):
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            logits = model.joined(_experts(model, reader, rows, items, places))
            for place, logit in zip(places, logits.float().tolist(), strict=True):
                probabilities[place] = 1 / (1 + math.exp(-logit))
    return probabilities


def _train_epoch(
    model: MultiHopModel,
    reader: Reader,
    rows: Sequence[Row],
    items: Sequence[torch.Tensor],
    weights: Sequence[float],
    recipe: Recipe,
    chance: random.Random,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LambdaLR,
) -> float:
    """Returns the mean loss."""
    model.train()
    total = 0.0
    for places in _batches([len(item) for item in items], recipe.batch, chance):
        wanted = torch.tensor([abs(rows[place].multi - recipe.smoothing) for place in places])
        weight = torch.tensor([weights[place] for place in places])
        with _precision(recipe.bfloat16):
            experts = _experts(model, reader, rows, items, places).float()
        # Each expert learns by itself: together the one that knows the training sources would do all the work.
        loss = functional.binary_cross_entropy_with_logits(experts[:, 0], wanted, weight)
        loss = loss + functional.binary_cross_entropy_with_logits(experts[:, 1], wanted, weight)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += float(loss.detach()) * len(places)
    return total / len(rows)


def _experts(
    model: MultiHopModel, reader: Reader, rows: Sequence[Row], items: Sequence[torch.Tensor], places: Sequence[int]
) -> torch.Tensor:
    """What both experts say of one batch."""
    features = torch.tensor([rows[place].features for place in places])
    return model.experts(reader.states([items[place] for place in places]), features)


def _batches(lengths: Sequence[int], size: int, chance: random.Random) -> Iterator[list[int]]:
    """Places of questions of about the same length, so that little is padded; the batches in random order."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place] + chance.random() * 4)
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    chance.shuffle(batches)
    yield from batches


def _shown(row: Row, recipe: Recipe, epoch: int) -> str:
    """The question as it is shown in ``epoch``."""
    showing = epoch % recipe.showings if recipe.showings else epoch
    chance = random.Random(f"{recipe.seed} {showing} {row.question}")
    text = row.question
    if chance.random() < recipe.masked:
        text = mask_names(text, row.entities)
    return restyle(text, chance) if chance.random() < recipe.restyled else text


def _rate_at(step: int, steps: int, warm_up: float) -> float:
    """Linear up, then linear down to 0."""
    rising = max(steps * warm_up, 1.0)
    return min((step + 1) / rising, max(steps - step, 0) / max(steps - rising, 1.0))


def _trained(model: MultiHopModel) -> dict[str, torch.Tensor]:
    """Copies of the weights that training changes."""
    return {name: copy.deepcopy(weight.detach()) for name, weight in model.named_parameters() if weight.requires_grad}


def _precision(bfloat16: bool) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16)
