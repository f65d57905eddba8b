"""blazar-standalone as a process: how it starts, stops, is killed, and what it keeps."""
