"""What files need of what the caches hold."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:

    op.create_index("ix_vectors_key", "vectors", ["key"])
    op.create_index("ix_block_cache_key", "block_cache", ["key"])
    op.create_table(
        "cache_uses",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("file_id", "version", "key", name="pk_cache_uses"),
        sa.ForeignKeyConstraint(["file_id"], ["files.file_id"], name="fk_cache_uses_file_id_files", ondelete="CASCADE"),
    )
    op.create_index("ix_cache_uses_key", "cache_uses", ["key"])
