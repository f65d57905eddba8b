"""How soon leases have to be used, in lists and in files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar


def test_leases_are_listed_with_when_they_have_to_be_used(blazar: Blazar, cloud: RecordingCloud) -> None:
    listed = samples.lease(claim_by=120, claim_by_date="2050-01-01T12:00:00.000000")
    cloud.answer("GET", "/leases", 200, {"leases": [listed]})
    ran = blazar("lease-list -f value -c claim_by -c claim_by_date")
    assert ran.out == "120 2050-01-01T12:00:00.000000\n"
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.9"
    (sent,) = blazar("lease-list -f value -c id").requests
    assert sent.headers["openstack-api-version"] == "reservation 1.1"


@pytest.mark.parametrize(("given", "sent"), [("2h", 120), (45, 45), (0, 0), ("never", 0), ("default", None)])
def test_a_file_tells_how_soon_a_lease_has_to_be_used(
    blazar: Blazar, tmp_path: Path, given: object, sent: int | None
) -> None:
    path = tmp_path / "lease.yaml"
    one = {"resource_type": "physical:host", "min": 1, "max": 1}
    path.write_text(yaml.safe_dump({"name": "x", "duration": "8h", "claim_by": given, "reservations": [one]}))
    for option, expected in (("", sent), ("--claim-by 1h", 60)):
        (asked,) = blazar(f"lease-create -F {path} {option}").requests
        assert asked.body["claim_by"] == expected
