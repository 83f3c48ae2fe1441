"""The first records: knowledge bases, files and their versions, conversations, vectors, decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:

    op.create_table(
        "conversations",
        sa.Column("seq", _SEQ, autoincrement=True, nullable=False),
        sa.Column("conversation_id", _TEXT, nullable=False),
        sa.Column("title", _TEXT, nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("updated_at", _TEXT, nullable=False),
        sa.Column("kb_ids", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_conversations"),
    )
    op.create_index("ix_conversations_conversation_id", "conversations", ["conversation_id"], unique=True)
    op.create_index("ix_conversations_updated_at", "conversations", ["updated_at"], unique=False)
    op.create_table(
        "decisions",
        sa.Column("seq", _SEQ, autoincrement=True, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("decision", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_decisions"),
    )
    op.create_index("ix_decisions_kind", "decisions", ["kind"], unique=False)
    op.create_table(
        "kbs",
        sa.Column("kb_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("embedder", _TEXT, nullable=False),
        sa.Column("description", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("kb_id", name="pk_kbs"),
    )
    op.create_index("ix_kbs_name", "kbs", ["name"], unique=True)
    op.create_table(
        "vectors",
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model", "key", name="pk_vectors"),
    )
    op.create_table(
        "files",
        sa.Column("seq", _SEQ, autoincrement=True, nullable=False),
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("kb_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("media_type", _TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("file_key", _TEXT, nullable=False),
        sa.Column("content_hash", _TEXT, nullable=False),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("updated_at", _TEXT, nullable=False),
        sa.Column("title", _TEXT, nullable=False),
        sa.Column("language", _TEXT, nullable=False),
        sa.Column("pages", sa.Integer(), nullable=True),
        sa.Column("reason", _TEXT, nullable=False),
        sa.Column("source_path", _TEXT, nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("stage", _TEXT, nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["kb_id"], ["kbs.kb_id"], name="fk_files_kb_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq", name="pk_files"),
    )
    op.create_index("ix_files_file_id", "files", ["file_id"], unique=True)
    hidden = sa.text("(status <> 'completed' OR NOT enabled)")
    op.create_index(
        "ix_files_hidden", "files", ["kb_id", "file_id", "version"], sqlite_where=hidden, postgresql_where=hidden
    )
    op.create_index("ix_files_kb_id_content_hash", "files", ["kb_id", "content_hash"], unique=True)
    op.create_table(
        "messages",
        sa.Column("seq", _SEQ, autoincrement=True, nullable=False),
        sa.Column("message_id", _TEXT, nullable=False),
        sa.Column("conversation_id", _TEXT, nullable=False),
        sa.Column("role", _TEXT, nullable=False),
        sa.Column("content", _TEXT, nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("usage", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.conversation_id"],
            name="fk_messages_conversation_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("seq", name="pk_messages"),
    )
    op.create_index("ix_messages_conversation_id", "messages", ["conversation_id"], unique=False)
    op.create_index("ix_messages_message_id", "messages", ["message_id"], unique=True)
    op.create_table(
        "file_versions",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("media_type", _TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("file_key", _TEXT, nullable=False),
        sa.Column("content_hash", _TEXT, nullable=False),
        sa.Column("title", _TEXT, nullable=False),
        sa.Column("language", _TEXT, nullable=False),
        sa.Column("pages", sa.Integer(), nullable=True),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["file_id"], ["files.file_id"], name="fk_file_versions_file_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("file_id", "version", name="pk_file_versions"),
    )
    op.create_table(
        "blocks",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("type", _TEXT, nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("content_hash", _TEXT, nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("bbox", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("level", sa.Integer(), nullable=True),
        sa.Column("section_path", _TEXT, nullable=False),
        sa.Column("grid", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("language", _TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_blocks_file_id_version",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("file_id", "version", "ordinal", name="pk_blocks"),
    )
    op.create_table(
        "children",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("chunk_id", _TEXT, nullable=False),
        sa.Column("parent_id", _TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("section_path", _TEXT, nullable=False),
        sa.Column("section_titles", sa.JSON(), nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("regions", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_children_file_id_version",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("chunk_id", "file_id", "version", name="pk_children"),
    )
    op.create_index("ix_children_file_id_version_ordinal", "children", ["file_id", "version", "ordinal"], unique=True)
    op.create_table(
        "parents",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("chunk_id", _TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("section_path", _TEXT, nullable=False),
        sa.Column("section_titles", sa.JSON(), nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("page_end", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_parents_file_id_version",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("chunk_id", "file_id", "version", name="pk_parents"),
    )
    op.create_index("ix_parents_file_id_version_ordinal", "parents", ["file_id", "version", "ordinal"], unique=True)
    op.create_table(
        "sections",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("path", _TEXT, nullable=False),
        sa.Column("titles", sa.JSON(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("summary", _TEXT, nullable=True),
        sa.Column("summary_source", _TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_sections_file_id_version",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("file_id", "version", "path", name="pk_sections"),
    )
