from clew.evaluation.datasets import LabelledQuestion
from clew.evaluation.support import Support
from clew.types import ParentChunk


def parent(id: str, text: str) -> ParentChunk:
    return ParentChunk(id, "f", 0, "", (), text, 1)


PARENTS = {"a": [parent("a1", "One. Two\nthree."), parent("a2", "Four.")], "b": [parent("b1", "Five.")]}


def asked(*groups: set[str], sentences: tuple[str, ...] = ()) -> LabelledQuestion:
    return LabelledQuestion("q", "?", "", tuple(map(frozenset, groups)), sentences=sentences)


def test_any_parent_of_a_passage_supports() -> None:
    assert Support(PARENTS).groups(asked({"a"}, {"b"})) == ({"a1", "a2"}, {"b1"})
    assert Support(PARENTS).groups(asked({"a", "b"})) == ({"a1", "a2", "b1"},)


def test_sentences_say_which_part_of_the_passage_does() -> None:
    assert Support(PARENTS).groups(asked({"a"}, sentences=("Two three.", "Four."))) == ({"a1"}, {"a2"})
    assert Support(PARENTS).groups(asked({"a"}, sentences=("Four.", "Nowhere."))) == ({"a2"},)


def test_sentences_that_stand_together_are_one_group() -> None:
    assert Support(PARENTS).groups(asked({"a"}, sentences=("One.", "Two three."))) == ({"a1"},)


def test_what_is_not_there_supports_nothing() -> None:
    assert Support(PARENTS).groups(asked()) == ()
    assert Support(PARENTS).groups(asked({"a"}, {"c"})) == ()
    assert Support(PARENTS).groups(asked({"a"}, sentences=("Nowhere.",))) == ()


def test_a_text_that_the_corpus_holds_twice_supports_twice() -> None:
    twice = Support(PARENTS | {"c": [parent("c1", "Zero. Two three.")]})
    assert twice.groups(asked({"a"}, sentences=("Two three.",))) == ({"a1", "c1"},)
