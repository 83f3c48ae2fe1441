"""Files attached to conversations, each conversation's in a knowledge base of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:

    with op.batch_alter_table("kbs") as batch:
        batch.add_column(sa.Column("conversation_id", _TEXT, nullable=True))
        batch.create_foreign_key(
            "fk_kbs_conversation_id_conversations",
            "conversations",
            ["conversation_id"],
            ["conversation_id"],
            ondelete="CASCADE",
        )
    op.create_table(
        "attachments",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("attachment_id", _TEXT, nullable=False),
        sa.Column("conversation_id", _TEXT, nullable=False),
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("media_type", _TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", _TEXT, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("embedded", sa.Boolean(), nullable=False),
        sa.Column("skipped", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_attachments"),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.conversation_id"],
            name="fk_attachments_conversation_id_conversations",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_attachments_attachment_id", "attachments", ["attachment_id"], unique=True)
    op.create_index("ix_attachments_conversation_id", "attachments", ["conversation_id"])
