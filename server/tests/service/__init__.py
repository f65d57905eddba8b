"""The use cases on the shipped in-memory adapters, with a clock that the test moves."""
