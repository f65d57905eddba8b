"""What the stories share that run against the lab."""
