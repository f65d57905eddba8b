"""Servers that stay in deletion, as on a compute host whose nova-compute hangs."""


class StuckServers:
    """Servers, or all servers of a host, whose deletion does not complete. A restart forgets them."""

    def __init__(self) -> None:
        self._servers: set[str] = set()
        self._hosts: set[str] = set()

    def add_server(self, server_id: str) -> None:
        """Let the deletion of one server hang; ``*`` means every server."""
        self._servers.add(server_id)

    def add_host(self, host: str) -> None:
        """Let the deletion of every server on a host hang."""
        self._hosts.add(host)

    def clear(self) -> None:
        """Let all deletions complete."""
        self._servers.clear()
        self._hosts.clear()

    def remove_server(self, server_id: str) -> None:
        """Let the deletion of one server complete."""
        self._servers.discard(server_id)

    def remove_host(self, host: str) -> None:
        """Let the deletions on a host complete."""
        self._hosts.discard(host)

    def contains(self, server_id: str, host: str) -> bool:
        """Return whether the deletion of a server on a host hangs."""
        return server_id in self._servers or host in self._hosts or "*" in self._servers

    def listed(self) -> dict[str, list[str]]:
        """Return the ids of the servers and the names of the hosts."""
        return {"servers": sorted(self._servers), "hosts": sorted(self._hosts)}
