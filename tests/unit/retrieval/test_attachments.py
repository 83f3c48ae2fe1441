"""Which attachments a question is about, and what is read whole."""

from __future__ import annotations

import pytest

from clew.retrieval.attachments import AttachedFile, SignalPackage, asked_about, says_this_file


def file(name: str, tokens: int = 1000, status: str = "ready") -> AttachedFile:
    return AttachedFile(name, name, "", 1, "", "context" if tokens <= 4000 else "index", tokens, status)  # type: ignore[arg-type]


def package(*files: AttachedFile) -> SignalPackage:
    ready = frozenset(f.file_id for f in files if f.status == "ready")
    return SignalPackage("c", "kb", files, ready, ready)


@pytest.mark.parametrize(
    "question",
    [
        "这个文件的营业收入是多少？", "这份报告讲了什么", "该文件的结论是什么？", "本合同的期限？", "这张图片里有什么",
        "刚上传的文件说了什么？", "最新的附件里有哪些风险？", "What does this file say?", "Summarise this PDF.",
        "What is the total in the attached file?", "Who signed the attachment?", "What does the latest document say?",
    ],
)  # fmt: skip
def test_one_attachment_is_meant(question: str) -> None:
    assert says_this_file(question)


@pytest.mark.parametrize(
    "question",
    [
        "这些文件的营业收入是多少？", "这两个文件有什么区别？", "What do these files say?", "Compare both files.",
        "What does the report of 2023 say?", "文件系统是什么？", "How do I open a file?", "What is in the attachments?",
    ],
)  # fmt: skip
def test_no_single_attachment_is_meant(question: str) -> None:
    assert not says_this_file(question)


def test_the_newest_is_meant_whatever_became_of_it() -> None:
    files = package(file("a.txt"), file("b.pdf", status="failed"))
    chosen, which = asked_about(files, "What does this file say?", 4000)
    assert ([f.name for f in chosen.files], which) == (["b.pdf"], "the newest attachment")
    assert chosen.bm25_scope == frozenset()
    assert chosen.stuff_texts == ()
    assert [f.name for f in chosen.unread] == ["b.pdf"]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What does a report.pdf say?", ["a report.pdf"]),
        ("What does A Report say about costs?", ["a report.pdf"]),
        ("年报2023里的收入？", ["年报2023.docx"]),
        ("Compare a report.pdf with 年报2023.docx", ["a report.pdf", "年报2023.docx"]),
        ("What do the reports say?", ["a report.pdf", "年报2023.docx", "b.txt"]),
        ("How many minutes did it take in 2023?", ["a report.pdf", "年报2023.docx", "b.txt"]),
        ("What about plan b?", ["a report.pdf", "年报2023.docx", "b.txt"]),
    ],
)
def test_files_are_meant_by_their_names(question: str, meant: list[str]) -> None:
    names = ["a report.pdf", "年报2023.docx", "b.txt"]
    others = [file("minutes.md"), file("2023.pdf")] if "minutes" in question else []
    files = package(*map(file, names), *others)
    meant = meant + [f.name for f in others]
    assert [f.name for f in asked_about(files, question, 4000)[0].files] == meant


def test_the_newest_small_files_are_read_whole_as_far_as_the_budget_goes() -> None:
    files = package(file("a.txt", 2500), file("b.txt", 9000), file("c.txt", 1800), file("d.txt", 2000))
    chosen, which = asked_about(files, "What do a.txt, b.txt and c.txt say?", 4000)
    assert which == "named in the question"
    assert chosen.stuff_texts == ("c.txt",)
    assert chosen.searched == {"a.txt", "b.txt"}
    chosen, _ = asked_about(files, "What do c.txt and d.txt say?", 4000)
    assert chosen.stuff_texts == ("d.txt", "c.txt")
    assert chosen.searched == frozenset()
