"""What the lab adds to OpenStack's own packages."""
