"""Decisions of the router."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select

from clew.storage.records.database import Database
from clew.storage.records.tables import decisions
from clew.storage.records.values import now


class SqlDecisions:
    """Implements ``DecisionRecords``."""

    _db: Database

    def add_decision(self, kind: str, decision: Mapping[str, Any]) -> None:
        row = {"kind": kind, "created_at": now(), "decision": dict(decision)}
        with self._db.write() as connection:
            connection.execute(insert(decisions), row)

    def decisions(
        self, kind: str, *, offset: int = 0, limit: int | None = None, latest_first: bool = False
    ) -> list[Mapping[str, Any]]:
        order = decisions.c.seq.desc() if latest_first else decisions.c.seq
        query = select(decisions.c.decision).where(decisions.c.kind == kind).order_by(order)
        with self._db.read() as connection:
            return list(connection.execute(query.offset(offset).limit(limit)).scalars())
