"""The tables of the records, the same on SQLite and PostgreSQL.

::

    kbs ─< files ─< file_versions ─< blocks · sections · parents · children · names · questions
    conversations ─< messages · attachments          vectors · block_cache · decisions
    files ─< cache_uses

``files`` says what is published; ``file_versions`` holds one row per version that is staged or stored, and everything
a version owns hangs on that row, so that dropping a version is deleting one row. Rows are numbered by ``seq`` where
their order of arrival matters.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Constraint,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    false,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from clew.storage.records.values import storable_text

HEAD = "0009"
"""The schema revision that these tables describe: the newest file in ``migrations/versions``."""

HIDDEN = "(status <> 'completed' OR NOT enabled)"
"""Files that no search sees. Literal, because only so do both databases find the index that is made of them."""


class Characters(TypeDecorator[str]):
    """Text, compared by code point on both databases; what neither can hold is replaced (see ``storable_text``)."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable_text(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _seq() -> Column[int]:
    return Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True)


def _text(name: str, *, default: str | None = "") -> Column[str]:
    return Column(name, Characters(), nullable=False, default=default)


def _optional_json(name: str) -> Column[Any]:
    return Column(name, JSON(none_as_null=True), nullable=True)


kbs = Table(
    "kbs",
    metadata,
    Column("kb_id", Characters(), primary_key=True),
    _text("name", default=None),
    _text("created_at", default=None),
    Column("settings", JSON(), nullable=False),
    _text("embedder"),
    _text("description"),
    # Set where it holds the files attached to a conversation, and goes with it.
    Column(
        "conversation_id",
        Characters(),
        ForeignKey("conversations.conversation_id", ondelete="CASCADE"),
        nullable=True,
    ),
    Index("ix_kbs_name", "name", unique=True),
)

files = Table(
    "files",
    metadata,
    _seq(),
    _text("file_id", default=None),
    Column("kb_id", Characters(), ForeignKey("kbs.kb_id", ondelete="CASCADE"), nullable=False),
    _text("name", default=None),
    _text("media_type", default=None),
    Column("size", BigInteger(), nullable=False),
    _text("file_key", default=None),
    _text("content_hash", default=None),
    _text("status", default=None),
    Column("version", Integer(), nullable=False, default=0),
    # The version that is being written, or was written last: what an attempt writes carries its number.
    Column("writing", Integer(), nullable=False, server_default="0"),
    _text("created_at", default=None),
    _text("updated_at", default=None),
    _text("title"),
    _text("language"),
    Column("pages", Integer(), nullable=True),
    _text("reason"),
    _text("source_path"),
    Column("enabled", Boolean(), nullable=False, default=True),
    Column("progress", Double(), nullable=False, default=0.0),
    _text("stage"),
    Column("facts", JSON(), nullable=False, default=dict),
    Column("counts", JSON(), nullable=False, default=dict),
    Column("warnings", JSON(), nullable=False, default=list),
    _optional_json("changes"),
    _optional_json("edits"),
    Column("summary_status", Characters(), nullable=False, server_default="off"),
    Column("summary_done", Integer(), nullable=False, server_default="0"),
    Column("summary_total", Integer(), nullable=False, server_default="0"),
    Column("summary_model", Characters(), nullable=False, server_default=text("''")),
    Column("summary_reason", Characters(), nullable=False, server_default=text("''")),
    Column("summary_run", Integer(), nullable=False, server_default="0"),
    _optional_json("usage"),
    Column("undescribed", Integer(), nullable=True),
    Column("describing", Boolean(), nullable=False, server_default=false()),
    Index("ix_files_file_id", "file_id", unique=True),
    # The same bytes are one file of a KB, whoever adds them at the same time.
    Index("ix_files_kb_id_content_hash", "kb_id", "content_hash", unique=True),
    Index(
        "ix_files_hidden",
        "kb_id",
        "file_id",
        "version",
        "writing",
        sqlite_where=text(HIDDEN),
        postgresql_where=text(HIDDEN),
    ),
)

file_versions = Table(
    "file_versions",
    metadata,
    Column("file_id", Characters(), ForeignKey("files.file_id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer(), nullable=False),
    # What was uploaded for this version: tells a late publish from a current one, and is taken back by a restore.
    _text("name", default=None),
    _text("media_type", default=None),
    Column("size", BigInteger(), nullable=False),
    _text("file_key", default=None),
    _text("content_hash", default=None),
    # What was read from it; becomes the file's with the publish.
    _text("title"),
    _text("language"),
    Column("pages", Integer(), nullable=True),
    Column("counts", JSON(), nullable=False),
    Column("warnings", JSON(), nullable=False),
    _optional_json("changes"),
    _optional_json("edits"),
    PrimaryKeyConstraint("file_id", "version"),
)


def _version_columns() -> list[Column[Any]]:
    """Which version of which file owns a row."""
    return [Column("file_id", Characters(), nullable=False), Column("version", Integer(), nullable=False)]


def _version_keys(*primary: str) -> list[Constraint]:
    """The primary key of a row that a version owns, and what drops the row with its version."""
    return [
        PrimaryKeyConstraint(*primary),
        ForeignKeyConstraint(
            ["file_id", "version"], ["file_versions.file_id", "file_versions.version"], ondelete="CASCADE"
        ),
    ]


blocks = Table(
    "blocks",
    metadata,
    *_version_columns(),
    Column("ordinal", Integer(), nullable=False),
    _text("type", default=None),
    _text("text", default=None),
    _text("content_hash", default=None),
    Column("page", Integer(), nullable=True),
    _optional_json("bbox"),
    Column("level", Integer(), nullable=True),
    _text("section_path"),
    _optional_json("grid"),
    Column("language", Characters(), nullable=True),
    *_version_keys("file_id", "version", "ordinal"),
)

sections = Table(
    "sections",
    metadata,
    *_version_columns(),
    _text("path", default=None),
    Column("titles", JSON(), nullable=False),
    Column("level", Integer(), nullable=False),
    Column("page", Integer(), nullable=True),
    Column("summary", Characters(), nullable=True),
    Column("summary_source", Characters(), nullable=True),
    *_version_keys("file_id", "version", "path"),
)

parents = Table(
    "parents",
    metadata,
    *_version_columns(),
    _text("chunk_id", default=None),
    Column("ordinal", Integer(), nullable=False),
    _text("section_path", default=None),
    Column("section_titles", JSON(), nullable=False),
    _text("text", default=None),
    Column("tokens", Integer(), nullable=False),
    Column("page", Integer(), nullable=True),
    Column("page_end", Integer(), nullable=True),
    Column("enabled", Boolean(), nullable=False, server_default=text("true")),
    Column("edited", Boolean(), nullable=False, server_default=text("false")),
    Index("ix_parents_file_id_version_ordinal", "file_id", "version", "ordinal", unique=True),
    *_version_keys("chunk_id", "file_id", "version"),
)

children = Table(
    "children",
    metadata,
    *_version_columns(),
    _text("chunk_id", default=None),
    _text("parent_id", default=None),
    Column("ordinal", Integer(), nullable=False),
    _text("section_path", default=None),
    Column("section_titles", JSON(), nullable=False),
    _text("text", default=None),
    Column("tokens", Integer(), nullable=False),
    Column("start", Integer(), nullable=False),
    Column("end", Integer(), nullable=False),
    Column("regions", JSON(), nullable=False),
    Index("ix_children_file_id_version_ordinal", "file_id", "version", "ordinal", unique=True),
    *_version_keys("chunk_id", "file_id", "version"),
)

# One row a version: names are read all at once, into memory, and never looked up by themselves.
names = Table(
    "names",
    metadata,
    *_version_columns(),
    Column("data", LargeBinary(), nullable=False),
    *_version_keys("file_id", "version"),
)

questions = Table(
    "questions",
    metadata,
    *_version_columns(),
    _text("parent_id", default=None),
    Column("ordinal", Integer(), nullable=False),
    _text("text", default=None),
    *_version_keys("file_id", "version", "parent_id", "ordinal"),
)

conversations = Table(
    "conversations",
    metadata,
    _seq(),
    _text("conversation_id", default=None),
    _text("title"),
    _text("created_at", default=None),
    _text("updated_at", default=None),
    Column("kb_ids", JSON(), nullable=False),
    Index("ix_conversations_conversation_id", "conversation_id", unique=True),
    Index("ix_conversations_updated_at", "updated_at"),
)

messages = Table(
    "messages",
    metadata,
    _seq(),
    _text("message_id", default=None),
    Column(
        "conversation_id",
        Characters(),
        ForeignKey("conversations.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    _text("role", default=None),
    _text("content", default=None),
    _text("created_at", default=None),
    _text("status", default=None),
    Column("usage", JSON(), nullable=False),
    Index("ix_messages_message_id", "message_id", unique=True),
    Index("ix_messages_conversation_id", "conversation_id"),
)

attachments = Table(
    "attachments",
    metadata,
    _seq(),
    _text("attachment_id", default=None),
    Column(
        "conversation_id",
        Characters(),
        ForeignKey("conversations.conversation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    _text("name", default=None),
    _text("media_type", default=None),
    Column("size", BigInteger(), nullable=False),
    _text("created_at", default=None),
    Column("tokens", Integer(), nullable=False, default=0),
    Column("embedded", Boolean(), nullable=False, default=False),
    _text("skipped"),
    Index("ix_attachments_attachment_id", "attachment_id", unique=True),
    Index("ix_attachments_conversation_id", "conversation_id"),
)

vectors = Table(
    "vectors",
    metadata,
    _text("model", default=None),
    _text("key", default=None),
    Column("vector", LargeBinary(), nullable=False),
    PrimaryKeyConstraint("model", "key"),
    Index("ix_vectors_key", "key"),
)

# What models made of pieces of files, so that no piece is paid for twice.
block_cache = Table(
    "block_cache",
    metadata,
    _text("task", default=None),
    _text("model", default=None),
    _text("key", default=None),
    _text("output", default=None),
    PrimaryKeyConstraint("task", "model", "key"),
    Index("ix_block_cache_key", "key"),
)

# What files need of the two caches: what none needs any more goes with the last that did. ``version`` is a version, or
# below zero what was paid for to read or to summarise one (see cache.py).
cache_uses = Table(
    "cache_uses",
    metadata,
    Column("file_id", Characters(), ForeignKey("files.file_id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer(), nullable=False),
    _text("key", default=None),
    PrimaryKeyConstraint("file_id", "version", "key"),
    Index("ix_cache_uses_key", "key"),
)

decisions = Table(
    "decisions",
    metadata,
    _seq(),
    _text("kind", default=None),
    _text("created_at", default=None),
    Column("decision", JSON(), nullable=False),
    Index("ix_decisions_kind", "kind"),
)
