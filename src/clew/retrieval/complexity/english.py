"""Signals of complexity in English questions: what is compared, connected, chained.

Works on the question with every entity replaced by one placeholder, so that words inside names mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.text.entities import Entity

ENTITY = "ǝ"  # a letter, so that it counts as a word

_ROLES_TEXT = """
    father mother parent parents son daughter child children wife husband spouse brother sister sibling siblings uncle
    aunt cousin grandfather grandmother nephew niece stepfather stepmother father-in-law mother-in-law partner widow
    director producer writer author composer performer painter sculptor singer artist musician actor actress
    screenwriter illustrator host presenter builder teacher main_character protagonist
    creator designer architect inventor developer manufacturer publisher editor founder co-founder owner operator
    frontman drummer guitarist vocalist keyboardist lyricist songwriter cast_member discoverer predecessor successor
    namesake chairman ceo governor mayor chancellor commander coach manager captain employer victor narrator
    founders owners producers directors creators authors writers victors
    record_label label parent_company subsidiary alma_mater birthplace hometown place_of_birth place_of_death
    country_of_citizenship capital headquarters_location
    """
_THINGS_TEXT = """
    band team club league company organization organisation agency network university college school party group
    movement player president king queen emperor leader minister head members member star people person man
    woman someone
    country city town state province region county district island continent place river lake mountain stadium airport
    borough municipality village location area headquarters institution institute event era war battle tournament
    film movie book novel song album series show game play poem award character protagonist language currency religion
    nationality citizenship creature body water producers magazine newspaper building museum religion magazine
    """


def _alternatives(text: str) -> str:
    words = sorted({word.replace("_", " ") for word in text.split()}, key=len, reverse=True)
    return "(?:" + "|".join(words) + ")s?"


_ROLE = _alternatives(_ROLES_TEXT)
_RELATION = _alternatives(_ROLES_TEXT + _THINGS_TEXT)
_PREDICATE_OPENING = re.compile(
    r"^(?:(?:(?:and |so )?(?:(?:who|what|which|whose)(?:'s| is| are| was| were| became)|name|tell me|give me)"
    r"(?: also| currently| now)?|(?=(?:the |a )?\w+ (?:of|who|that)\b))(?: (?:the|a|an))?"
    r"(?: (?:(?:first|last|full|real|middle) )?names? of(?: the| a)?)?)(?: (?:[\w\-]+ ){0,2}?)?"
)
_DESCRIPTION = re.compile(
    rf"\b{_ROLE}(?: name)? (?:of|for|in)\b"
    rf"|(?<!{ENTITY} )\b{_RELATION}(?: name)? (?:that|who|where|which|whose|whom)\b"
    rf"|\b{_RELATION} (?:in|to|from|for|of|with|by|on) (?:which|whom)\b"
    rf"|(?:'s|s') (?:[\w\-]+ ){{0,2}}?{_RELATION}\b|{ENTITY} {_ROLE}\b(?! {ENTITY})"
)
_OF_CHAIN = re.compile(
    rf"\b{_ROLE}(?:'s|s') \w|"
    rf"\bof (?:the|a|an) (?:[\w\-]+ ){{0,3}}?{_RELATION}\b|(?:'s|s') (?:[\w\-]+ ){{0,2}}?{_RELATION}(?:'s|s')\b|"
    rf"(?<!aspect )(?<!part )(?<!kind )(?<!side )(?<!type )\bof (?:the |a )?{ENTITY}(?:'s|s')"
    rf" (?:\w+ ){{0,2}}?{_RELATION}\b"
)
_RELATIVE = re.compile(
    r"(?<!^)\b(?:who|that|which|whose|whom|where)(?= (?:was|is|were|are|has|had|did|does|do|can|could|the|a"
    r"|an|also|he|she|it|they|ǝ|\w+ed|\w+s|won|wrote|sang)\b)"
    r"|\b(?:in|to|from|for|of|by|with|at|on) (?:which|whom|whose)\b"
    # a clause without its pronoun: the party ǝ joined, the country ǝ is located in
    r"|\b(?:the|a|an) (?:[\w\-]+ ){1,3}?ǝ "
    r"(?:\w+ed|is|was|are|were|has|had|won|wrote|sang|held|made|led|founded|died|lives?)\b"
)
_PARTICIPLE = re.compile(
    r"\b(?!(?:report|mention|disclos|identifi|outlin|stat|announc|provid|highlight|describ)\w*ed)(?:\w+ed"
    r"|written|won|sung|held|set|made|built|known|shown|born|led|run) by\b"
    r"|\b(?:located|based|born|situated|held|released|published|founded|known|featured|filmed|named"
    r"|headquartered|considered"
    r"|formed|established|introduced|used|associated|affiliated|played|nominated|produced)"
    r" (?:in|for|as|at|on|after|to|from|with)\b"
    r"|\b(?:starring|featuring|containing|including|bordering|encompassing|housing|owning|representing|playing|using"
    r"|surrounding|serving)\b"
)
_POSSESSIVE = re.compile(r"(?:'s|s') ")
_LATE_WH = re.compile(
    r"(?:\b(?:is|was|are|were|of|in|by|for|from|to|at|on|with|as|did|does|has|called|named|,)\s+(?:the "
    r"|a )?)(?:what|which|who|whom|how many|when)\b(?! (?:is|was|are|were|has|had)\b)"
)
_ANAPHORA = re.compile(r"\b(?:his|her|its|their|he|she|they|it|this|these|him|them)\b")

_COMPARISON = re.compile(
    r"\bcompar\w+|\bversus\b|\bvs\b|\bdifferences?\b|\bdiffer\b|\bcontrast\w*|\bsimilarit\w+|\bin common\b"
    r"|\brather than\b|\bstack up\b"
)
_THAN = re.compile(
    r"\b(?:\w+er|more|less|fewer|further|worse) (?:\w+ ){0,3}?than\b|\benough\b|\bexceed\w*|\boutnumber\w*|\bat least\b"
)
_DEGREE = re.compile(
    r"\b(?:older|younger|earlier|later|longer|shorter|larger|bigger|smaller|higher|lower|closer|taller|newer"
    r"|greater|fewer|more|most|less|first|earliest|oldest|longest|latest|better|best|recently)\b"
)
_CHOICE = re.compile(
    rf"{ENTITY}[^,?]{{0,30}},? or (?:the |is |in |was )?(?:\w+ ){{0,3}}?{ENTITY}|,[^,?]{{3,60}} or [^,?]{{3,60}}\??$"
)
_BOTH = re.compile(
    r"\b(?:both|same|respectively|each other|either|neither|share|shared)\b|\b(?:two|three) of (?:the|them|these)\b"
)
_AND_PAIR = re.compile(rf"{ENTITY},? and (?:the |of |\w+ )?{ENTITY}|\bbetween\b.+\band\b")
_TREND = re.compile(
    r"\bover (?:time|the (?:years|\w+ing|reported|past|course|last (?:\w+ )?(?:years|quarters|months)))"
    r"|\bacross (?:the|these|those|all|its|multiple|various)\b"
    r"|\b(?:previous|prior|preceding|successive|past|reported|subsequent|reporting|these|those|multiple|several) "
    r"(?:\w+ )?(?:quarters|years|periods|filings|reports|10-qs|disclosures)\b"
    r"|\bquarters\b|\b10-qs\b|\bquarterly (?:reports|filings)\b|\b(?:quarter|year)[- ](?:over|to|by"
    r"|on)[- ](?:quarter|year)\b"
    r"|\bevol(?:ve|ved|ves|ving)\b|(?<!of )\bevolution of (?!what|which)|\btrends?\b|\bfluctuat\w+"
    r"|\breporting (?:timeframe|period)s?\b"
    r"|\beach (?:quarter|year|reporting|period)\b"
    r"|\bhow (?:has|have|had|did)\b.{0,60}\b(?:changed?|shift(?:ed)?|var(?:y|ied)|transform(?:ed)?)\b"
)
_KIN = re.compile(
    r"\b(?:(?:step|grand|great-grand)-?(?:father|mother|parent|child|children|son|daughter|sibling)s?"
    r"|(?:\w+)-in-law|uncle|aunt|cousin"
    r"|nephew|niece|half-(?:brother|sister)|siblings?|granddaughter|grandchild)\b"
)
_PAIRS = re.compile(
    r"\bif\b.+(?:,| then | would | will | could )|\bnot only\b.+\bbut\b|\bboth\b.+\band\b|\bfirst\b.+\bthen\b"
    r"|\bbecause\b|\balthough\b|\bwhile\b.+,"
    r"|\beither\b.+\bor\b|\bwhether\b"
)
_CLAUSE_ORDER = re.compile(
    r"(?<=\w )(?:before|after|until|since|prior to|following|when|while|during|as soon as) (?:the |a |he "
    r"|she |it |they |was |ǝ|\w+ing )"
)
_EVENT_ORDER = re.compile(
    rf"^(?:did|was|were|has|had|does|do|is)\b.+\b(?:before|after)\b (?:{ENTITY}|he|she|they|it|the)"
    rf"|\btime interval\b|\bhow (?:long|many days|much time)\b.+\b(?:between|from)\b"
)
_POLAR = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|would|will|should|has|have|had|might|may|must)(?:n't)? "
)
_WH = re.compile(r"\b(?:who|what|when|where|which|how|why|whom)\b")
_SECOND_QUESTION = re.compile(r"\band (?:\w+ )?(?:who|what|when|where|which|how|why)\b|\? \w+")
_SPECIFIC = re.compile(
    r"\d{2}|\bq[1-4]\b|^\w+ there (?:any|a)\b|\b(?:latest|recent|last|this) (?:quarter|year|month|report|filing)\b"
)
_ADVERBIAL = re.compile(r"^(?:in|for|during|at|on|since|as of|according to)\b[^,?]{3,50}, ")
_REASON = re.compile(
    r"\b(?:why|impacts?|implications?|factors?|reasons?|affect\w*|explain|summarize|describe|outline|discuss"
    r"|indicate)\b"
)
_LIST = re.compile(
    r"\b(?:list|all|what are|which of|what (?:\w+ )?(?:countries|films|movies|languages|religions|books)|names of)\b"
)
_TYPED = re.compile(
    r"^(?:in |on |at |for |from |to |by |of |with |during )?(?:what|which|whose) (?!(?:is|was|are|were|did"
    r"|does|do|has|had|kinds?|types?|year|happen\w*|came|came|comes|made|makes|percent\w*|percentage)\b)\w+"
)


def english_signals(question: str, entities: Sequence[Entity]) -> dict[str, float]:
    """Raw signals (see ``features.SIGNALS``) of an English question; absent means 0."""
    masked = mask_entities(question, entities).replace("’", "'").lower().replace(ENTITY.lower(), ENTITY).strip(" \"'")
    masked = masked.replace(f"{ENTITY}' ", f"{ENTITY}'s ")
    return _comparison_signals(masked) | _logic_signals(masked) | _bridge_signals(masked)


def mask_entities(question: str, entities: Sequence[Entity]) -> str:
    """``question`` with each entity as one placeholder."""
    parts: list[str] = []
    end = 0
    for entity in entities:
        parts += [question[end : entity.start], ENTITY]
        end = entity.end
    return "".join([*parts, question[end:]])


def english_comparison(text: str) -> float:
    """Whether an English comparison marker occurs; for Chinese questions that mix languages."""
    return float(_COMPARISON.search(text.lower()) is not None)


def _comparison_signals(masked: str) -> dict[str, float]:
    marker = bool(_COMPARISON.search(masked))
    choice = bool(_CHOICE.search(masked))
    both = bool(_BOTH.search(masked))
    degree = bool(_DEGREE.search(masked))
    return {
        "compare_marker": float(marker),
        "compare_degree": float(bool(_THAN.search(masked))),
        "compare_pair": float((choice and degree) or (both and bool(_AND_PAIR.search(masked)))),
        "compare_choice": float(choice),
        "same": float(both),
        "trend": float(bool(_TREND.search(masked))),
        "coordination": min(len(_AND_PAIR.findall(masked)), 2) / 2,
    }


def _logic_signals(masked: str) -> dict[str, float]:
    return {
        "logic_pair": float(bool(_PAIRS.search(masked))),
        "order": float(bool(_CLAUSE_ORDER.search(masked))),
        "event_order": float(bool(_EVENT_ORDER.search(masked))),
        "reason": float(bool(_REASON.search(masked))),
        "polar": float(bool(_POLAR.match(masked)) and not _SPECIFIC.search(masked)),
        "two_questions": float(bool(_SECOND_QUESTION.search(masked))),
        "clauses": min(len(re.findall("[,;]", masked)), 3) / 3,
        "list": float(bool(_LIST.search(masked))),
    }


def _bridge_signals(masked: str) -> dict[str, float]:
    descriptions = len(_DESCRIPTION.findall(masked))
    if descriptions and _is_the_answer(masked):
        descriptions -= 1
    chain = len(_OF_CHAIN.findall(masked))
    relative = len(_RELATIVE.findall(masked))
    opening = _ADVERBIAL.sub("", masked)
    late = _LATE_WH.search(opening) or (not _WH.search(opening[:25]) and not _POLAR.match(opening))
    return {
        "chain": float(bool(_POSSESSIVE.search(masked))),
        "chain_sure": float(chain > 0),
        "relative": float(relative > 0),
        "described": float(descriptions > 0),
        "deeper": float(descriptions > 1 or chain > 1 or relative > 1),
        "participle": min(len(_PARTICIPLE.findall(masked)), 2) / 2,
        "late_question": float(bool(late)),
        "kinship": float(bool(_KIN.search(masked))),
        "anaphora": float(bool(_ANAPHORA.search(masked))),
        "typed_question": float(bool(_TYPED.match(masked))),
    }


def _is_the_answer(masked: str) -> bool:
    """Whether the first description is what is asked for (*who is the author of X*): nothing hides behind it."""
    opening = _PREDICATE_OPENING.match(masked)
    first = _DESCRIPTION.search(masked)
    if opening is None or first is None:
        return False
    return re.search(r"\b(?:of|for|in|did|does|do)\b|'s", masked[opening.end() : first.start() + 1]) is None
