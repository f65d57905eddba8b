"""Formatters of output: cells of tables, progress and the timeline, for terminals and for programs."""
