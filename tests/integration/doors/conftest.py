"""One running server for all tests of the doors that other programs use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.openai_server import Reply, Request, ScriptedServer
from fakes.server_process import ServedClew, served

RIVERS = """# Rivers

## The Danube

The Danube rises in the Black Forest and is 2,850 kilometres long.

## The Rhine

The Rhine rises in the Swiss Alps and flows into the North Sea at Rotterdam.
"""
CITIES = "# 城市\n\n## 武汉\n\n武汉市的面积为8569.15平方千米。\n\n## 成都\n\n成都市是四川省的省会。\n"

SLOW_WORDS = 20
"""Of the answer to a question that asks for it slowly; each word takes 0.15 s."""


def answer_by_sources(request: Request) -> Reply:
    """Answers from the numbered sources; every other prompt (yes/no, rewriting) gets no usable reply."""
    text = request.text
    if "<source number=" not in text:
        return Reply("?", usage=(3, 1))
    if "slowly" in text:
        return Reply("", pieces=[f"word{n} " for n in range(SLOW_WORDS)], delay=0.15)
    if "at length" in text:
        return Reply("The Danube is", finish_reason="length")
    sentence = "The Danube is 2,850 kilometres long [1]." if "2,850" in text else "It was not found."
    return Reply(sentence, usage=(40, 9))


@pytest.fixture(scope="session")
def chat_model() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer_by_sources) as server:
        yield server


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, models_folder: Path, embedder: object, chat_model: ScriptedServer
) -> Iterator[ServedClew]:
    settings = {
        "CLEW_MODELS__FOLDER": str(models_folder),
        "CLEW_MODELS__CHAT__URL": chat_model.url,
        "CLEW_MODELS__CHAT__MODEL": "scripted",
    }
    with served(tmp_path_factory.mktemp("doors") / "data", settings) as running:
        running.add("rivers", "rivers.md", RIVERS)
        running.add("cities", "城市.md", CITIES)
        yield running
