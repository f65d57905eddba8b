"""Tests of the capacity: its curves, its requests, and what is printed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from blazarclient.formatting.curves import Chart, Curve, render
from blazarclient.formatting.timeline import Timeline
from blazarclient.v1.client import Client

START = datetime(2030, 1, 7, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEEK = Timeline((), START, START + 168 * HOUR, UTC)
TIMES = "--start-date 2050-01-01 --duration 1d"


def curve(name: str, total: int, *values: tuple[float, int]) -> Curve:
    starts = [START + HOUR * hours for hours, _ in values]
    told = [value for _, value in values]
    return Curve(name, total, min(told), min(told), starts, told)


def lines(*curves: Curve, width: int = 80, window: Timeline = WEEK, **options: bool) -> list[str]:
    options = {"unicode": True, "coloured": False} | options
    return [line.plain for line in render(Chart(curves, window), width, **options)]


def test_a_picture() -> None:
    hosts = curve("hosts", 8, (0, 8), (24, 5), (48, 0), (72, 1))
    assert lines(hosts, width=63) == [
        "Mon 2030-01-07 00:00 to Mon 2030-01-14 00:00 UTC",
        "       'Mon 07 'Tue 08 'Wed 09 'Thu 10 'Fri 11 'Sat 12 'Sun 13",
        "hosts │████████▅▅▅▅▅▅▅▅········▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁",
        "hosts: at least 0 of 8, 0 from start to end",
        "one column is 3h; a full bar is all of it",
    ]


def test_without_blocks_the_bars_are_digits() -> None:
    hosts = curve("hosts", 8, (0, 8), (24, 5), (48, 0), (72, 1))
    picture = lines(hosts, width=63, unicode=False)
    assert picture[2] == "hosts |" + "9" * 8 + "5" * 8 + "0" * 8 + "1" * 32
    assert picture[-1] == "one column is 3h; 9 is all of it"
    assert all(line.isascii() for line in picture)


def test_a_bar_tells_the_least_of_its_column() -> None:
    blink = curve("hosts", 8, (0, 8), (50, 2), (50.1, 8))
    assert lines(blink, width=63)[2].count("▂") == 1


def test_nearly_nothing_is_not_nothing_and_nearly_all_is_not_all() -> None:
    assert "▁" in lines(curve("a", 1000, (0, 1)))[2]
    assert "█" not in lines(curve("a", 1000, (0, 999)))[2]
    assert "·" in lines(curve("a", 0, (0, 0)))[2]


def test_nothing_has_another_colour() -> None:
    rows = render(Chart((curve("a", 2, (0, 2), (84, 0)),), WEEK), 80, unicode=True, coloured=True)
    assert {str(span.style) for span in rows[2].spans} == {"green", "bold red"}


def test_a_chart_of_nothing_says_so() -> None:
    assert lines() == ["Nothing to show: no kind of resources has a quantity."]


@given(
    st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 9)), max_size=8),
    st.integers(40, 200),
    st.integers(1, 10_000),
)
def test_no_bar_reaches_beyond_the_width(changes: list[tuple[int, int]], width: int, minutes: int) -> None:
    window = Timeline((), START, START + timedelta(minutes=minutes), UTC)
    later = sorted({at for at, _ in changes if at < minutes})
    values = [(at / 60, value) for at, (_, value) in zip(later, changes, strict=False)]
    picture = lines(curve("hosts", 9, (0, 9), *values), width=width, window=window)
    assert cell_len(picture[2]) == width


def steps(*values: tuple[str, int], **more: int) -> list[dict[str, Any]]:
    dates = {"from": "2050-01-01T{}:00:00.000000"}
    return [
        {"from": dates["from"].format(hour), "total": 4, "available": value, **more} for hour, value in values
    ]


def answer(cloud: RecordingCloud, **more: Any) -> None:
    hosts = {
        "name": "hosts",
        "resource_types": ["physical:host"],
        "minimum": 1,
        "throughout": 1,
        "steps": steps(("00", 4), ("10", 1)),
    }
    told = {
        "start_date": "2050-01-01T00:00:00.000000",
        "end_date": "2050-01-02T00:00:00.000000",
        "step": 1,
        "quantities": [hosts],
        "left_out": [],
        "density": None,
    }
    cloud.answer("GET", "/capacity", 200, {"capacity": told | more})


def test_the_question_is_sent_with_its_version(blazar: Blazar, cloud: RecordingCloud) -> None:
    answer(cloud)
    ran = blazar(
        f"capacity-show {TIMES} --step 30m --quantity hosts --resource-type physical:host --zone z1 "
        '--trait A --trait \'!B\' --resource-properties \'[">=", "$n", "5"]\' --vcpus 2 --ram 512 --disk 3'
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert (sent.method, sent.path) == ("GET", "/capacity")
    assert sent.headers["openstack-api-version"] == "reservation 1.2"
    assert dict(sent.query) == {
        "start_date": "2050-01-01 00:00",
        "end_date": "2050-01-02 00:00",
        "step": "30",
        "quantity": "hosts",
        "resource_type": "physical:host",
        "availability_zone": "z1",
        "traits": "A,!B",
        "resource_properties": '[">=", "$n", "5"]',
        "vcpus": "2",
        "memory_mb": "512",
        "disk_gb": "3",
    }


def test_without_options_it_is_asked_from_now_on(blazar: Blazar, cloud: RecordingCloud) -> None:
    answer(cloud)
    (sent,) = blazar("capacity-show --flavor m1").requests
    assert dict(sent.query) == {"start_date": "2030-01-07 08:30", "flavor_id": "m1"}


def test_the_curve_is_drawn(blazar: Blazar, cloud: RecordingCloud) -> None:
    answer(cloud, density={"minimum": 2, "throughout": 2, "steps": [{"from": "2050-01-01T00:00", "fits": 2}]})
    out = blazar(f"capacity-show {TIMES} --width 60").out
    assert "hosts   |9999" in out
    assert "hosts: at least 1 of 4, 1 from start to end" in out
    assert "servers: at least 2 of 2, 2 from start to end" in out


def test_the_capacity_for_programs(blazar: Blazar, cloud: RecordingCloud) -> None:
    answer(cloud, density={"minimum": 2, "throughout": 2, "steps": [{"from": "2050-01-01T00:00", "fits": 2}]})
    assert json.loads(blazar(f"capacity-show {TIMES} -f json").out) == [
        {"quantity": "hosts", "from": "2050-01-01T00:00+00:00", "available": 4, "total": 4},
        {"quantity": "hosts", "from": "2050-01-01T10:00+00:00", "available": 1, "total": 4},
        {"quantity": "servers", "from": "2050-01-01T00:00+00:00", "available": 2, "total": ""},
    ]
    zoned = blazar(f"capacity-show {TIMES} --time-zone Asia/Tokyo -f value -c from").out
    tokyo = datetime(2050, 1, 1, tzinfo=UTC).astimezone(ZoneInfo("Asia/Tokyo"))
    assert zoned.splitlines()[0] == tokyo.isoformat(timespec="minutes")


def test_longer_steps_and_what_is_left_out_are_told(blazar: Blazar, cloud: RecordingCloud) -> None:
    answer(cloud, step=60, left_out=["pcpu", "vgpu"])
    err = blazar(f"capacity-show {TIMES} -f json").err
    assert "Each step tells the worst of 60 minutes." in err
    assert "by --quantity: pcpu, vgpu" in err


@pytest.mark.parametrize("line", ["--start-date soon", "--duration ever", "--step x", "--vcpus many"])
def test_wrong_options_are_refused_before_anything_is_sent(blazar: Blazar, line: str) -> None:
    ran = blazar(f"capacity-show {line}")
    assert (ran.code, list(ran.requests)) == (2, [])


def test_a_service_of_an_earlier_version_is_told(blazar: Blazar, cloud: RecordingCloud) -> None:
    sentence = "Version 1.2 is not supported by the API. Minimum is 1.0 and maximum is 1.0."
    cloud.answer("GET", "/capacity", 406, {"error_message": sentence, "error": 406})
    ran = blazar("capacity-show")
    assert (ran.code, sentence in ran.err) == (1, True)


def test_a_program_asks_with_a_token(cloud: RecordingCloud, caplog: pytest.LogCaptureFixture) -> None:
    answer(cloud)
    client = Client(cloud.endpoint, "token")
    found = client.capacity.show(datetime(2050, 1, 1, tzinfo=UTC), quantity="hosts", step=None)
    assert found["quantities"][0]["minimum"] == 1
    assert dict(cloud.requests[-1].query) == {"start_date": "2050-01-01 00:00", "quantity": "hosts"}
    assert cloud.requests[-1].headers["openstack-api-version"] == "reservation 1.2"
