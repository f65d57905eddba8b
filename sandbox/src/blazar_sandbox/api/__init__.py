"""HTTP routes of every service of the sandbox, and of the sandbox itself."""
