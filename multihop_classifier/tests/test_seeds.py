"""Seed questions, and the other manners in which they are shown."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from multihop_classifier.training import seeds
from multihop_classifier.training.rows import RowsError
from multihop_classifier.training.seeds import LANGUAGES, generate, load_templates
from multihop_classifier.training.styles import mask_names, restyle


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_are_many_and_of_many_kinds(language: str) -> None:
    templates = load_templates(language)
    for label in ("single", "multi"):
        families = [family for family in templates.families if family.label == label]
        assert len(families) >= 20
        assert len({family.kind for family in families}) >= 7
        assert all(len(family.texts) >= 4 for family in families)
    texts = [text for family in templates.families for text in family.texts]
    assert len(texts) == len(set(texts))


def test_seeds_are_different_filled_and_balanced() -> None:
    rows = generate(402, seed=7)
    assert len({row.question for row in rows}) == len(rows) == 402
    counts = Counter((row.language, row.label) for row in rows)
    assert sorted(counts.values()) == [100, 100, 101, 101]
    assert not [row.question for row in rows if re.search(r"[{}]", row.question)]
    assert not any(row.reviewed for row in rows)
    of_group = {row.group: row.label for row in rows}
    assert all(of_group[row.group] == row.label for row in rows)
    assert len(of_group) > 80


def test_names_of_a_seed_stand_in_it() -> None:
    for row in generate(200):
        assert all(name.lower() in row.question.lower() for name in row.entities)
        assert len(set(row.entities)) == len(row.entities), row.question


def test_same_seed_gives_the_same_questions() -> None:
    assert generate(50, seed=1) == generate(50, seed=1)
    assert generate(50, seed=1) != generate(50, seed=2)
    assert {row.language for row in generate(10, languages=["en"])} == {"en"}


def test_more_than_the_templates_give_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    few = seeds.Templates(
        {"name": ("Ada", "Bob")},
        [
            seeds.Family(
                "en", 0, "single", "property", ("Who is {name}?", "Where is {name}?", "{name} knows {name2}?")
            ),
            seeds.Family("en", 1, "multi", "polar", ("Is {name} older than {name2}?",)),
        ],
    )
    monkeypatch.setattr(seeds, "load_templates", lambda language: few)
    assert {row.question for row in generate(4, languages=["en"]) if row.label == "multi"} == {
        "Is Ada older than Bob?",
        "Is Bob older than Ada?",
    }
    with pytest.raises(RowsError, match="only 2 different questions"):
        generate(6, languages=["en"])


def core(text: str) -> str:
    return re.sub(r"\W", "", text).lower()


@pytest.mark.parametrize("question", ["Who wrote Hamlet?", "红楼梦的作者是谁？", "?"])
def test_restyling_keeps_the_words(question: str) -> None:
    chance = random.Random(5)
    shown = {restyle(question, chance) for _ in range(200)}
    assert all(core(text).endswith(core(question)) for text in shown)
    assert len(shown) > 5


def test_politeness_may_go() -> None:
    chance = random.Random(5)
    assert "红楼梦的作者是谁" in {restyle("请问红楼梦的作者是谁？", chance).rstrip("?？") for _ in range(50)}


def test_names_become_letters() -> None:
    assert mask_names("Is Ada older than Bob, ada?", ["Ada", "Bob"]) == "Is X older than Y, X?"
    assert mask_names("北京大学和北京的面积", ["北京", "北京大学"]) == "X和Y的面积"
    assert mask_names("who wrote it (C++)", ["C++"]) == "who wrote it (X)"
    assert mask_names("who", []) == mask_names("who", [" "]) == "who"
    assert mask_names(" ".join("abcdefgh"), list("abcdefgh")) == "X Y Z W V U U U"
