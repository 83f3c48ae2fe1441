"""What people changed in passages."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:

    op.add_column("files", sa.Column("edits", sa.JSON(), nullable=True))
    op.add_column("file_versions", sa.Column("edits", sa.JSON(), nullable=True))
    op.add_column("parents", sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("true")))
    op.add_column("parents", sa.Column("edited", sa.Boolean(), nullable=False, server_default=sa.text("false")))
