"""The first tables: threads, their messages, interrupts and receipts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = ("scope", "agent", "thread")


def upgrade() -> None:
    """Create everything."""
    op.create_table(
        "agui_threads",
        *_key(),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("batch", sa.Text),
        sa.Column("lease", sa.Text),
        sa.Column("lease_ends_at", sa.Double),
        sa.Column("write_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("stop_token", sa.Text),
        sa.Column("stop_force", sa.Boolean),
        sa.Column("stop_until", sa.Double),
        sa.Column("stop_actor", sa.Text),
    )
    op.create_index("agui_threads_by_touch", "agui_threads", ["scope", "agent", "updated_at"])
    op.create_index("agui_threads_by_age", "agui_threads", ["updated_at"])
    for name, column in (("lease", "lease_ends_at"), ("stop", "stop_token")):
        present = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            f"agui_threads_by_{name}",
            "agui_threads",
            [column],
            sqlite_where=present,
            postgresql_where=present,
        )

    op.create_table(
        "agui_messages",
        *_key(),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("superseded", sa.Boolean, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        _belongs_to_thread(),
    )
    op.create_index("agui_messages_in_order", "agui_messages", [*KEY, "superseded", "position"])

    op.create_table(
        "agui_interrupts",
        *_key(),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("batch", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("raised_at", sa.Double, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        _belongs_to_thread(),
    )
    op.create_index("agui_interrupts_by_batch", "agui_interrupts", [*KEY, "batch"])
    op.create_index(
        "agui_interrupts_by_status", "agui_interrupts", ["scope", "status", "raised_at"]
    )
    op.create_index("agui_interrupts_by_expiry", "agui_interrupts", ["status", "expires_at"])

    op.create_table(
        "agui_receipts",
        *_key(),
        sa.Column("batch", sa.Text, primary_key=True),
        sa.Column("data", sa.Text, nullable=False),
        _belongs_to_thread(),
    )


def downgrade() -> None:
    """Drop everything."""
    for table in ("receipts", "interrupts", "messages", "threads"):
        op.drop_table(f"agui_{table}")


def _key() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True) for name in KEY]


def _belongs_to_thread() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        KEY, [f"agui_threads.{name}" for name in KEY], ondelete="CASCADE"
    )
