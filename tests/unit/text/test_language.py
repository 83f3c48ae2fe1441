import pytest

from clew.text.language import detect_language


@pytest.mark.parametrize(
    "text",
    [
        "华为2023年的营业收入是多少？",
        "Apple Inc 和 Microsoft Corporation 的 CEO 分别是谁",
        "《The Old Man and the Sea》的作者是哪国人？",
        "臺灣最高的山是哪一座",
        "𠮷野家",
    ],
)
def test_chinese(text: str) -> None:
    assert detect_language(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "What was the revenue in 2023?",
        "What does the Chinese character 道 mean in classical texts?",
        "",
        "2023 / 12.5%",
        "¿Dónde está la biblioteca?",
    ],
)
def test_english_and_everything_else(text: str) -> None:
    assert detect_language(text) == "en"
