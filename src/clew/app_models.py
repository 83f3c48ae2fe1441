"""Settings → models: the one place that names their backends; whether each of them works, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clew.config import ChatSettings, ComplexitySettings, RerankerSettings, Settings
from clew.errors import ClewError, SettingsError
from clew.models.base import ChatMessage, ChatModel, ComplexityClassifier, Embedder, Reranker, VisionModel
from clew.models.local import embedded_embedder, onnx_embedder
from clew.retrieval.complexity.features import FEATURES_VERSION

ModelProgress = Callable[[float, str], None]
ModelPart = Literal["embedder", "chat", "enrichment", "vision", "reranker"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``clew doctor``: a part, whether it works, and what was seen or is to be done."""

    name: str
    ok: bool
    detail: str


def make_embedder(settings: Settings, data: Path, *, on_progress: ModelProgress | None = None) -> Embedder:
    """The embedder that the settings name, loaded on first use. The embedded one's model is kept in the data folder
    ``data`` unless ``models.folder`` names another. Raises SettingsError."""
    chosen = settings.models.embedder
    if chosen.kind == "openai":
        from clew.models.openai import OpenAIEmbedder  # noqa: PLC0415 - see make_classifier

        return OpenAIEmbedder(chosen)
    if chosen.kind == "onnx":
        return onnx_embedder(
            Path(chosen.path),
            query_prefix=chosen.query_prefix,
            passage_prefix=chosen.passage_prefix,
            max_tokens=chosen.max_tokens,
        )
    folder = Path(settings.models.folder or data / "models")
    return embedded_embedder(folder, on_progress=on_progress)


def make_chat(settings: ChatSettings, setting: str = "models.chat") -> ChatModel | None:
    """The chat model that the settings under the path ``setting`` name, or None."""
    if not settings.url:
        return None
    from clew.models.openai import OpenAIChatModel  # noqa: PLC0415 - see make_classifier

    return OpenAIChatModel(settings, setting=setting)


def make_vision(settings: ChatSettings) -> VisionModel | None:
    """The vision model that the settings name, or None."""
    if not settings.url:
        return None
    from clew.models.vision import OpenAIVisionModel  # noqa: PLC0415 - see make_classifier

    return OpenAIVisionModel(settings)


def make_reranker(settings: RerankerSettings) -> Reranker | None:
    """The reranker that the settings name, or None. Raises SettingsError."""
    if settings.kind == "none":
        return None
    from clew.models.reranker import HttpReranker, OnnxReranker  # noqa: PLC0415 - see make_classifier

    if settings.kind == "onnx":
        return OnnxReranker(Path(settings.path), max_tokens=settings.max_tokens, batch_size=settings.batch_size)
    return HttpReranker(settings)


def make_classifier(settings: ComplexitySettings) -> ComplexityClassifier | None:
    """The external complexity classifier, or None where no URL is set."""
    if not settings.classifier_url:
        return None
    # Clients of model servers bring an HTTP library; without a server nobody should wait for it.
    from clew.models.classifier import HttpComplexityClassifier  # noqa: PLC0415

    return HttpComplexityClassifier(
        settings.classifier_url, features_version=FEATURES_VERSION, timeout=settings.classifier_timeout
    )


def try_model(part: ModelPart, settings: Settings, data: Path) -> Check:
    """Whether one of the models that the settings name works. Raises SettingsError."""
    models = settings.models
    match part:
        case "embedder":
            embedder = make_embedder(settings, data)
            return checked(part, lambda: _probe_embedder(embedder))
        case "reranker":
            return checked(part, lambda: _probe_reranker(make_reranker(models.reranker)))
        case "vision":
            return checked(part, lambda: _probe_vision(make_vision(models.vision)))
        case "chat":
            return checked(part, lambda: _probe_chat(make_chat(models.chat)))
        case "enrichment":
            return checked(part, lambda: _probe_chat(make_chat(models.enrichment, "models.enrichment")))


def checks_of_models(
    chat: ChatModel | None, vision: VisionModel | None, reranker: Callable[[], Reranker | None], settings: Settings
) -> list[Check]:
    """Whether the models beside the embedder work, by name. ``reranker`` may raise."""
    checks = []
    if chat is None:
        checks.append(Check("language model", True, "none configured: answers quote the documents"))
    else:
        checks.append(checked("language model", lambda: _probe_chat(chat)))
    if vision is None:
        checks.append(Check("vision model", True, "none configured: images keep the text that stands on them"))
    else:
        checks.append(checked("vision model", lambda: _probe_vision(vision)))
    checks.append(checked("text recognition", _probe_recognition))
    if settings.models.reranker.kind == "none":
        checks.append(Check("reranker", True, "none configured: passages stay in the fused order"))
    else:
        checks.append(checked("reranker", lambda: _probe_reranker(reranker())))
    return checks


def checked(name: str, probe: Callable[[], str]) -> Check:
    """One line: what the probe says, or the error that it raises."""
    try:
        return Check(name, True, probe())
    except ClewError as error:
        return Check(name, False, str(error))


def _probe_embedder(embedder: Embedder) -> str:
    vector = embedder.embed_queries(["a question"])[0]
    return f"{embedder.name}, {len(vector)} dimensions"


def _probe_chat(chat: ChatModel | None) -> str:
    if chat is None:
        raise SettingsError("No URL is given; without one there is no language model.")
    reply = chat.complete([ChatMessage("user", "Answer with the word yes.")], max_tokens=16, timeout=20)
    return f"{chat.name} answered {reply.text[:40]!r}"


def _probe_vision(vision: VisionModel | None) -> str:
    from clew.models.vision import probe_vision  # noqa: PLC0415 - see make_classifier

    if vision is None:
        raise SettingsError("No URL is given; without one there is no vision model.")
    return probe_vision(vision)


def _probe_recognition() -> str:
    from clew.indexing.parsers.recognition import probe  # noqa: PLC0415 - OpenCV is loaded where it is needed

    return probe()


def _probe_reranker(reranker: Reranker | None) -> str:
    from clew.models.reranker import probe_reranker  # noqa: PLC0415 - see make_classifier

    if reranker is None:
        raise SettingsError("The kind is none, so there is no reranker to try.")
    return probe_reranker(reranker)
