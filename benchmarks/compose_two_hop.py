"""Composes Chinese two-hop questions from two single-hop reading sets, DRCD and CMRC 2018.

    python benchmarks/compose_two_hop.py --data DATA --folder WORK --out OUT

The answer of one question is the bridge: another question, about a passage of another article, names it, and there it
is replaced by what the first question says of it (*《X》的作者是誰?* and *張三畢業於哪所大學?* become
*《X》的作者畢業於哪所大學?*). A row is ``connected`` where the second question, its bridge masked, does not find its
passage among the first two, neither by BM25 nor by vectors: these need their first hop (after the filter of MuSiQue,
Trivedi et al. 2022, "MuSiQue: Multihop Questions via Single-hop Question Composition"). The questions that a reader
kept are named in ``tests/data/two_hop_zh.txt``. Written are ``OUT/two_hop_zh.corpus.jsonl``,
``OUT/two_hop_zh.queries.jsonl`` with the kept ones, and ``OUT/two_hop_zh_rest.queries.jsonl`` with those that share no
bridge with them, unread: to fit on.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rjieba

from clew.app import Clew
from clew.evaluation.corpus import CorpusKb, open_corpus
from clew.evaluation.datasets import LabelledQuestion, Passage, read_corpus, read_queries
from clew.evaluation.runs import SINGLE_LOOK_UPS

NAME = "two_hop_zh"
KEPT = Path(__file__).parents[1] / "tests" / "data" / f"{NAME}.txt"
SETS = ("drcd", "cmrc2018")
MOST_PASSAGES = 40
"""A bridge that more passages name leads nowhere."""
FIRST = 2
MASK = "某"

_HAN = re.compile(r"[\u4e00-\u9fff]")
_MARKS = re.compile(r"[《》「」『』“”\"]|[（(].*?[)）]")
_NOT_NAMES = frozenset(("n", "v", "m", "q", "a", "d", "vn", "t", "l", "i", "an", "r", "f", "s", "b", "p", "c", "u"))

_UNIT = (
    "一?(?:個|个|位|名|條|条|座|部|本|種|种|家|所|項|项|場|场|支|隻|只|首|款|間|间|艘|片|塊|块|枚|門|门|次|屆|届|任)?"
)
_WHO = r"(?:誰|谁|何人|哪一?[個个位名]?人)"
_WHERE = r"(?:哪裡|哪里|哪兒|哪儿|哪邊|哪边|何處|何处|何地|什麼地方|什么地方|哪個地方|哪个地方)"
# Not the second half of 哪裡 or 哪邊, or of 條約 where 條 is taken for a unit.
_NOUN = r"(?P<noun>(?![約约裡里邊边時时年些樣样個个]$)[\u4e00-\u9fff]{1,6})"
_WHAT = rf"(?:哪{_UNIT}|什麼|什么|甚麼|何種|何种){_NOUN}"
_NO_SUBJECT = r"(?<![由被和與与跟向從从及是為为給给對对讓让叫使把將将於于])"
_NO_LINK = r"(?<![由被和與与跟及、，,為为是有因對对即或])"
# What may stand beside a name that is no part of a longer one.
_AFTER = frozenset(("uj", "p", "v", "vd", "d", "x", "c", "r", "f", "t", "m", "y", "u", "ud", "ug", "ul", "zg"))
_BEFORE = frozenset(("p", "v", "vd", "d", "x", "c", "r", "f", "t", "uj", "u", "y", "m"))


@dataclass(frozen=True)
class Hop:
    """A question whose answer is a name."""

    question: LabelledQuestion
    passage: Passage
    bridge: str


def described(question: str) -> str | None:
    """What a question says of its answer, as a noun phrase; None where no pattern fits."""
    text = re.sub(r"[?？。\s]+$", "", question.strip())
    if match := re.fullmatch(rf"(?P<of>.{{3,}}?)(?:是|為|为)?由{_WHO}所?(?P<did>.{{2,}}?)的?", text):
        return f"{match['did']}{match['of']}的人"
    if match := re.fullmatch(rf"(?P<of>.{{3,}}?)(?:是|為|为){_WHO}(?P<did>.{{2,}})的", text):
        return f"{match['did']}{match['of']}的人"
    asked = rf"(?:{_WHO}|什麼|什么|甚麼|何|哪{_UNIT}(?:[\u4e00-\u9fff]{{1,3}})?)"
    if match := re.fullmatch(rf"(?P<of>.{{3,}}?的.{{1,6}}|.{{3,}}[者人家])(?:是|為|为|叫|叫做|指的是){asked}", text):
        return match["of"]
    if match := re.fullmatch(
        rf"(?P<when>(?:.*[，,]|.{{2,12}}[時时年月日後后間间中])?){_NO_SUBJECT}{_WHO}(?P<did>[^，,的誰谁]{{3,}}.*)", text
    ):
        return f"{match['when']}{match['did']}的人"
    if match := re.fullmatch(rf"(?P<of>.{{4,}}?{_NO_LINK}){_WHERE}", text):
        return f"{match['of'].removesuffix('的')}的那個地方"
    if match := re.fullmatch(rf"(?P<when>(?:.*[，,])?){_WHAT}(?P<did>[於于在是被曾由][^誰谁]{{3,}})", text):
        return f"{match['when']}{match['did'].removeprefix('是')}的{match['noun']}"
    if match := re.fullmatch(rf"(?P<of>.{{4,}}?{_NO_LINK}){_WHAT}", text):
        return f"{match['of'].removesuffix('的')}的那個{match['noun']}"
    return None


def hops(questions: Sequence[LabelledQuestion], passages: dict[str, Passage]) -> Iterator[Hop]:
    for question in questions:
        name = _MARKS.sub("", question.answer).strip()
        if 2 <= len(name) <= 12 and _HAN.search(name) and not re.search(r"[\d年月日,，。、的]", name):
            tags = rjieba.tag(name)
            if len(tags) > 1 or tags[0][1] not in _NOT_NAMES:
                yield Hop(question, passages[supporting(question)], name)


def supporting(question: LabelledQuestion) -> str:
    return next(iter(question.groups[0]))


def stands_alone(name: str, text: str) -> int | None:
    """Where ``name`` stands in ``text`` as whole words that are no part of a longer name; None where it does not."""
    start = text.find(name)
    tags = rjieba.tag(text)
    before = at = 0
    kinds: dict[str, str] = {"before": "x", "after": "x"}
    borders = {0}
    for word, kind in tags:
        before, at = at, at + len(word)
        borders.add(at)
        if at == start:
            kinds["before"] = kind
        if before == start + len(name):
            kinds["after"] = kind
    whole = start >= 0 and start in borders and start + len(name) in borders
    return start if whole and kinds["before"] in _BEFORE and kinds["after"] in _AFTER else None


def composed(first: Hop, second: LabelledQuestion) -> tuple[str, str] | None:
    """The question of both, and the second one with its bridge masked."""
    start = stands_alone(first.bridge, second.question)
    phrase = described(first.question.question)
    if start is None or phrase is None or first.bridge in phrase:
        return None
    before, after = (
        second.question[:start].rstrip("《「『“"),
        second.question[start + len(first.bridge) :].lstrip("》」』”"),
    )
    return f"{before}{phrase}{after}", f"{before}{MASK}{after}"


class Shortcuts:
    """Whether a question finds a passage without its bridge."""

    def __init__(self, clew: Clew, corpus: CorpusKb) -> None:
        self._clew, self._corpus = clew, corpus

    def finds(self, question: str, passage: str) -> bool:
        return any(passage in self._ranking(question, only) for only in ("bm25", "dense"))

    def _ranking(self, question: str, only: str) -> list[str]:
        overlay = SINGLE_LOOK_UPS[only]
        hits = self._clew.search(question, kbs=[self._corpus.kb_id], mode="single", overlay=overlay).hits
        return list(dict.fromkeys(self._corpus.passage_of[hit.section_path] for hit in hits))[:FIRST]


def pairs(questions: Sequence[LabelledQuestion], passages: dict[str, Passage]) -> Iterator[tuple[Hop, Hop]]:
    """A question with the one that names its answer."""
    by_bridge: dict[str, list[Hop]] = defaultdict(list)
    for hop in hops(questions, passages):
        by_bridge[hop.bridge].append(hop)
    named = Counter(name for p in passages.values() for name in by_bridge if name in p.text or name in p.title)
    for second in questions:
        about, text = passages[supporting(second)], second.question
        names = {text[i:j] for i in range(len(text)) for j in range(i + 2, i + 13)} & by_bridge.keys()
        for name in sorted(name for name in names if named[name] <= MOST_PASSAGES and name in about.text + about.title):
            for first in by_bridge[name]:
                if first.passage.id != about.id and not (first.passage.title and first.passage.title == about.title):
                    yield first, Hop(second, about, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="Clew data folder; keeps the corpus between runs")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    corpora = [read_corpus(arguments.data / "retrieval" / f"{name}.corpus.jsonl.gz") for name in SETS]
    passages = {passage.id: passage for corpus in corpora for passage in corpus}
    questions = [q for name in SETS for q in read_queries(arguments.data / "retrieval" / f"{name}.queries.jsonl.gz")]
    rows = {}
    with Clew.open(arguments.folder) as clew:
        corpus = open_corpus(clew, NAME, list(passages.values()), on_progress=lambda *_: None)
        shortcuts = Shortcuts(clew, corpus)
        for first, second in pairs(questions, passages):
            if texts := composed(first, second.question):
                rows[f"{first.question.id}+{second.question.id}"] = {
                    "question": texts[0],
                    "answer": second.question.answer,
                    "bridge": first.bridge,
                    "supporting_ids": [first.passage.id, second.passage.id],
                    "hops": 2,
                    "type": "connected" if not shortcuts.finds(texts[1], second.passage.id) else "composed",
                    "lang": "zh",
                }
    ids = [line for line in KEPT.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]
    if missing := [id for id in ids if id not in rows]:
        raise SystemExit(f"{KEPT}: these pairs are not composed any more: {', '.join(missing)}")
    bridges = {rows[id]["bridge"] for id in ids}
    rest = [id for id, row in rows.items() if row["bridge"] not in bridges]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(
        arguments.out / f"{NAME}.corpus.jsonl",
        ({"id": p.id, "title": p.title, "text": p.text} for p in passages.values()),
    )
    write(arguments.out / f"{NAME}.queries.jsonl", ({"id": id} | rows[id] for id in ids))
    write(arguments.out / f"{NAME}_rest.queries.jsonl", ({"id": id} | rows[id] for id in rest))
    connected = sum(rows[id]["type"] == "connected" for id in ids)
    print(f"{len(rows)} composed; {len(ids)} kept, {connected} of them connected; {len(rest)} to fit on")


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
