"""What models were asked about files, in tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:

    op.add_column("files", sa.Column("usage", sa.JSON(), nullable=True))
