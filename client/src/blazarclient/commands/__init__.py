"""The commands: each class is one, both as `openstack reservation ...` and as `blazar ...`."""
