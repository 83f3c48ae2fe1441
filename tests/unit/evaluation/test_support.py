from clew.evaluation.datasets import LabelledQuestion
from clew.evaluation.support import supporting_parents
from clew.types import ParentChunk


def parent(id: str, text: str) -> ParentChunk:
    return ParentChunk(id, "f", 0, "", (), text, 1)


PARENTS = {"a": [parent("a1", "One. Two\nthree."), parent("a2", "Four.")], "b": [parent("b1", "Five.")]}


def asked(*groups: set[str], sentences: tuple[str, ...] = ()) -> LabelledQuestion:
    return LabelledQuestion("q", "?", "", tuple(map(frozenset, groups)), sentences=sentences)


def test_any_parent_of_a_passage_supports() -> None:
    assert supporting_parents(asked({"a"}, {"b"}), PARENTS) == ({"a1", "a2"}, {"b1"})
    assert supporting_parents(asked({"a", "b"}), PARENTS) == ({"a1", "a2", "b1"},)


def test_sentences_say_which_part_of_the_passage_does() -> None:
    assert supporting_parents(asked({"a"}, sentences=("Two three.", "Four.")), PARENTS) == ({"a1"}, {"a2"})
    assert supporting_parents(asked({"a"}, sentences=("Four.", "Nowhere.")), PARENTS) == ({"a2"},)


def test_what_is_not_there_supports_nothing() -> None:
    assert supporting_parents(asked(), PARENTS) == ()
    assert supporting_parents(asked({"a"}, {"c"}), PARENTS) == ()
    assert supporting_parents(asked({"a"}, sentences=("Five.",)), PARENTS) == ()
