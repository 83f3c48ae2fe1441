"""Signals of complexity in Chinese questions: what is compared, connected, chained.

Works on the units of a question: its tokens with part of speech, where an entity (a name, a 《title》, a quoted term)
is one unit, so that a 的 inside a title is no link of a chain.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from clew.text.entities import Entity, Tag

ENTITY = "ǝ"

_POLITE = re.compile(
    r"^(?:请问|想问|我想|想要?|我很|好奇|知道|知不知道|了解|清楚|记得|听说过?|晓得|谁能|能不能|能否|可以|可否"
    r"|有没有|有谁|有人|谁(?=知|了|清|记|晓)"
    r"|大家|你们|你|您|能|帮|我|一下|告诉|回答|解释|说说|说出|说|考考|麻烦|劳驾|请(?=告|说|回|列|介|教)|教|问"
    r"|是否|，|,|：)+"
)
_FINAL = re.compile(r"[？?。！!啊呀呢吧嘛哦\s]+$")
_WH = re.compile(
    r"谁|什么|甚么|啥|哪|多少|多[大高长久远深宽重]|几(?![乎何率])|何[时地人处种]|为何|如何|怎[么样]|怎样|为什么"
)
_WH_WORDS = ("什么", "哪", "啥", "多少", "几", "谁", "何", "怎")

_COMPARISON = re.compile(
    r"相比|相较|比较|对比|比起|相对于|区别|差异|差别|差距|不同(?!的?(?:颜色|类型))|异同|优劣|孰|胜过|共同点"
    r"|(?i:\bvs\b|versus)"
)
_DEGREE = re.compile(
    r"更(?!新|换|名|改|多关|进|正|衣)|(?<![同环])比[^较例赛分如方利价重]{1,14}(?:高|低|大|小|多|少|早|晚|长|短|好|快|慢"
    r"|强|弱|重|轻|贵)"
    r"|高于|低于|多于|少于|早于|晚于|大于|小于|超过|最(?:早|晚|高|低|大|小|多|少)的是(?:哪|谁)"
)
_SAME = re.compile(r"同一|相同|同样|一样|都是|共同|同时|各自|分别|双方|两者|两[家个位部人国]|[三四]者|之间|合[作唱]|均")
_TREND = re.compile(
    r"变化|趋势|走势|增减|变动|演变|历年|逐年|各年|每年|连续[两三四五多\d]|近[两三四五几\d]+年|波动"
    r"|从.{1,12}到.{1,12}年"
)
_CHOICE = re.compile(r"还是|或者?|哪(?:一)?(?:个|家|位|部|款|种|者|方|支|座|只)(?:.{0,12})(?:更|最先|较|先|早|晚)")
_PAIRS = re.compile(
    r"首先.*(?:然后|其次|再|接着)|先.{1,20}(?:再|后|然后)|如果.*(?:则|就|那么|会|能|应|怎|什么)|(?:因为"
    r"|由于).*(?:所以|因此|而|导致|什么)"
    r"|(?:虽然|尽管).*(?:但|却)|不(?:仅|但).*(?:而且|还|也)|既.{1,20}又|一边.*一边|(?:当|在).{2,30}(?:时候?|后|前)，"
    r"|即使.*(?:也|还)|只有.*才|根据.{2,60}(?:如何|怎样|分析|总结)|结合.{2,60}(?:如何|怎样|分析|总结)"
)
_ORDER = re.compile(r"之前|之后|以前|以后|前后|后来|随后|期间|先后|顺序|间隔|相隔|相差")
_REASON = re.compile(r"为什么|为何|原因|导致|影响|如何|怎样|怎么|意味着|分析|解释|说明|总结|归纳|评价")
_LIST = re.compile(
    r"哪些|哪几|有谁|有什么|有啥|列[举出]|所有|全部|都有|几[个部位种]|们$|们是|四强|成员|主演(?=是|有|$|\?|？)"
)
_ANAPHORA = re.compile(
    r"[他她它](?!们)|其(?!他|它|中|实|余|次|名)|该(?!项目)|(?:那|这)(?:个|位|所|部|家|座|本|首|种|名|支)"
)
_TYPED = re.compile(r"(?:哪|什么|啥|几)(?:一|几|两)?(?:位|名|个|部|家|座|本|首|种|支|所|款|些|国|类|条|只|场|年)?")

_HOW_MANY = re.compile(r"多[大高长久远深宽重]|(?:多少|几)(?:[位名个部家座本首种支所款集岁期届人张只]|\w{2})")

_ROLES_TEXT = """
    作者 导演 主演 编剧 父亲 母亲 爸爸 妈妈 父母 儿子 女儿 子女 孩子 妻子 丈夫 老公 老婆 配偶 夫人 前妻 前夫
    哥哥 弟弟 姐姐 妹妹
    兄弟 姐妹 兄弟姐妹 师父 师傅 徒弟 弟子 学生 老师 爷爷 奶奶 祖父 祖母 外公 外婆 孙子 孙女 外孙 外孙女 师妹
    师兄 师弟 师姐 岳父 养父
    创始人 创建者 创建人 创办人 创立者 缔造者 董事长 总裁 总经理 首席执行官 校长 院长 市长 省长 总统 首相 总理
    领袖 国家领袖 领导人 主席 书记
    会长 队长 教练 主教练 经纪人 代言人 搭档 朋友 好友 情人 恋人 未婚夫 未婚妻 敌人 对手 宿敌 偶像 男主角
    女主角 男主 女主
    指挥官 司令 代表人物 原唱 歌曲原唱 演唱者
    专辑歌手 作曲家 谱曲者 译者 设计师 设计者 发明人 发明者 发明家 女配角 男配角 创造者
    发现者 发现人 提出者 建造者 拥有者 持有者 所有者 使用者 开发商 开发者 发行商 制造商 生产商 出品公司
    发行公司 所属公司 母公司
    控股股东 大股东 出版社 制片人 制作人 主持人 母校 毕业院校 首都 省会 国歌 国花 国树 市花 市树 继任者 接班人 上司
    """
_THINGS_TEXT = """
    主角 角色 人物 演员 歌手 作曲 作词 填词 谱曲 编曲 配音 公司 子公司 股东 嘉宾 成员 毕业学校 学校 院校 国籍
    国家 出生地 籍贯 家乡 故乡
    城市 所在地 所在城市 所在国家 所在国 所属国家 地区 所属地区 下辖地区 分布区域 运动队 所属运动队 球队 俱乐部
    主场 职业
    代表作品 代表作 作品 专辑 所属专辑 歌曲 主题曲 片尾曲 登场作品 出处 隶属 隶属于 别名 别称 又称 其他名称
    本名 简称 中文名 外文名
    原料 主要原料 成分 主要食材 语言 官方语言 货币 宗教 守护星 守护神 品牌 主办单位 主管单位 开发单位 经营范围
    朝代 年代 祖先 后代
    前任 原型 前身 来源 著名景点 景点 知名校友 校友 火车站 机场 特产 民族 类型 性质 分类 类别 种类 所属系列
    上一届 下一届
    """
_TIES = ("所属", "所在", "隶属", "出品")
"""What stands before any word that then names another thing (所属线路, 所在城市)."""
_ROLE_SET = frozenset(_ROLES_TEXT.split())
_ROLES = tuple(_ROLE_SET)
_RELATION_SET = frozenset((_ROLES_TEXT + _THINGS_TEXT).split())
_RELATIONS = tuple(_RELATION_SET)
_AND = frozenset(("和", "与", "及", "以及", "跟", "同", "、", "或", "还是"))
_NEVER_JOINED = frozenset(("x", "r", "p", "d", "ul", "y"))
_EACH = re.compile(
    r"分别|各自|各是|各有|两者|(?<!^)(?:哪一?[个家边者方]|谁).{0,6}(?:更|较|最|高|低|大|小|多|少|早|晚|长|短|快|慢|强|弱|先)"
)
_COMPLETED = re.compile(
    r"(?:和|与|及|跟|同|、|或)(?:其他|另外)?(?:一[个位])?(?:谁|什么|甚么|啥|哪|何[时地人处种])|还有(?:谁|什么|哪|一)"
)
"""What is asked for is one of the things joined (波斯、印度以及哪里): a list is completed, in one place."""
_ATTRIBUTES = re.compile(
    r"(?:面积|长度|宽度|高度|身高|体重|重量|地址|位置|时间|日期|地点|年份|人口|号码|编号|代码|坐标|价格|数量"
    r"|名称|名字|网址|网站|温度"
    r"|密度|速度|大小|规模|比例|比率|[率值额数量度期费])$"
)
_PLAIN_ATTRIBUTE = re.compile(
    r".{0,3}(?:面积|长度|宽度|高度|身高|体重|重量|人口|号码|编号|代码|坐标|价格|温度|密度|速度|规模|比例|比率"
    r"|[率值额量]|年龄|定义|意思|含义"
    r"|成绩|主题|口号|官网|邮编|区号|沸点|熔点|分子式|分子量|星级|剂型|规格|票价|学制|全长)"
)
_COPULAS = frozenset(("是", "有", "为", "叫", "叫做", "叫作", "称为", "指", "包括", "分为", "等于", "达", "达到", "姓"))
_GENERIC_TEXT = """
    时候 地方 时间 类型 内容 环节 方面 部分 过程 特点 作用 功能 意义 方式 原因 东西 情况 样子 事情 人们 程度
    地点 位置 影响 问题 材料 用途
    """
_KINDS = frozenset("族语类科属目纲国州省洲市县岁")
_GENERIC = frozenset(_GENERIC_TEXT.split())
_BELONGS = re.compile(
    r"(?:所属|所在|所处|隶属|就读|任职|效力|主演|执导|毕业|出生|创立|创办|发明|写|唱|导演|创作)的.{0,1}(?!是"
    r"|有|作|$)[^的是有，]{1,8}"
)
_NOUN_TAGS = ("n", "j", "zg", "eng", "s", "vn", "i", "l", "b", "an", "g", "ent", "t", "f", "k")
_NOT_AFTER_DE = ("x", "y", "ul", "c", "p", "r", "d", "u")


@dataclass(frozen=True, slots=True)
class _Unit:
    text: str
    tag: str

    @property
    def noun(self) -> bool:
        return self.tag.startswith(_NOUN_TAGS) or self.text in _RELATION_SET


def chinese_signals(question: str, tags: Sequence[Tag], entities: Sequence[Entity]) -> dict[str, float]:
    """Raw signals (see ``features.SIGNALS``) of a question that has Chinese characters; absent means 0."""
    core = _FINAL.sub("", question)
    polite = _POLITE.match(core)
    start = polite.end() if polite and polite.end() < len(core) else 0
    asked_politely = start > 0
    core = core[start:]
    if asked_politely:
        core = core.removesuffix("吗").removesuffix("么")
    units = _units(tags, entities, start, start + len(core))
    masked = "".join(unit.text for unit in units)
    signals = _comparison_signals(masked, units) | _logic_signals(masked, asked_politely)
    return signals | _bridge_signals(masked, units)


def _units(tags: Sequence[Tag], entities: Sequence[Entity], start: int, end: int) -> list[_Unit]:
    units: list[_Unit] = []
    spans = iter([entity for entity in entities if entity.text not in _RELATION_SET])  # 出品公司 names nothing
    entity = next(spans, None)
    offset = 0
    for token, part_of_speech in tags:
        token_start, offset = offset, offset + len(token)
        if token_start < start or token_start >= end:
            continue
        while entity is not None and entity.end <= token_start:
            entity = next(spans, None)
        if entity is not None and entity.start < offset and token_start < entity.end:
            if entity.kind == "person" and token in _ROLE_SET and token_start > entity.start:
                units.append(_Unit(token, "n"))  # 吴君如老公 is taken for one name
            elif not units or units[-1].tag != "ent" or token_start <= entity.start:
                units.append(_Unit(ENTITY, "ent"))
        elif token not in '《》“”"「」『』':
            units.append(_Unit(token, part_of_speech))
    return units


def _comparison_signals(masked: str, units: Sequence[_Unit]) -> dict[str, float]:
    marker = bool(_COMPARISON.search(masked))
    degree = bool(_DEGREE.search(masked))
    named, plain = _coordination(masked, units)
    pair = bool(named or plain) and bool(marker or degree or _EACH.search(masked))
    # A pair is seen once. 人口的出生率和死亡率 asks for two things, 贸易量和价格的走势 for one.
    last_link = max((index for index, unit in enumerate(units) if unit.text == "的"), default=0)
    asked = (named or plain > last_link) and _is_short_noun_phrase(units)
    return {
        "compare_marker": float(marker),
        "compare_degree": float(degree),
        "compare_pair": float(pair),
        "compare_choice": float(bool(_CHOICE.search(masked))),
        "same": float(bool(_SAME.search(masked))),
        "trend": float(bool(_TREND.search(masked))),
        "coordination": float(named),
        "asks_pair": float(asked and not pair),
    }


def _coordination(masked: str, units: Sequence[_Unit]) -> tuple[bool, int]:
    """Whether names, times or relations are joined (美国和中国, 2021年和2022年), and where other words (0: nowhere)."""
    named, plain = "男女" in masked, 0
    if _COMPLETED.search(masked):
        return named, plain
    for place, (left, middle, right) in enumerate(zip(units, units[1:], units[2:], strict=False), 1):
        if middle.text not in _AND or left.tag in _NEVER_JOINED or right.tag in _NEVER_JOINED:
            continue
        if _names_something(left) and _names_something(right):
            named = True
        else:
            plain = place
    return named, plain


def _names_something(unit: _Unit) -> bool:
    return unit.tag in {"ent", "m"} or unit.text in _RELATION_SET


def _is_short_noun_phrase(units: Sequence[_Unit]) -> bool:
    """Whether what is joined is what is asked for (中国和美国的增速, 时间和地点), as there is hardly a verb."""
    verbs = sum(1 for unit in units if unit.tag == "v" and unit.text not in _COPULAS)
    return verbs <= 1 and len(units) <= 18 and not any(unit.text in {"，", ","} for unit in units[3:])


def _logic_signals(masked: str, asked_politely: bool) -> dict[str, float]:
    questions = len(_WH.findall(masked))
    polar = (
        (masked.endswith(("吗", "么")) and not masked.endswith(("什么", "怎么")))
        or "是否" in masked
        or "是不是" in masked
    )
    return {
        "logic_pair": float(bool(_PAIRS.search(masked))),
        "order": float(bool(_ORDER.search(masked))),
        "reason": float(bool(_REASON.search(masked))),
        "polar": float(polar and not asked_politely),
        "two_questions": float(questions >= 2),
        "clauses": min(len(re.findall("[，,；;]", masked)), 3) / 3,
        "list": float(bool(_LIST.search(masked))),
    }


def _bridge_signals(masked: str, units: Sequence[_Unit]) -> dict[str, float]:
    links = [index for index, unit in enumerate(units) if unit.text == "的" and _links_nouns(units, index)]
    chain, sure = 0, 0
    for first, second in itertools.pairwise(links):
        between = units[first + 1 : second]
        if len(between) <= 4 and all(unit.tag not in {"x", "r"} for unit in between):
            chain += 1
            sure += _ends_in_relation(between)
    sure += _BELONGS.search(masked) is not None
    sure += any(unit.text.endswith(_ROLES) and after.noun for unit, after in itertools.pairwise(units))
    # a relation without its 的, then another one: 北大现任校长的信仰, 法国国花的学名
    sure += any(
        units[link - 1].text.endswith(_ROLES) and link > 1 and units[link - 2].noun and units[link + 1].noun
        for link in links
    )
    clauses = [
        _clause_before(units, index) for index, unit in enumerate(units) if unit.text == "的" and index not in links
    ]
    described, typed = _described(units, links)
    possessed = ["".join(unit.text for unit in units[link + 1 : link + 4]) for link in links]
    plain = all(_PLAIN_ATTRIBUTE.match(phrase) for phrase in possessed)
    return {
        "possession": float(not plain),
        "chain": float(chain > 0),
        "chain_sure": float(sure > 0),
        "deeper": float(chain > 1),
        "relative": float(any(clauses)),
        "participle": float(any(unit.tag == "ent" for clause in clauses for unit in clause)),
        "described": float(described == 1),
        "described_weak": float(described == 0.5),
        "typed_answer": typed,
        "anaphora": float(bool(_ANAPHORA.search(masked))),
        "typed_question": float(_asks_for_type(units)),
    }


def _ends_in_relation(units: Sequence[_Unit]) -> bool:
    return _is_relation("".join(unit.text for unit in units))


def _is_relation(phrase: str) -> bool:
    return phrase.endswith(_RELATIONS) or (phrase.startswith(_TIES) and len(phrase) > 2)


def _links_nouns(units: Sequence[_Unit], index: int) -> bool:
    """Whether this 的 says *X's Y*. The words of an unmarked title (我为权狂的作者) may be anything there."""
    if index == 0 or index + 1 >= len(units):
        return False
    left, right = units[index - 1], units[index + 1]
    if right.tag.startswith(_NOT_AFTER_DE) and not right.noun:
        return False
    if any(_WH.match(unit.text) for unit in units[max(0, index - 3) : index]):
        return False  # 哪些类型的学校: a kind is asked for, no property of something named
    if left.noun or left.tag.startswith(("m", "q")):
        return True
    return left.tag not in {"x", "r"} and (
        right.text in _RELATION_SET or _ends_in_relation(units[index + 1 : index + 3])
    )


def _clause_before(units: Sequence[_Unit], index: int) -> Sequence[_Unit]:
    """The clause that 的 ties to a noun, 由 A 主演的电视剧, 毕业于北大的作家; empty where there is none."""
    if index == 0 or index + 1 >= len(units) or units[index + 1].tag.startswith(_NOT_AFTER_DE):
        return ()
    first = index
    while first > 0 and index - first < 10 and units[first - 1].text not in {"，", ",", "的", "是", "有", "；"}:
        first -= 1
    clause = units[first:index]
    verbs = [unit for unit in clause if (unit.tag == "v" and unit.text not in _COPULAS) or unit.text in {"由", "被"}]
    return clause if len(clause) > 1 and verbs else ()


def _described(units: Sequence[_Unit], links: Sequence[int]) -> tuple[float, float]:
    """Whether the question says something about ``X 的 R`` (whose identity is the bridge), and asks for its type.

    First value: 1 for a known relation with a predicate of its own (导演毕业于…), 0.5 for an unknown one.
    Second: 1 for 是什么/哪 + noun behind a known relation (导演是什么星座), 0.5 behind an unknown one.
    """
    starts = [link + 1 for link in links]
    bare = next(
        (index for index, unit in enumerate(units[1:], 1) if unit.text.endswith(_ROLES) and units[index - 1].noun), 0
    )
    if bare and bare not in starts:
        starts.append(bare)
    found = [_described_at(units, start) for start in starts]
    return max((first for first, _ in found), default=0.0), max((second for _, second in found), default=0.0)


def _described_at(units: Sequence[_Unit], start: int) -> tuple[float, float]:
    end = start + 1
    while end < len(units) and units[end].noun:
        end += 1
    phrase = "".join(unit.text for unit in units[start:end])
    if _ATTRIBUTES.search(phrase):
        return 0.0, 0.0
    strength = 1.0 if _is_relation(phrase) else 0.5
    rest = [unit for unit in units[end:] if unit.tag not in {"d", "ul", "x", "y"}]
    if not rest:
        asked_before = any(unit.tag == "v" and unit.text not in _COPULAS for unit in units[: start - 1])
        first_words = "".join(unit.text for unit in units[: min(2, start - 1)])
        return (strength, 0.0) if asked_before and _WH.search(first_words) else (0.0, 0.0)
    if rest[0].text in _COPULAS:
        return _said_with_copula(rest[1:], strength)
    wh = next((index for index, unit in enumerate(rest) if _WH.match(unit.text)), None)
    said_after = wh is not None and any(
        unit.tag.startswith(("v", "n")) and unit.text != "时候" for unit in rest[wh + 1 :]
    )
    if rest[0].text in {"在", "位于"} or rest[0].tag == "r" or _WH.match(rest[0].text):
        return (strength, 0.0) if said_after else (0.0, 0.0)
    return (strength, 0.0) if rest[0].tag in {"v", "p"} else (0.0, 0.0)


def _said_with_copula(rest: Sequence[_Unit], strength: float) -> tuple[float, float]:
    """Tells 的导演是什么星座 (asks for a type) and 的插画是哪位完成的 (has a predicate) from plain 的导演是谁."""
    behind = "".join(unit.text for unit in rest)
    if any(unit.tag == "v" and unit.text not in _COPULAS for unit in rest):
        return strength, 0.0
    if _HOW_MANY.match(behind):
        return 0.0, strength
    asks_type = _TYPED.match(behind) and not behind.startswith(("什么时候", "哪里", "什么时间"))
    typed = asks_type and any(_specific(unit) or unit.text in _KINDS for unit in rest[1:])
    return (0.0, strength) if typed else (0.0, 0.0)


def _specific(unit: _Unit) -> bool:
    return unit.noun and len(unit.text) > 1 and unit.text not in _GENERIC


def _asks_for_type(units: Sequence[_Unit]) -> bool:
    """哪位英国演员…, 哪些物理学家: the answer is restricted by a class."""
    for index, unit in enumerate(units[:-1]):
        if unit.tag.startswith("r") and unit.text.startswith(("哪", "什么")):
            rest = [later for later in units[index + 1 : index + 4] if later.tag not in {"m", "q"}]
            if rest and _specific(rest[0]):
                return True
    return False
