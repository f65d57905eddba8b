"""Which servers do not go away when they are deleted?"""


class Holds:
    """Servers, or all servers of a host, that a test keeps from disappearing; the cloud forgets them at a restart."""

    def __init__(self) -> None:
        self._servers: set[str] = set()
        self._hosts: set[str] = set()

    def hold_server(self, server_id: str) -> None:
        """Keep one server; ``*`` keeps all."""
        self._servers.add(server_id)

    def hold_host(self, host: str) -> None:
        """Keep the servers of a host, as a nova-compute that hangs does."""
        self._hosts.add(host)

    def release(self) -> None:
        """Let everything go."""
        self._servers.clear()
        self._hosts.clear()

    def release_server(self, server_id: str) -> None:
        """Let one server go."""
        self._servers.discard(server_id)

    def release_host(self, host: str) -> None:
        """Let the servers of a host go."""
        self._hosts.discard(host)

    def keeps(self, server_id: str, host: str) -> bool:
        """Tell whether a server may not disappear."""
        return server_id in self._servers or host in self._hosts or "*" in self._servers

    def listed(self) -> dict[str, list[str]]:
        """Tell what is kept."""
        return {"servers": sorted(self._servers), "hosts": sorted(self._hosts)}
