"""Settings of the service; the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

_PREFIX = "MULTIHOP_"


class SettingsError(ValueError):
    """A setting cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is read from ``MULTIHOP_<NAME>``."""

    weights: Path = Path("/weights")
    """Folder with ``model.onnx``, ``tokenizer.json`` and ``model.json``."""
    host: str = "127.0.0.1"
    port: int = 8090
    threads: int = 2
    """Questions that are computed at the same time, one core each."""
    max_batch: int = 64
    """Questions in one request."""
    max_waiting: int = 256
    """Requests that may wait for a thread; a further one is told to come back (503)."""
    max_body_bytes: int = 1_000_000


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment. Raises SettingsError for an unknown ``MULTIHOP_…`` or an impossible value."""
    given = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in (os.environ if environment is None else environment).items()
        if name.startswith(_PREFIX) and value
    }
    known = {each.name for each in fields(Settings)}
    if unknown := sorted(set(given) - known):
        names = ", ".join(f"{_PREFIX}{name.upper()}" for name in sorted(known))
        raise SettingsError(f"{_PREFIX}{unknown[0].upper()} is no setting of this service; there are {names}.")
    values: dict[str, object] = {}
    for name, text in given.items():
        if name in {"weights", "host"}:
            values[name] = Path(text) if name == "weights" else text
        elif text.isascii() and text.isdigit() and int(text) > 0:
            values[name] = int(text)
        else:
            raise SettingsError(f"{_PREFIX}{name.upper()} is {text!r}; give a whole number above 0.")
    return Settings(**values)  # type: ignore[arg-type]
