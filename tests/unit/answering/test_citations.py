import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.answering.citations import CitationFilter


def run(pieces: list[str], numbers: range = range(1, 4)) -> tuple[str, list[int]]:
    marks = CitationFilter(numbers)
    text = "".join(marks.feed(piece) for piece in pieces) + marks.finish()
    return text, marks.used


@pytest.mark.parametrize(
    ("text", "expected", "used"),
    [
        ("Yes [1].", "Yes [1].", [1]),
        ("Yes [9].", "Yes .", []),
        ("Both [2, 1].", "Both [2][1].", [2, 1]),
        ("One of them [1，7].", "One of them [1].", [1]),
        ("code `a[1]` and [1]", "code `a[1]` and [1]", [1]),
        ("```\nx[7]\n``` [7]", "```\nx[7]\n``` ", []),
        ("no mark [a] [ ] []", "no mark [a] [ ] []", []),
        ("open end [1", "open end [1", []),
        ("a lone ` backtick\n\nthen [9]", "a lone ` backtick\n\nthen ", []),
    ],
)
def test_marks(text: str, expected: str, used: list[int]) -> None:
    assert run([text]) == (expected, used)


@given(st.text(alphabet="ab[]123,` \n", max_size=60), st.lists(st.integers(1, 7), max_size=30))
def test_pieces_do_not_matter(text: str, cuts: list[int]) -> None:
    pieces, rest = [], text
    for size in cuts:
        pieces.append(rest[:size])
        rest = rest[size:]
    assert run([*pieces, rest]) == run([text])
