"""E-mail: headers, bodies, attachments as sections."""

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from clew.errors import DamagedFileError
from clew.indexing.parsers import MediaType, detect, parse
from clew.indexing.parsers.rtf import compressed_rtf
from clew.types import BlockType

DATA = Path(__file__).parents[3] / "data"


def mail(subject: str = "季度报告") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "张伟 <zhang@example.com>"
    message["To"] = "Ann Example <ann@example.com>"
    message["Date"] = "Mon, 03 Jun 2024 09:30:00 +0800"
    message["Subject"] = subject
    message.set_content("请查收附件。\n\nThe figures are final.")
    return message


def test_headers_and_body_become_text_and_the_subject_is_the_title() -> None:
    parsed = parse(mail().as_bytes(), "a.eml")
    assert parsed.title == "季度报告"
    head, first, second = (block.text for block in parsed.blocks)
    assert head.split("\n")[0] == "From: 张伟 <zhang@example.com>"
    assert "Date: Mon, 03 Jun 2024 09:30:00 +0800" in head
    assert (first, second) == ("请查收附件。", "The figures are final.")


def test_attachments_are_sections_with_their_own_below() -> None:
    message = mail()
    message.add_attachment("# 收入\n\n营业收入增长8%。\n".encode(), "text", "markdown", filename="一季度.md")
    message.add_attachment(b"a,b\n1,2\n", "text", "csv", filename="data.csv")
    parsed = parse(message.as_bytes(), "a.eml")
    assert [section.titles for section in parsed.sections[1:]] == [("一季度.md",), ("一季度.md", "收入"), ("data.csv",)]
    assert parsed.blocks[-1].table is not None
    assert parsed.blocks[-1].section_path == "0002/"
    assert [block.ordinal for block in parsed.blocks] == list(range(len(parsed.blocks)))


def test_the_formatted_body_keeps_its_tables_and_bold_lines_are_no_headings() -> None:
    message = mail()
    rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in [("项目", "金额"), ("收入", "1,000")])
    bold = "".join(f"<p><b>{text}</b></p>" for text in ("Dear Ann", "Kind regards", "Wei Zhang"))
    message.add_alternative(f"{bold}<table>{rows}</table>", subtype="html")
    parsed = parse(message.as_bytes(), "a.eml")
    assert [block.type for block in parsed.blocks].count(BlockType.TABLE) == 1
    assert not [block for block in parsed.blocks if block.type is BlockType.HEADING]
    assert "请查收附件" not in parsed.blocks[1].text


def test_an_attachment_that_cannot_be_read_is_a_warning() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "text")
    message = mail()
    message.add_attachment(buffer.getvalue(), "application", "zip", filename="all.zip")
    message.add_attachment(b"%PDF-1.7 cut", "application", "pdf", filename="cut.pdf")
    parsed = parse(message.as_bytes(), "a.eml")
    first, second = parsed.warnings
    assert first.startswith("Attachment all.zip: ZIP archive files are not read")
    assert second.startswith("Attachment cut.pdf: the file is damaged")
    assert "请查收附件。" in [block.text for block in parsed.blocks]


def test_attached_messages_are_read_within_a_depth() -> None:
    message = mail("level 0")
    for level in range(1, 7):
        outer = mail(f"level {level}")
        outer.add_attachment(message)
        message = outer
    parsed = parse(message.as_bytes(), "a.eml")
    assert [section.title for section in parsed.sections[1:]] == ["level 5.eml", "level 4.eml", "level 3.eml"]
    assert any("level 2.eml: attached inside of 3 other messages" in warning for warning in parsed.warnings)


def test_what_real_programs_send() -> None:
    raw = (
        "Subject: 关于年度报告的通知\r\nFrom: =?gb2312?B?1cXOsA==?= <z@example.com>\r\n"
        "Content-Type: text/plain; charset=gb2312; format=flowed\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        "一行没有写完 \r\n的话。\r\n\r\n第二段镕。\r\n"
    ).encode("gb18030")
    parsed = parse(raw, "raw.eml")
    assert parsed.title == "关于年度报告的通知"
    assert parsed.blocks[0].text.startswith("From: 张伟 <z@example.com>")
    assert [block.text for block in parsed.blocks[1:]] == ["一行没有写完的话。", "第二段镕。"]


def test_a_file_name_in_raw_bytes() -> None:
    head = "Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/csv\r\n"
    part = 'Content-Disposition: attachment; filename="销售数据表.csv"\r\n\r\n甲,1\r\n--b--\r\n'
    parsed = parse((head + part).encode("gb18030"), "a.eml")
    assert [section.title for section in parsed.sections[1:]] == ["销售数据表.csv"]


def test_encoded_words_cut_inside_a_character() -> None:
    subject = b"=?utf-8?Q?=E5=AD=A3?= =?utf-8?Q?=E5=BA?=\r\n =?utf-8?Q?=A6?="
    raw = b"Subject: " + subject + b"\r\nFrom: a@example.com\r\n\r\nText.\r\n"
    assert parse(raw, "a.eml").title == "季度"


def test_unknown_charsets_and_broken_parts_lose_nothing_else() -> None:
    head = b"Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    unknown = b"--b\r\nContent-Type: text/plain; charset=nonsense\r\n\r\nFirst.\r\n"
    broken = b"--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!\r\n"
    raw = head + unknown + broken + b"--b\r\nContent-Type: text/plain\r\n\r\nLast.\r\n"
    text = "\n".join(block.text for block in parse(raw, "a.eml").blocks)
    assert "First." in text
    assert "Last." in text


def test_no_mail_is_refused() -> None:
    with pytest.raises(DamagedFileError, match="this is no e-mail"):
        parse(b"\x00\x01\x02 no header here", "a.eml")


def test_outlook_message_with_its_attachment() -> None:
    path = DATA / "attachment.msg"
    assert detect(path.read_bytes(), "x") is MediaType.MSG
    parsed = parse(path)
    assert parsed.title == "Fake email with attachment"
    assert "Date: 2023-04-20 21:39 +0000" in parsed.blocks[0].text
    assert any(block.type is BlockType.LIST and "- Lots of whitespace" in block.text for block in parsed.blocks)
    assert [section.title for section in parsed.sections[1:]] == ["fake-attachment.txt"]
    assert parsed.blocks[-1].text == "Hey this is a fake attachment!"


def test_a_cut_outlook_message_fails_alone() -> None:
    with pytest.raises(DamagedFileError, match=r"cut\.msg: the message is damaged"):
        parse((DATA / "attachment.msg").read_bytes()[:6000], "cut.msg", media_type=MediaType.MSG)


def test_compressed_rtf_of_outlook() -> None:
    # The example of [MS-OXRTFCP] 4.1.1.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert compressed_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert compressed_rtf(packed[:20]) == b"{\\rtf1\\ansi\\"  # cut off: as far as it goes
