"""What upstream Blazar has made in a cloud for reservations that are active, by the names of its objects."""

from __future__ import annotations

from uuid import uuid4

from blazar.service.ports import Cloud, Flavor

from .upstream_rows import UpstreamRows


class UpstreamCloud:
    """Makes reservations that are active, in the cloud and in upstream's database alike."""

    def __init__(self, cloud: Cloud, rows: UpstreamRows) -> None:
        self._cloud = cloud
        self._rows = rows
        freepool = cloud.compute.find_aggregate("freepool")
        assert freepool is not None
        self.freepool = freepool.id

    def register(self, number: int, host: str) -> None:
        """Register a host, as far as that is not done yet."""
        self._rows.host(number, host)
        self._cloud.placement.ensure_reservation_provider(host)
        self._cloud.compute.add_host(self.freepool, host)

    def reserve_host(self, lease_id: str, project: str, number: int, host: str) -> str:
        """Let a lease have a whole host; return the reservation's id."""
        id_, compute = str(uuid4()), self._cloud.compute
        aggregate = compute.create_aggregate(id_, f"blazar_{id_}", {"blazar:owner": project})
        compute.remove_host(self.freepool, host)
        compute.add_host(aggregate.id, host)
        self._rows.hosts_of(lease_id, "ACTIVE", [str(number)], aggregate.id, id=id_)
        return id_

    def reserve_slots(
        self,
        lease_id: str,
        project: str,
        number: int,
        host: str,
        flavor: bool = False,
        user: Cloud | None = None,
    ) -> str:
        """Let a lease have two slots on a host, of a size or of a flavor; return the reservation's id.

        With the rights of its ``user``, its servers stay together."""
        id_ = str(uuid4())
        compute, placement = self._cloud.compute, self._cloud.placement
        group = user.compute.create_server_group(f"reservation:{id_}", "affinity") if user else None
        mark = {"affinity_id": group.id} if group else {}
        class_name = f"CUSTOM_RESERVATION_{id_.upper().replace('-', '_')}"
        own = {"aggregate_instance_extra_specs:reservation": id_, f"resources:{class_name}": "1"}
        kept = {"hw:cpu_policy": "shared", "hw:numa_nodes": "2"} if flavor else {}
        made = Flavor(
            id_, f"reservation:{id_}", 1, 512, 1, 2 if flavor else 0, 0, False, {**kept, **own, **mark}
        )
        compute.create_flavor(made)
        metadata = {"reservation": id_, "filter_tenant_id": project, "blazar:owner": project}
        aggregate = compute.create_aggregate(id_, None, {**metadata, **mark})
        placement.ensure_resource_class(class_name)
        compute.grant_flavor(id_, project)
        compute.add_host(aggregate.id, host)
        placement.set_reserved_slots(host, class_name, 2)
        put = self._rows.flavors_of if flavor else self._rows.instances_of
        put(
            lease_id,
            "ACTIVE",
            [str(number)] * 2,
            id=id_,
            affinity=True if group else None,
            aggregate_id=aggregate.id,
            server_group_id=group.id if group else None,
        )
        return id_
