"""The number of the attempt that writes a file, and what its last update changed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_HIDDEN = sa.text("(status <> 'completed' OR NOT enabled)")


def upgrade() -> None:

    op.add_column("files", sa.Column("writing", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE files SET writing = version + CASE WHEN status = 'processing' THEN 1 ELSE 0 END")
    op.add_column("files", sa.Column("changes", sa.JSON(), nullable=True))
    op.add_column("file_versions", sa.Column("changes", sa.JSON(), nullable=True))
    op.drop_index("ix_files_hidden", "files")
    op.create_index(
        "ix_files_hidden",
        "files",
        ["kb_id", "file_id", "version", "writing"],
        sqlite_where=_HIDDEN,
        postgresql_where=_HIDDEN,
    )
