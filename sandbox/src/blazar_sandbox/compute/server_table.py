"""The table of servers, with indexes by host, flavor, project and server group."""

from blazar_sandbox.compute.model import Server
from blazar_sandbox.table import Index, Table


class ServerTable(Table[Server]):
    """Servers by id."""

    def __init__(self) -> None:
        super().__init__("servers", Server)
        self.on_host = Index(self, lambda row: (row.host,) if row.host else ())
        self.of_flavor = Index(self, lambda row: (row.flavor.id,))
        self.of_project = Index(self, lambda row: (row.project_id,))
        self.in_group = Index(self, lambda row: (row.group_id,) if row.group_id else ())
