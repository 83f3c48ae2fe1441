"""Names of what chunks are about."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:

    op.create_table(
        "names",
        sa.Column("file_id", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("file_id", "version", name="pk_names"),
        sa.ForeignKeyConstraint(
            ["file_id", "version"],
            ["file_versions.file_id", "file_versions.version"],
            name="fk_names_file_id_version_file_versions",
            ondelete="CASCADE",
        ),
    )
