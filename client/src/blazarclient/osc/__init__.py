"""The plugin of the `openstack` command."""
