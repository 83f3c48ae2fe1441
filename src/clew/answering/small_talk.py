"""Messages that need no retrieval: greetings and thanks, what Clew is, and requests about the conversation itself.

Only what surely is one counts: a whole message that is a greeting, or a request that names the answer or the
conversation. Everything else is looked up, which never harms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from clew.models.base import ChatMessage
from clew.retrieval.rewriting import Turn

SmallTalk = Literal["greeting", "thanks", "about", "conversation"]
Language = Literal["zh", "en"]

_END = r"[\s!！.。~～,，、?？…]*"
_GREETING = re.compile(
    rf"(?:(?:你|您|大家)们?好|嗨|哈[喽啰]|[早晚]上?好|(?:上午|中午|下午)好|在吗|"
    rf"hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))"
    rf"(?:[\s,，]*(?:呀|啊|clew|there|everyone|again|all))?{_END}",
    re.IGNORECASE,
)
_THANKS = re.compile(
    rf"(?:(?:好的?|ok(?:ay)?|great|perfect|明白了?|知道了|懂了)[\s,，.。!！]*)?"
    rf"(?:(?:非常|太|十分|多)?(?:谢谢?|感谢)(?:你|您|了|啦)*|辛苦了|再见|拜拜|"
    rf"thanks?(?: you)?(?: (?:very|so) much| a lot)?|thx|good ?bye|bye(?: bye)?){_END}"
    rf"|(?:好的?|明白了?|知道了|懂了|ok(?:ay)?|got it|i see){_END}",
    re.IGNORECASE,
)
_ABOUT_CLEW = re.compile(
    rf"(?:请问)?(?:你|您|clew)(?:是谁|是什么|叫什么(?:名字)?|能(?:够)?(?:做|干)(?:些|点)?(?:什么|啥)|会(?:做)?(?:些)?什么|"
    rf"有(?:什么|哪些)功能|怎么用)(?:呢|呀|啊)?{_END}|(?:请)?(?:介绍一下|介绍)(?:你|您)自己{_END}|"
    rf"(?:who|what) are you{_END}|what(?:'s| is) your name{_END}|what (?:can|do) you do(?: for me)?{_END}|"
    rf"how can you help(?: me)?{_END}|what can i ask(?: you)?(?: here)?{_END}|how do i use (?:you|clew|this){_END}|"
    rf"introduce yourself{_END}",
    re.IGNORECASE,
)
_ANSWER_ZH = (
    r"(?:你|您)?(?:的|刚才|刚刚|之前|上面|上一?个|上一?条|前面|最后一?[个条]|这个|那个|这条|该)*"
    r"(?:回答|答案|回复|答复|对话|聊天)"
)
_ANSWER_EN = (
    r"(?:your|the|that|this|our) (?:(?:last|previous|above|first|latest|whole) )?"
    r"(?:answer|reply|response|conversation|chat|discussion)"
)
_ABOUT = re.compile(
    rf"(?:请|能否|可以|麻烦)?(?:你|您)?(?:再)?(?:把|将|对)?{_ANSWER_ZH}.{{0,4}}"
    rf"(?:翻译|译成|用.{{1,6}}(?:写|说|表达)|改写|重写|缩短|精简|简化|总结|概括|重复|润色|展开)|"
    rf"(?:请|帮我|再)?(?:翻译|总结|概括|重复|改写|缩短|精简|简化|润色)(?:一下|一遍)?{_ANSWER_ZH}|"
    rf"(?:请)?(?:用|翻译成|换成)(?:中文|英文|英语|日语|法语|德语)(?:再)?(?:说|讲|回答|写)一遍|"
    rf"我(?:刚才|刚刚|之前|上一?个|前面)(?:的)?(?:问|说)(?:题|了|的)?(?:是)?什么|再说一遍|"
    rf"(?:please |can you |could you )?(?:translate|summari[sz]e|repeat|rephrase|rewrite|shorten|simplify|paraphrase|"
    rf"expand|explain) {_ANSWER_EN}\b|"
    rf"(?:please |can you |could you )?(?:say|repeat|write|put) (?:that|it|this)(?: again)?"
    rf"(?: (?:in|into) (?:chinese|english|german|french|spanish|japanese|other words|one sentence|short))?|"
    rf"what (?:did|was) (?:i|my) (?:just |last |previous )?(?:ask|say|question)(?: you)?(?: before| just now)?",
    re.IGNORECASE,
)
_LAST_QUESTION = re.compile(r"我.*(?:问|说).*什么|what (?:did|was)", re.IGNORECASE)
_REPEAT = re.compile(r"(?:请)?(?:重复|再说一遍)|repeat|say (?:that|it) again$", re.IGNORECASE)

_SYSTEM = {
    "zh": (
        "你是 Clew，依据用户自己的资料回答问题的助手。这条消息不需要查资料：只根据下面的对话简短回应，"
        "用用户的语言，不要编造资料内容。"
    ),
    "en": (
        "You are Clew, an assistant that answers from the user's own documents. This message needs no look-up: respond "
        "briefly, from the conversation alone and in the user's language, and make up nothing about the documents."
    ),
}
_GREETED = {
    "zh": "你好！请就所选的资料提问，我会给出带出处的回答。",
    "en": "Hello! Ask about the selected documents, and I will answer with sources.",
}
_ABOUT_REPLY = {
    "zh": (
        "我是 Clew，根据你选定的资料回答问题：先判断该怎么查（一次、多步，或概括某一章），再去查，"
        "并给出每句话的出处和查找过程。直接提问即可，例如某个数字、某条规定，或“第三章讲了什么”。"
    ),
    "en": (
        "I am Clew. I answer questions from the documents that you select: I decide how a question has to be "
        "researched (one look-up, several, or a summary of a section), look it up, and show sources and every step. "
        "Just ask: for a figure, for a rule, or “what is chapter 3 about?”."
    ),
}
_NOTHING_ASKED = {
    "zh": "这个对话里还没有更早的问题。",
    "en": "Nothing was asked in this conversation before.",
}
_THANKED = {"zh": "不客气！还有问题可以继续问。", "en": "You are welcome! Ask on whenever you like."}
_NEEDS_MODEL = {
    "zh": "这需要语言模型来完成，而目前没有配置（设置 models.chat.url）。",
    "en": "This takes a language model, and none is configured (set models.chat.url).",
}
_LAST_WAS = {"zh": "你上一个问题是：{text}", "en": "Your last question was: {text}"}
_MAX_MESSAGE = 4000


def small_talk(message: str, history: Sequence[Turn]) -> SmallTalk | None:
    """What kind of small talk a message is; None where it has to be looked up.

    A request about the answer needs one: without an earlier answer it is a question like any other.
    """
    text = " ".join(message.split())
    if _GREETING.fullmatch(text):
        return "greeting"
    if _THANKS.fullmatch(text):
        return "thanks"
    if _ABOUT_CLEW.fullmatch(text):
        return "about"
    answered = any(turn.role == "assistant" and turn.text for turn in history)
    about = _ABOUT.match(text)
    if (answered or (about and _LAST_QUESTION.match(text))) and about and len(text) - about.end() <= 30:
        return "conversation"
    return None


def small_talk_messages(message: str, history: Sequence[Turn], language: Language) -> list[ChatMessage]:
    """What a chat model is told."""
    turns = [ChatMessage(turn.role, turn.text[:_MAX_MESSAGE]) for turn in history if turn.text]
    return [ChatMessage("system", _SYSTEM[language]), *turns, ChatMessage("user", message)]


def small_talk_reply(kind: SmallTalk, message: str, history: Sequence[Turn], language: Language) -> str:
    """The reply without a language model; says so where it takes one."""
    if kind == "greeting":
        return _GREETED[language]
    if kind == "thanks":
        return _THANKED[language]
    if kind == "about":
        return _ABOUT_REPLY[language]
    if _LAST_QUESTION.search(message):
        asked = next((turn.text for turn in reversed(history) if turn.role == "user"), "")
        return _LAST_WAS[language].format(text=asked) if asked else _NOTHING_ASKED[language]
    if _REPEAT.search(message):
        return next(turn.text for turn in reversed(history) if turn.role == "assistant" and turn.text)
    return _NEEDS_MODEL[language]
