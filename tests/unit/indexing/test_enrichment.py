"""What a vision model says about blocks, over real HTTP, kept in real records."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from clew.config import ChatSettings, VisionSettings
from clew.indexing import enrichment
from clew.indexing.enrichment import enrich
from clew.indexing.parsers import ParseContext, ParseOptions, parse
from clew.models.metering import MeteredVision
from clew.models.vision import OpenAIVisionModel
from clew.storage.records import SqlRecords
from clew.types import BlockType, ParsedFile, TokenUsage
from fakes.openai_server import Reply, Request, ScriptedServer, Status
from fakes.pdf_file import PdfPage, pdf

ALL = VisionSettings(parallel=2)
CONTEXT = ParseContext(ParseOptions(ocr=False, pictures=True))
ROWS = [("项目", "2023年", "2022年"), ("营业收入", "1,234.56", "1,133.66"), ("净利润", "98.70", "87.20")]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    opened = SqlRecords.open(tmp_path / "records.sqlite")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrichment, "_FIRST_PAUSE", 0.01)


def picture(colour: str, size: tuple[int, int] = (200, 150)) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return f'<img src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}" alt="{colour} chart">'


def page(*colours: str, text: str = "The text of the page stands before its images.") -> ParsedFile:
    body = f"<p>{text}</p>" + "".join(f"<p>Before {colour}.</p>{picture(colour)}" for colour in colours)
    return parse(f"<html><body>{body}</body></html>".encode(), "a.html", context=CONTEXT)


def said(caption: str, content: str = "", kind: str = "chart") -> str:
    return json.dumps({"kind": kind, "caption": caption, "content": content}, ensure_ascii=False)


def seeing(server: ScriptedServer, name: str = "sees") -> OpenAIVisionModel:
    return OpenAIVisionModel(ChatSettings(url=server.url, model=name, timeout=5, retries=0))


def images(parsed: ParsedFile) -> list[str]:
    return [block.text for block in parsed.blocks if block.type is BlockType.IMAGE]


def test_images_get_caption_and_content_after_their_own_text(records: SqlRecords) -> None:
    parsed = page("red")
    spent: list[tuple[str, TokenUsage]] = []
    with ScriptedServer([said("A line chart of revenue.", "2023: 12.5 million; it rises.")]) as server:
        model = MeteredVision(seeing(server), lambda part, usage: spent.append((part, usage)))
        described, report = enrich(parsed, model, records, ALL)
    assert images(described) == [
        "red chart\n(Described by the vision model) A line chart of revenue.\n2023: 12.5 million; it rises."
    ]
    assert (report.calls, report.reused, report.failed) == (1, 0, 0)
    assert spent == [("vision", TokenUsage(prompt_tokens=11, completion_tokens=7, calls=1))]
    assert [block.content_hash for block in described.blocks] == [block.content_hash for block in parsed.blocks]
    assert not described.pictures


def test_the_same_picture_is_never_paid_for_twice(records: SqlRecords) -> None:
    with ScriptedServer(lambda request: said("A chart.")) as server:
        _, first = enrich(page("red", "red", "blue"), seeing(server), records, ALL)
        assert (first.calls, first.reused) == (2, 0)
        again, second = enrich(page("blue", "red", text="Another file with other text."), seeing(server), records, ALL)
        assert (second.calls, second.reused, len(server.chats)) == (0, 2, 2)
        assert all("A chart." in text for text in images(again))
        # Another model, or another language, is another question.
        _, other = enrich(page("red"), seeing(server, "other"), records, ALL)
        _, chinese = enrich(page("red", text="这是一份中文报告的正文。"), seeing(server), records, ALL)
        assert (other.calls, chinese.calls) == (1, 1)
        assert "请用中文回答" in server.chats[-1].text


def test_an_interrupted_file_pays_only_for_the_rest(records: SqlRecords) -> None:
    parsed = page("red", "green", "blue")
    with ScriptedServer([said("One."), Status(500)]) as server:
        described, report = enrich(parsed, seeing(server), records, VisionSettings(parallel=1, patience=0))
    assert (report.calls, report.failed) == (1, 2)
    assert images(described)[1:] == ["green chart", "blue chart"]
    assert "2 images or tables were not described" in described.warnings[0]
    with ScriptedServer([said("Two."), said("Three.")]) as server:
        described, report = enrich(parsed, seeing(server), records, ALL)
    assert (report.calls, report.reused) == (2, 1)
    assert not described.warnings


def test_an_overloaded_endpoint_is_waited_for(records: SqlRecords) -> None:
    replies: list[Any] = [Status(429, headers={"retry-after": "0"}), Status(503), said("A chart.")]
    with ScriptedServer(replies) as server:
        described, report = enrich(page("red"), seeing(server), records, ALL)
    assert (report.calls, report.failed) == (1, 0)
    assert "A chart." in images(described)[0]


def test_a_model_that_takes_no_images_is_asked_three_times_not_three_hundred(records: SqlRecords) -> None:
    colours = ["red", "green", "blue", "black", "yellow", "pink", "brown", "orange"]
    refusal = Status(400, {"error": {"message": "this model takes no images"}})
    with ScriptedServer(lambda request: refusal) as server:
        described, report = enrich(page(*colours), seeing(server), records, VisionSettings(parallel=1))
    # Each is tried again without the schema, which may be what is refused.
    assert len(server.chats) == 6
    assert (report.calls, report.failed) == (0, 8)
    assert "8 images or tables were not described" in described.warnings[0]
    assert "takes no images" in described.warnings[0]
    assert images(described)[0] == "red chart"


def test_calls_are_limited_by_number_and_by_minute(records: SqlRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(enrichment.time, "sleep", slept.append)
    with ScriptedServer(lambda request: said("A chart.")) as server:
        limits = VisionSettings(max_calls=2, per_minute=6, parallel=1)
        described, report = enrich(page("red", "green", "blue"), seeing(server), records, limits)
    assert report.calls == 2
    assert "indexing.vision.max_calls" in described.warnings[0]
    assert sum(slept) == pytest.approx(10, abs=1)


def test_decoration_and_answers_that_are_no_json(records: SqlRecords) -> None:
    replies = [
        said("A logo.", kind="decoration"),
        "Just a sentence.",
        Reply('{"caption": "cut', finish_reason="length"),
    ]
    with ScriptedServer(replies) as server:
        described, _ = enrich(page("red", "green", "blue"), seeing(server), records, VisionSettings(parallel=1))
        assert images(described) == [
            "red chart",
            "green chart\n(Described by the vision model) Just a sentence.",
            "blue chart",
        ]
        # What was cut off is not kept: the next time it is asked again.
        server.add(said("Whole."))
        described, report = enrich(page("blue"), seeing(server), records, ALL)
    assert (report.calls, images(described)[0].endswith("Whole.")) == (1, True)


def table_file(edges: tuple[float, ...] = (72, 232, 372, 520)) -> ParsedFile:
    sheet = PdfPage().text(72, 80, "以下为公司主要财务数据，单位为万元。").grid(list(edges), [110, 140, 170, 200])
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            sheet.text(edges[column] + 8, 130 + 30 * row, text)
    return parse(pdf(sheet), "a.pdf", context=CONTEXT)


def markdown(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---|---|", *lines[1:]])


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda rows: rows, "主营业务收入"),
        (lambda rows: [rows[0], (rows[1][0], "1,234.65", rows[1][2]), rows[2]], "营业收入"),
        (lambda rows: rows[:2], "营业收入"),
    ],
    ids=["same numbers", "a number misread", "a row left out"],
)
def test_a_table_is_read_by_the_model_only_where_the_numbers_agree(
    records: SqlRecords, change: Callable[[Any], Any], kept: str
) -> None:
    parsed = table_file()
    assert [block.type for block in parsed.blocks].count(BlockType.TABLE) == 1
    rows = change([ROWS[0], ("主营业务收入", *ROWS[1][1:]), ROWS[2]])
    answer = json.dumps({"caption": "2022至2023年主要财务数据（万元）", "markdown": markdown(rows)}, ensure_ascii=False)
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return answer

    with ScriptedServer(reply) as server:
        described, report = enrich(parsed, seeing(server), records, ALL)
    assert report.calls == 1
    assert seen[0].messages[0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    caption, table = described.blocks[-2:]
    assert caption.text == "（模型描述） 2022至2023年主要财务数据（万元）"
    assert table.table is not None
    assert table.table.rows[1] == (kept, "1,234.56", "1,133.66")
    assert table.text.split("\n")[1].startswith(kept)
    assert [block.ordinal for block in described.blocks] == list(range(len(described.blocks)))
    assert caption.section_path == table.section_path


def test_pictures_come_only_when_asked_for_and_small_enough_for_a_model() -> None:
    source = (
        f"<html><body><p>Text.</p>{picture('red', (3000, 2000))}{picture('blue', (30, 300))}</body></html>".encode()
    )
    assert parse(source, "a.html").pictures == {}
    (shown,) = parse(source, "a.html", context=CONTEXT).pictures.values()
    with Image.open(io.BytesIO(shown.data)) as image:
        assert max(image.size) == 1280


def test_images_of_a_pdf_are_told_apart_by_what_they_show_not_by_where() -> None:
    text = "A line of text that stands on the page above its picture."
    upper = parse(pdf(PdfPage().text(72, 80, text).image(72, 200, 200, 150)), "a.pdf", context=CONTEXT)
    lower = parse(pdf(PdfPage().text(72, 80, text).image(72, 400, 200, 150)), "b.pdf", context=CONTEXT)
    first, second = (next(b for b in parsed.blocks if b.type is BlockType.IMAGE) for parsed in (upper, lower))
    assert first.content_hash == second.content_hash
    assert first.content_hash in upper.pictures
