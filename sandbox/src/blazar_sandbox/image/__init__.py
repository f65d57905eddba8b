"""Which images are there? Glance's part of the sandbox."""
