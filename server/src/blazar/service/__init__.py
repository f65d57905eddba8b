"""The use cases: one method is one user request or one event; each loads, decides, commits."""
