"""The passage–entity graph as a question walks over it: from a text to the chunks that are about what it names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clew.storage.base import Records
from clew.text.names import find_names

_KBS_IN_MEMORY = 16
# A name that so many chunks carry tells nothing about which of them is meant.
MAX_TARGETS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """A chunk that is about a name."""

    kb_id: str
    chunk_id: str
    file_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text, where it stands there, and the chunks that are about it."""

    name: str
    start: int
    end: int
    targets: tuple[Target, ...]

    @property
    def quality(self) -> float:
        """How surely a target is what is meant, in (0, 1]: falls with the number of targets."""
        return float(len(self.targets) ** -0.5)


class KbNames:
    """The names of one KB's visible chunks, in memory."""

    def __init__(self, kb_id: str, files: Mapping[tuple[str, int], Mapping[str, Sequence[str]]]) -> None:
        self.files = files
        self._targets: dict[str, list[Target]] = {}
        self._names: dict[str, set[str]] = {}
        for (file_id, version), names in files.items():
            for name, chunk_ids in names.items():
                targets = self._targets.setdefault(name, [])
                targets.extend(Target(kb_id, chunk_id, file_id, version) for chunk_id in chunk_ids)
                for chunk_id in chunk_ids:
                    self._names.setdefault(chunk_id, set()).add(name)

        self._beginnings = {name[:2] for name in self._targets if not name.isascii()}

    def __contains__(self, name: str) -> bool:
        return name in self._targets

    def begins(self, characters: str) -> bool:
        """Whether a Chinese name begins with these two characters."""
        return characters in self._beginnings

    def targets(self, name: str) -> Sequence[Target]:
        """Chunks that are about ``name``."""
        return self._targets.get(name, ())

    def names_of(self, chunk_id: str) -> frozenset[str]:
        """What a chunk is about."""
        return frozenset(self._names.get(chunk_id, ()))


class NameGraph:
    """Names of all KBs that are being asked, read from the records and kept while they stay current.

    Safe to use from several threads.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._kbs: OrderedDict[str, KbNames] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, kb_ids: Sequence[str]) -> Walk:
        """What can be walked in these KBs now."""
        return Walk([self._kb(kb_id) for kb_id in kb_ids])

    def _kb(self, kb_id: str) -> KbNames:
        current = self._records.named_versions(kb_id)
        with self._lock:
            known = self._kbs.get(kb_id)
        if known is None or known.files.keys() != current:
            before = {} if known is None else known.files
            files = {key: before[key] if key in before else self._records.names(*key) for key in sorted(current)}
            known = KbNames(kb_id, files)
        with self._lock:
            self._kbs[kb_id] = known
            self._kbs.move_to_end(kb_id)
            while len(self._kbs) > _KBS_IN_MEMORY:
                self._kbs.popitem(last=False)
        return known


class Walk:
    """The names of some KBs, as one graph."""

    def __init__(self, kbs: Sequence[KbNames]) -> None:
        self._kbs = kbs

    def names_of(self, chunk_id: str) -> frozenset[str]:
        """What a chunk is about."""
        return frozenset().union(*(kb.names_of(chunk_id) for kb in self._kbs))

    def mentions(
        self,
        text: str,
        allowed: Callable[[Target], bool],
        *,
        capitals: bool = True,
        ignore: frozenset[str] = frozenset(),
    ) -> list[Mention]:
        """Names in ``text`` that allowed chunks are about, in order; those in ``ignore`` are left out.

        ``capitals``: as in :func:`clew.text.names.find_names`.
        """

        single = self._kbs[0] if len(self._kbs) == 1 else None
        known = single.__contains__ if single else self._known
        begins = single.begins if single else self._begins
        found = []
        for span in find_names(text, known, capitals=capitals, begins=begins):
            targets = tuple(t for kb in self._kbs for t in kb.targets(span.name) if allowed(t))
            if span.name not in ignore and 0 < len(targets) <= MAX_TARGETS:
                found.append(Mention(span.name, span.start, span.end, targets))
        return found

    def _known(self, name: str) -> bool:
        return any(name in kb for kb in self._kbs)

    def _begins(self, characters: str) -> bool:
        return any(kb.begins(characters) for kb in self._kbs)
