"""How blazar-api reaches blazar-manager: the typed use cases, called by name over a transport."""
