"""The tables. The migrations make them; a test holds both to the same schema."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    FetchedValue,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

from blazar.adapters.changes import LONGEST_CHANGES
from blazar.adapters.db.types import Json, UtcDateTime

# utf8mb4_bin: names differ by case and accent as in the other databases, whatever the server's default is.
MYSQL_OPTIONS: dict[str, str] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMES)


def _table(name: str, *parts: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, *parts, **{**MYSQL_OPTIONS, **options})


def _id() -> Column[str]:
    return Column("id", String(36), primary_key=True)


def _created() -> Column[Any]:
    return Column("created_at", UtcDateTime)


def _updated() -> Column[Any]:
    return Column("updated_at", UtcDateTime)


def _lease_id() -> Column[str]:
    return Column("lease_id", String(36), ForeignKey("leases.id", ondelete="CASCADE"), nullable=False)


leases = _table(
    "leases",
    _id(),
    # Lists are sorted by it. PostgreSQL would follow the language of the database, where others do not.
    Column("name", String(255).with_variant(String(255, collation="C"), "postgresql"), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("start_date", UtcDateTime, nullable=False),
    Column("end_date", UtcDateTime, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text),
    Column("degraded", Boolean, nullable=False),
    Column("trust_id", String(64)),
    Column("revision", Integer, nullable=False),
    # The claim of the manager that works on one of the lease's events. It stands here and not on the event
    # because a lease has at most one: so taking it is one compare-and-set of one row, in every database.
    Column("claimed_event_id", String(36)),
    Column("claim_token", String(64)),
    Column("claimed_until", UtcDateTime),
    Column("reconciled_at", UtcDateTime),  # when an active lease was last compared with the cloud
    Column("quantities", Json),  # what it counts as; NULL where a version before this has stored it
    Column("expires_at", UtcDateTime),  # of an offer, which is a lease with a status of its own
    Column("waiting", Json),  # what a waiting lease needs to be planned again; else NULL
    Column("claim_by", Json),  # how soon it has to be used; NULL where it need not be
    Column("priority", String(16)),  # its class; NULL for the normal one
    Column("series_id", String(36)),  # the series that has made it, which may be gone
    Column("access_revision", Integer),  # of which other projects may use it; NULL where none ever could
    Column("start_task", String(16)),  # the type of what is started with it; NULL where nothing is
    _created(),
    _updated(),
    Index(None, "project_id", "created_at", "id"),
    # All that quotas ask of it while other requests of the project wait.
    Index(None, "project_id", "end_date", "start_date", "status", "expires_at"),
    Index(None, "project_id", "start_date", "id"),
    Index(None, "project_id", "end_date", "id"),
    Index(None, "project_id", "name", "created_at", "id"),
    Index(None, "project_id", "status", "created_at", "id"),
    Index(None, "created_at", "id"),
    Index(None, "start_date", "id"),
    Index(None, "end_date", "id"),
    Index(None, "name", "created_at", "id"),
    Index(None, "status", "created_at", "id"),
    Index(None, "status"),
    Index(None, "status", "end_date"),
    Index(None, "status", "reconciled_at"),
    Index(None, "degraded", "status"),
    Index(None, "claimed_until"),
    Index(None, "expires_at"),
    Index(None, "series_id"),
)

# Other projects that may see a lease, or change it. When the lease was made stands here besides: lists are
# sorted by it.
lease_shares = _table(
    "lease_shares",
    Column("lease_id", String(36), ForeignKey("leases.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", String(255), primary_key=True),
    Column("lease_created_at", UtcDateTime, nullable=False),
    Column("access", String(16), nullable=False),
    Column("user_id", String(255), nullable=False),
    _created(),
    _updated(),
    Index(None, "project_id", "lease_created_at", "lease_id"),
)

# The keys that clients have given to the requests that created leases. A key goes with its lease.
request_keys = _table(
    "request_keys",
    Column("project_id", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    _lease_id(),
    Index(None, "lease_id"),
)

reservations = _table(
    "reservations",
    _id(),
    _lease_id(),
    Column("position", Integer, nullable=False),
    Column("resource_id", String(36), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("parameters", Json, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text),
    Column("missing_resources", Boolean, nullable=False),
    Column("resources_changed", Boolean, nullable=False),
    Column("cloud", Json, nullable=False),
    Column("region", String(255)),  # NULL is the first region
    _created(),
    _updated(),
    Index(None, "lease_id"),
)

# No foreign key to resources: the history of a lease outlives the registration of its hosts.
allocations = _table(
    "allocations",
    _id(),
    _lease_id(),
    Column("reservation_id", String(36), ForeignKey("reservations.id", ondelete="CASCADE"), nullable=False),
    Column("resource_id", String(36), nullable=False),
    Column("start_date", UtcDateTime, nullable=False),
    Column("end_date", UtcDateTime, nullable=False),
    Column("claim", Json),  # amounts per resource class of one slot; NULL is the whole resource
    Column("slots", Integer, nullable=False),
    Column("bound", Boolean, nullable=False),
    _created(),
    Index(None, "lease_id"),
    Index(None, "reservation_id"),
    Index(None, "resource_id", "end_date"),
)

# What reservations have given up and may still have in the cloud. A table of its own, so that the version
# before does not take it for what they have.
surplus = _table(
    "surplus",
    _id(),
    _lease_id(),
    Column("reservation_id", String(36), ForeignKey("reservations.id", ondelete="CASCADE"), nullable=False),
    Column("resource_id", String(36), nullable=False),
    Column("start_date", UtcDateTime, nullable=False),
    Column("end_date", UtcDateTime, nullable=False),
    Column("claim", Json),
    Column("slots", Integer, nullable=False),
    _created(),
    Index(None, "lease_id"),
    Index(None, "reservation_id"),
    Index(None, "resource_id"),
)

events = _table(
    "events",
    _id(),
    _lease_id(),
    Column("position", Integer, nullable=False),
    Column("event_type", String(66), nullable=False),
    Column("time", UtcDateTime, nullable=False),
    Column("due", UtcDateTime, nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text),
    _created(),
    _updated(),
    Index(None, "lease_id"),
    Index(None, "status", "due", "event_type", "time", "id"),  # all that is asked of what lies ahead
)

resources = _table(
    "resources",
    _id(),
    Column("pool", String(32), nullable=False),
    Column("name", String(255), nullable=False),
    Column("facts", Json, nullable=False),
    Column("capabilities", Json, nullable=False),
    Column("traits", Json, nullable=False),
    Column("inventory", Json, nullable=False),
    Column("reservable", Boolean, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("touched_at", UtcDateTime, nullable=False),  # when the generation was raised last
    # Which leases have raised it lately (blazar.adapters.changes). A program before 0037 raises it untold.
    Column("changes", String(LONGEST_CHANGES)),
    # What the monitor says; NULL where it has nothing to say.
    Column("failure_reason", String(32)),
    Column("failed_at", UtcDateTime),
    Column("back_at", UtcDateTime),
    Column("cloud_id", String(36)),  # NULL where it is not known, and where there is none
    _created(),
    _updated(),
    # The database fills it: how many digits a number has, and 99 for another id. So numbers come in order,
    # and before texts.
    Column("digits", Integer, FetchedValue()),
    UniqueConstraint("pool", "name"),
    Index(None, "pool", "digits", "id"),
    Index(None, "pool", "touched_at"),
    Index(None, "pool", "failed_at"),
    Index(None, "pool", "cloud_id", unique=True),
)

# Work that one manager does at a time.
duties = _table(
    "duties",
    Column("name", String(64), primary_key=True),
    Column("token", String(64)),
    Column("held_until", UtcDateTime),
    Column("done_at", UtcDateTime),
)

resource_properties = _table(
    "resource_properties",
    _id(),
    Column("resource_type", String(66), nullable=False),
    Column("name", String(255), nullable=False),
    Column("private", Boolean, nullable=False),
    _created(),
    _updated(),
    UniqueConstraint("resource_type", "name"),
)

# An id must never come back: a relay removes by id what it delivered, perhaps after another one did.
outbox = _table(
    "outbox",
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("event_type", String(255), nullable=False),
    Column("payload", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("held_until", UtcDateTime),
    Column("matched", Boolean),  # NULL until it was compared with the subscriptions
    Column("delivered", Boolean),  # NULL until it was, where it is kept to be compared afterwards
    Index(None, "matched", "id"),
    Index(None, "delivered", "id"),
    sqlite_autoincrement=True,
)

# Who is told what becomes of leases. A filter that leaves all through is "".
subscriptions = _table(
    "subscriptions",
    _id(),
    Column("name", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", String(128), nullable=False),
    Column("events", Json, nullable=False),
    Column("watched_project", String(255), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("resource_type", String(66)),
    Column("status", String(16), nullable=False),
    Column("waiting", Integer, nullable=False),  # messages
    Column("is_prompt", Boolean, nullable=False),  # whether the last message was taken at once
    Column("token", String(64)),  # of the manager that has a message under way
    Column("attempts", Integer, nullable=False),
    Column("due", UtcDateTime, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("last_error", Text),
    Column("delivered_at", UtcDateTime),
    Column("suspended_at", UtcDateTime),
    Column("capacity", Json),  # the condition of a subscription to capacity; NULL of those to leases
    Column("is_low", Boolean),  # what it was told last; NULL of those to leases
    Column("back_since", UtcDateTime),
    Column("forgotten", BigInteger),  # of a stream, the last message that is no longer kept
    _created(),
    _updated(),
    Index(None, "is_low"),
    Index(None, "project_id", "created_at", "id"),
    Index(None, "watched_project", "lease_id"),
    Index(None, "waiting", "status"),
    Index(None, "status"),
)

# What waits to be sent to subscribers, and what is kept for those that ask: their url is "".
webhook_messages = _table(
    "webhook_messages",
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("subscription_id", String(36), ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False),
    # SQLite keeps texts of any length, and was not changed when the words got longer.
    Column("event", String(32).with_variant(String(16), "sqlite"), nullable=False),
    Column("document", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "subscription_id", "id"),
    Index(None, "created_at"),
    sqlite_autoincrement=True,
)

# What users are to be told by mail of their leases, and when the next mail of each of them is due.
mail_lanes = _table(
    "mail_lanes",
    Column("user_id", String(255), primary_key=True),
    Column("waiting", Integer, nullable=False),  # items
    Column("left_out", Integer, nullable=False),
    Column("due", UtcDateTime, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("token", String(64)),  # of the manager that has the mail under way
    Column("last_item", BigInteger),  # the newest one of the mail that was tried last
    Index(None, "waiting", "due"),
)
mail_items = _table(
    "mail_items",
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("user_id", String(255), nullable=False),
    Column("event", String(32), nullable=False),
    Column("document", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("due", UtcDateTime, nullable=False),  # when it was to be told first
    Index(None, "user_id", "id"),
    Index(None, "due"),
    sqlite_autoincrement=True,
)

# What users want to be told by mail, of those who have chosen.
mail_choices = _table(
    "mail_choices",
    Column("user_id", String(255), primary_key=True),
    Column("events", Json),  # NULL for what the operator has told
    Column("is_daily", Boolean, nullable=False),
)

# What leases that recur have in common. No foreign key: a lease outlives its series.
series = _table(
    "series",
    _id(),
    Column("name", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("rule", Text, nullable=False),
    Column("time_zone", String(255), nullable=False),
    Column("on_conflict", String(16), nullable=False),
    Column("occurrences", Json, nullable=False),
    Column("exceptions", Json, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Column("request", Json),  # what each lease was asked to be; NULL where a version before 0030 has made it
    Column("revision", Integer, nullable=False),
    Column("request_key", String(255)),  # what its client has given to the request that has made it
    Column("fingerprint", String(64)),
    _created(),
    _updated(),
    UniqueConstraint("project_id", "request_key"),
    Index(None, "project_id", "id"),
    Index(None, "name", "project_id", "id"),
    Index(None, "ends_at"),
)

# Calendars of leases, each read at an address with a secret in it, of which only the hash is here.
feeds = _table(
    "feeds",
    _id(),
    Column("name", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("watched_project", String(255), nullable=False),
    Column("watched_user", String(255)),  # NULL shows the leases of all users
    Column("lease_id", String(36)),  # NULL shows all leases
    Column("secret_hash", String(64), nullable=False),
    _created(),
    Index(None, "secret_hash", unique=True),
    Index(None, "project_id", "user_id"),
    Index(None, "watched_project"),
)

# Leases that were deleted before their end, while calendars are told of it. No foreign key: they are gone.
cancelled_leases = _table(
    "cancelled_leases",
    Column("lease_id", String(36), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("start_date", UtcDateTime, nullable=False),
    Column("end_date", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("cancelled_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "cancelled_at"),
    Index(None, "cancelled_at"),
)

# What usage filters are to be told of leases. No foreign key: the lease may be gone by then.
usage_reports = _table(
    "usage_reports",
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("filter", String(64), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("type", String(16), nullable=False),
    Column("documents", Json, nullable=False),
    Column("only_if_absent", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "filter", "due"),
    Index(None, "lease_id"),
    sqlite_autoincrement=True,
)

# What was taken from another database, and with which id.
imports = _table(
    "imports",
    Column("noun", String(16), primary_key=True),
    Column("source_id", String(36), primary_key=True),
    Column("target_id", String(36), nullable=False),
    Column("imported_at", UtcDateTime, nullable=False),
)

# The programs that run. What is NULL is not told by a program of another version.
services = _table(
    "services",
    _id(),
    Column("program", String(64), nullable=False),
    Column("host", String(255), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("version", String(64)),
    Column("events", Integer),
    Column("plans", Integer),
    Column("late_seconds", Float),
)

# The calls of blazar-api that change something, which a broker may deliver twice.
calls = _table("calls", _id(), Column("begun_at", UtcDateTime, nullable=False), Index(None, "begun_at"))

# The limits that projects have of their own.
quotas = _table(
    "quotas",
    Column("project_id", String(255), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("maximum", BigInteger, nullable=False),
)

# A row for each project to queue up at: a transaction that compares its use with its limits locks the row.
quota_turns = _table(
    "quota_turns",
    Column("project_id", String(255), primary_key=True),
    Column("turns", BigInteger, nullable=False),
)

# What leases have used that are removed or have become smaller. No foreign key: the lease may be gone.
spent_uses = _table(
    "spent_uses",
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("project_id", String(255), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("start_date", UtcDateTime, nullable=False),
    Column("end_date", UtcDateTime, nullable=False),
    Column("quantities", Json, nullable=False),
    Index(None, "project_id", "end_date"),
    Index(None, "end_date"),
)

# What reservations were promised and have used. No foreign key: it outlives the lease. Seconds are numbers,
# so that every database adds them up; those that are promised, known and used are times the units.
utilizations = _table(
    "utilizations",
    Column("reservation_id", String(36), primary_key=True),
    Column("lease_id", String(36), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("start_second", BigInteger, nullable=False),
    Column("until_second", BigInteger, nullable=False),
    Column("units", Integer, nullable=False),
    Column("promised", BigInteger, nullable=False),
    Column("known", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("used_now", Integer),
    Column("looked_at", UtcDateTime),
    Column("quantities_now", Json),  # by name, what is used and what is left; NULL is none
    Column("is_over", Boolean, nullable=False),
    Column("is_no_show", Boolean, nullable=False),
    Index(None, "lease_id"),
    Index(None, "is_over", "until_second"),
    Index(None, "project_id", "until_second"),
    Index(None, "until_second"),
)

# What is started with leases. No foreign key: a stack may outlive its lease for a while.
start_tasks = _table(
    "start_tasks",
    Column("lease_id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("type", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text),
    Column("request", Json),  # what the stack is made from, which may be secret; NULL when it is made
    Column("region", String(255)),
    Column("trust_id", String(64)),
    Column("stack_id", String(64)),
    Column("subscription_id", String(36)),
    Column("url", Text),
    Column("attempts", Integer, nullable=False),
    Column("asked_at", UtcDateTime),
    Column("ending_since", UtcDateTime),
    Column("is_late", Boolean, nullable=False),
    Column("due", UtcDateTime),  # NULL where nothing is left to do
    Column("revision", Integer, nullable=False),
    Column("token", String(36)),  # of the manager that has it under way
    Column("held_until", UtcDateTime),
    _created(),
    _updated(),
    Index(None, "due"),
)
