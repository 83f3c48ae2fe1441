"""What a vision model has not described yet, and whether it is being asked."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:

    op.add_column("files", sa.Column("undescribed", sa.Integer(), nullable=True))
    op.add_column("files", sa.Column("describing", sa.Boolean(), nullable=False, server_default=sa.false()))
