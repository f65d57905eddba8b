"""Which networks, addresses and ports are there? Neutron's part of the sandbox."""
