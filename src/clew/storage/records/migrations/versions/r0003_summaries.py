"""How far a file's summaries are, generated questions, and what models made of pieces of files."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:

    op.add_column("files", sa.Column("summary_status", _TEXT, nullable=False, server_default="off"))
    op.add_column("files", sa.Column("summary_done", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("files", sa.Column("summary_total", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("files", sa.Column("summary_model", _TEXT, nullable=False, server_default=sa.text("''")))
    op.add_column("files", sa.Column("summary_reason", _TEXT, nullable=False, server_default=sa.text("''")))
    op.add_column("files", sa.Column("summary_run", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "questions",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("parent_id", _TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("file_id", "version", "parent_id", "ordinal", name="pk_questions"),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_questions_file_id_version_file_versions",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "block_cache",
        sa.Column("task", _TEXT, nullable=False),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("output", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("task", "model", "key", name="pk_block_cache"),
    )
