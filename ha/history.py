"""The history of allocations in the database, and the double bookings in it.

The check uses no code of the service: triggers record each version of an allocation, and one SQL statement
compares all versions that existed at the same time. Two instances may share a host; any other overlap is a
double booking."""

from __future__ import annotations

from sqlalchemy import Engine, text

TYPE = "(SELECT resource_type FROM reservations WHERE id = {}.reservation_id)"
NEW = f"NEW.id, NEW.resource_id, NEW.start_date, NEW.end_date, {TYPE.format('NEW')}"
OLD = "OLD.id, OLD.resource_id, OLD.start_date, OLD.end_date, NULL"
NOTE = "INSERT INTO ha_history (allocation_id, resource_id, start_date, end_date, resource_type, stands)"

MARIADB = (
    "CREATE TABLE ha_history (seq BIGINT AUTO_INCREMENT PRIMARY KEY, allocation_id VARCHAR(36),"
    " resource_id VARCHAR(36), start_date DATETIME(6), end_date DATETIME(6), resource_type VARCHAR(66),"
    " stands BOOLEAN)",
    f"CREATE TRIGGER ha_i AFTER INSERT ON allocations FOR EACH ROW {NOTE} VALUES ({NEW}, TRUE)",
    f"CREATE TRIGGER ha_u AFTER UPDATE ON allocations FOR EACH ROW {NOTE} VALUES ({NEW}, TRUE)",
    f"CREATE TRIGGER ha_d AFTER DELETE ON allocations FOR EACH ROW {NOTE} VALUES ({OLD}, FALSE)",
    # MariaDB runs no triggers for rows that a foreign key deletes.
    *(
        f"CREATE TRIGGER ha_{table} BEFORE DELETE ON {table} FOR EACH ROW {NOTE}"
        f" SELECT id, resource_id, start_date, end_date, NULL, FALSE FROM allocations WHERE {column} = OLD.id"
        for table, column in (("leases", "lease_id"), ("reservations", "reservation_id"))
    ),
)
POSTGRESQL = (
    "CREATE TABLE ha_history (seq BIGSERIAL PRIMARY KEY, allocation_id VARCHAR(36), resource_id VARCHAR(36),"
    " start_date TIMESTAMP, end_date TIMESTAMP, resource_type VARCHAR(66), stands BOOLEAN)",
    "CREATE FUNCTION ha_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" IF TG_OP = 'DELETE' THEN {NOTE} VALUES ({OLD}, FALSE); ELSE {NOTE} VALUES ({NEW}, TRUE); END IF;"
    " RETURN NULL; END $$",
    "CREATE TRIGGER ha_note AFTER INSERT OR UPDATE OR DELETE ON allocations"
    " FOR EACH ROW EXECUTE FUNCTION ha_note()",
)

VERSIONS = """
    SELECT allocation_id, resource_id, start_date, end_date, resource_type, stands, seq AS born,
           COALESCE(LEAD(seq) OVER (PARTITION BY allocation_id ORDER BY seq), 9223372036854775807) AS gone
    FROM ha_history
"""
DOUBLE_BOOKINGS = f"""
    WITH versions AS ({VERSIONS})
    SELECT a.resource_id, a.resource_type, a.allocation_id, a.start_date, a.end_date,
           b.resource_type, b.allocation_id, b.start_date, b.end_date
    FROM versions a JOIN versions b
      ON a.resource_id = b.resource_id AND a.allocation_id < b.allocation_id
     AND a.stands AND b.stands
     AND NOT (a.resource_type = 'virtual:instance' AND b.resource_type = 'virtual:instance')
     AND a.start_date < b.end_date AND b.start_date < a.end_date
     AND a.born < b.gone AND b.born < a.gone
"""


def begin(engine: Engine) -> None:
    """Create the triggers that record all changes of allocations from now on."""
    with engine.begin() as connection:
        for statement in POSTGRESQL if engine.dialect.name == "postgresql" else MARIADB:
            connection.exec_driver_sql(statement)


def double_bookings(engine: Engine) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(DOUBLE_BOOKINGS))]


def versions(engine: Engine) -> int:
    """Return how many versions of allocations were recorded."""
    with engine.connect() as connection:
        return int(connection.scalar(text("SELECT count(*) FROM ha_history WHERE stands")) or 0)
