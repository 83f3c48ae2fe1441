"""Seed questions from templates: families of paraphrases, filled with values (``templates/*.toml``)."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from typing import Literal

from multihop_classifier.training.rows import Row, RowsError

LANGUAGES = ("zh", "en")

_SLOT = re.compile(r"\{([a-z]+)(\d?)\}")
_DRAWS = 30
"""A family that gives nothing new so often in a row is used up."""


@dataclass(frozen=True)
class Family:
    """Paraphrases of questions that need the same research. ``kind`` says which."""

    language: str
    number: int
    label: Literal["single", "multi"]
    kind: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Templates:
    """All families of one language and the values of their slots."""

    values: Mapping[str, Sequence[str]]
    families: Sequence[Family]


def load_templates(language: str) -> Templates:
    """Raises RowsError where a template names a slot that has too few values."""
    text = resources.files(__package__).joinpath("templates", f"{language}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    values = {name: tuple(listed) for name, listed in data["values"].items()}
    families = [
        Family(language, number, each["label"], each["kind"], tuple(each["texts"]))
        for number, each in enumerate(data["family"])
    ]
    for family in families:
        for template in family.texts:
            for name, place in _SLOT.findall(template):
                if len(values.get(name, ())) < int(place or 1):
                    raise RowsError(f"{language}.toml: the template {template!r} has no value for {{{name}{place}}}.")
    return Templates(values, families)


def generate(count: int, *, languages: Sequence[str] = LANGUAGES, seed: int = 0) -> list[Row]:
    """``count`` different questions, languages and labels in equal parts; paraphrases of a family are one group.

    Raises RowsError where the templates do not give so many.
    """
    rows: list[Row] = []
    wanted = [(language, label) for language in languages for label in ("single", "multi")]
    for place, (language, label) in enumerate(wanted):
        share = count // len(wanted) + (place < count % len(wanted))
        made = list(
            islice(_questions(load_templates(language), label, random.Random(f"{seed} {language} {label}")), share)
        )
        if len(made) < share:
            raise RowsError(
                f"The templates give only {len(made)} different questions ({language}, {label}); ask for fewer."
            )
        rows += made
    random.Random(seed).shuffle(rows)
    return rows


def _questions(templates: Templates, label: str, chance: random.Random) -> Iterator[Row]:
    """Different questions, each family in turn, until no family has more."""
    families = [family for family in templates.families if family.label == label]
    seen: set[str] = set()
    while families:
        for family in list(families):
            row = _unseen(family, templates.values, seen, chance)
            if row is None:
                families.remove(family)
            else:
                seen.add(row.question)
                yield row


def _unseen(family: Family, values: Mapping[str, Sequence[str]], seen: set[str], chance: random.Random) -> Row | None:
    """A question of ``family`` that is not in ``seen``; None where drawing finds none."""
    for _ in range(_DRAWS):
        question, names = _filled(chance.choice(family.texts), values, chance)
        if question not in seen:
            return Row.model_validate(
                {
                    "question": question,
                    "label": family.label,
                    "source": f"templates-{family.language}",
                    "group": f"{family.language}-{family.number}",
                    "language": family.language,
                    "entities": names,
                    "kind": family.kind,
                }
            )
    return None


def _filled(template: str, values: Mapping[str, Sequence[str]], chance: random.Random) -> tuple[str, list[str]]:
    """The question and the values in it; the same slot always has the same value, ``{slot2}`` another one."""
    slots = list(dict.fromkeys(_SLOT.findall(template)))
    most: dict[str, int] = {}
    for name, place in slots:
        most[name] = max(most.get(name, 1), int(place or 1))
    drawn = {name: chance.sample(values[name], number) for name, number in most.items()}
    chosen = {(name, place): drawn[name][int(place or 1) - 1] for name, place in slots}
    question = _SLOT.sub(lambda match: chosen[match.group(1), match.group(2)], template)
    return question[:1].upper() + question[1:] if template[0] == "{" else question, list(chosen.values())
