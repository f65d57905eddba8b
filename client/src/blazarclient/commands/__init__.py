"""The commands of `openstack reservation ...` and `blazar ...`: one class for each."""
