"""The history of the schema, run by alembic."""
