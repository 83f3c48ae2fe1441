"""Alembic's environment (``env.py``) and the schema revisions (``versions/``); they travel in the wheel."""
