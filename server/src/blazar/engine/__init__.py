"""The event engine: takes due events, works on them in parallel, and keeps its claims alive while it does."""
