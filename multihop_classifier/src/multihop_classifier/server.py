"""``POST /predict`` and ``GET /health``."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from multihop_classifier import FEATURE_NAMES, VERSION
from multihop_classifier.api import Answered, Health, Predictions, Problem, Question, Questions, SinglePrediction
from multihop_classifier.model import Classifier, WeightsError
from multihop_classifier.settings import Settings

Result = TypeVar("Result")


class Refused(Exception):
    """A request that is answered with ``status`` and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Weights:
    """The classifier, loaded as soon as its folder has it. Safe across threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._classifier: Classifier | None = None
        self._unusable: tuple[float, str] | None = None

    def get(self) -> Classifier:
        """Raises WeightsError where there are none, or none that work."""
        if self._classifier is None:
            with self._lock:
                if self._classifier is None:
                    self._classifier = self._load()
        return self._classifier

    def _load(self) -> Classifier:
        # Damaged weights are not read again for each request, only after they changed.
        stamp = max((each.stat().st_mtime for each in self._folder.glob("*")), default=0.0)
        if self._unusable and self._unusable[0] == stamp:
            raise WeightsError(self._unusable[1])
        try:
            return Classifier.load(self._folder)
        except WeightsError as error:
            self._unusable = stamp, str(error)
            raise


class Workers:
    """As many threads as questions may be computed at the same time, and a bounded queue before them."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "predict")
        self._most = threads + waiting
        self._pending = 0  # touched by the event loop only

    async def run(self, work: Callable[[], Result]) -> Result:
        """Raises Refused (503) if too many wait already."""
        if self._pending >= self._most:
            raise Refused(503, "Too many requests are waiting; ask again in a moment.")
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._pending -= 1

    def close(self) -> None:
        """Waits for what is being computed."""
        self._pool.shutdown()


def create_app(settings: Settings) -> FastAPI:
    """The service; it starts without weights and says so."""
    weights = Weights(settings.weights)
    workers = Workers(settings.threads, settings.max_waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with suppress(WeightsError):  # /health tells
            weights.get()
        yield
        workers.close()

    app = FastAPI(title="Multi-hop classifier", version=VERSION, redoc_url=None, lifespan=lifespan)
    _add_problems(app)
    problems: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (413, 422, 503)}

    @app.get("/health")
    def health() -> Health:
        try:
            card = weights.get().card
        except WeightsError as error:
            return Health(status="no_weights", message=str(error))
        message = "ready"
        if card.version.endswith("-unreviewed"):
            message = "ready; the model was trained on too few reviewed questions (-unreviewed)"
        return Health(
            status="ok",
            message=message,
            model_version=card.version,
            features_version=card.features_version,
            thresholds=card.thresholds.model_dump(),
            metrics=card.metrics,
        )

    @app.post(
        "/predict",
        responses=problems,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"anyOf": [Questions.model_json_schema(), Question.model_json_schema()]}
                    }
                },
            }
        },
    )
    async def predict(request: Request) -> Predictions | SinglePrediction:
        body = parse(await read_body(request, settings.max_body_bytes))
        questions = body.questions if isinstance(body, Questions) else [body]
        if len(questions) > settings.max_batch:
            raise Refused(
                422, f"There are {len(questions)} questions; send at most {settings.max_batch} in one request."
            )
        return await workers.run(partial(answer, body, questions, weights.get))

    return app


def answer(
    body: Question | Questions, questions: list[Question], classifier: Callable[[], Classifier]
) -> Predictions | SinglePrediction:
    """Raises Refused for features of another version, WeightsError without weights."""
    model = classifier()
    expected = model.card.features_version
    for place, each in enumerate(questions):
        if each.features_version != expected:
            raise Refused(
                422,
                f"Question {place}: its features are of version {each.features_version}, the model was trained on "
                f"version {expected}. Ask with features of that version, or train and mount a model for yours.",
            )
    answered = [_answered(model, each) for each in questions]
    if isinstance(body, Questions):
        return Predictions(predictions=answered, model_version=model.card.version, features_version=expected)
    return SinglePrediction(**answered[0].model_dump(), model_version=model.card.version, features_version=expected)


def _answered(model: Classifier, question: Question) -> Answered:
    prediction = model.predict(question.question, question.features)
    return Answered(
        label="multi" if prediction.probability >= model.card.thresholds.multi else "single",
        multi_hop_probability=prediction.probability,
        truncated=prediction.truncated,
        features=question.features,
    )


async def read_body(request: Request, limit: int) -> bytes:
    """The body. Raises Refused (413) as soon as it is longer than ``limit`` bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise Refused(413, f"The request is longer than {limit:,} bytes; send fewer or shorter questions.")
    return bytes(body)


def parse(body: bytes) -> Question | Questions:
    """One question or a batch. Raises Refused (422) that says what is wrong, and where."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(422, f"The body is not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise Refused(422, 'The body is no object; send {"questions": […]} or one question with its features.')
    kind = Questions if "questions" in value else Question
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise Refused(422, f"{where}: {problem['msg']}. Features are {', '.join(FEATURE_NAMES)}.") from error


def _add_problems(app: FastAPI) -> None:
    def problem(status: int, message: str) -> JSONResponse:
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse({"message": message}, status_code=status, headers=headers)

    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> JSONResponse:
        return problem(error.status, str(error))

    @app.exception_handler(WeightsError)
    def no_weights(_: Request, error: WeightsError) -> JSONResponse:
        return problem(503, str(error))
