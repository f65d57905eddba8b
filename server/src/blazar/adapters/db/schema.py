"""The revision of a database's schema, and the way to another one.

From the first release on, revisions are of two kinds: *expand* adds what the new version needs and the one
before does not mind; *contract* removes, one release later, what no version uses. So two neighbouring
versions can run on one database during an upgrade."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Engine
from sqlalchemy.exc import SQLAlchemyError

from blazar.adapters.db.engine import for_writing, make_engine
from blazar.adapters.db.failures import translate
from blazar.domain.errors import CloudUnavailable

MIGRATIONS = Path(__file__).parent / "migrations"


def alembic_config(engine: Engine | None = None) -> Config:
    """Return what alembic's commands need to work on our migrations in this database."""
    config = Config(stdout=sys.stdout, output_buffer=sys.stdout)
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["engine"] = engine
    return config


def upgrade(target: str | URL | Engine, revision: str = "head") -> None:
    """Bring the database to ``revision``. Raises CloudUnavailable where the database does not answer."""

    def run(engine: Engine) -> None:
        command.upgrade(alembic_config(engine), revision)

    with_database(target, run)


def current(target: str | URL | Engine) -> str | None:
    """Return the revision that the database has; None before the first upgrade."""
    found: list[str | None] = []

    def run(engine: Engine) -> None:
        with engine.connect() as connection:
            found.append(MigrationContext.configure(connection).get_current_revision())

    with_database(target, run)
    return found[0]


def head() -> str:
    """Return the revision that this version of the service expects."""
    revision = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert revision is not None  # noqa: S101
    return revision


def known_revisions() -> frozenset[str]:
    """Return the revisions that this version knows."""
    script = ScriptDirectory.from_config(alembic_config())
    return frozenset(revision.revision for revision in script.walk_revisions())


def require(target: str | URL | Engine) -> None:
    """Check that this version can work on the database's schema.

    A revision that this version does not know is a newer one, which works as well. Raises CloudUnavailable
    where the schema is missing or too old, or where the database does not answer."""
    found, needed = current(target), head()
    if found is None or found in known_revisions() - {needed}:
        what = "no schema" if found is None else f"the schema {found}, and this version needs {needed}"
        raise CloudUnavailable(service="database", reason=f"it has {what}: run blazar-db-manage upgrade.")


def with_database(target: str | URL | Engine, run: Callable[[Engine], None]) -> None:
    """Run on an engine that may write. Raises CloudUnavailable where the database does not answer."""
    engine = target if isinstance(target, Engine) else make_engine(target)
    try:
        run(for_writing(engine))
    except SQLAlchemyError as error:
        raise translate(error) or error from error
    finally:
        if engine is not target:
            engine.dispose()
