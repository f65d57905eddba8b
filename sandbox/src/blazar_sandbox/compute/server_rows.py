"""Where are the servers kept, and how are they found by host, flavor, project or group?"""

from blazar_sandbox.compute.model import Server
from blazar_sandbox.table import Index, Table


class ServerRows:
    """The table of servers with its indexes."""

    def __init__(self) -> None:
        self.table: Table[Server] = Table("servers", Server)
        self.on_host = Index(self.table, lambda row: (row.host,) if row.host else ())
        self.of_flavor = Index(self.table, lambda row: (row.flavor.id,))
        self.of_project = Index(self.table, lambda row: (row.project_id,))
        self.in_group = Index(self.table, lambda row: (row.group_id,) if row.group_id else ())
