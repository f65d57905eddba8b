"""The shared code of the client's tests."""
