"""The calls of blazar-api to blazar-manager: the typed use cases, called by name over a transport."""
