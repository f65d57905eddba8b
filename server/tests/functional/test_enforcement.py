"""Usage filters as operators configure them: over HTTP with services of both dialects, and with broken
ones."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from stevedore import ExtensionManager

from blazar.adapters.memory.cloud import MemoryCloud
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.app import make_app
from blazar.api.health import Health
from blazar.bootstrap.manager import build_dispatcher
from blazar.cmd import api, manager
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.plugins import FILTERS, list_opts, load_filters, load_plugins
from blazar.rpc.proxy import remote_service
from blazar.service.health import ThreadState
from blazar.service.ports import Report, ReportType
from blazar.service.ports.enforcement import UsageFilter

from .conftest import EXTENSIONS, House, configured, enforcer, sender
from .enforcing import CHECKS, Answer, Asked, Credits, Deciding, Plain, as_json, deciding, yes
from .personas import PERSONAS, believe
from .sandboxed import section
from .test_hanging_cloud import RPC_THREADS, RpcThreads

TOKEN = "a-token-that-no-log-may-show"
DENIED = "External service enforcement filter denied the request."
EXTERNAL = "ExternalServiceFilter"
HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
INSTANCE = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 1024,
    "disk_gb": 10,
    "amount": 2,
    "affinity": False,
    "resource_properties": "",
}
PATIENCE = 20
START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def service() -> Iterator[Deciding]:
    with deciding() as found:
        yield found


@contextmanager
def opened(
    directory: Path,
    filters: str = EXTERNAL,
    cloud: str = "",
    hosts: Sequence[str] = ("compute-1", "compute-2", "compute-3"),
    **options: Any,
) -> Iterator[House]:
    """The service, where these hosts are registered; ``options`` are those of the group enforcement."""
    text = section("database", connection=f"sqlite:///{directory}/blazar.db")
    text += section("enforcement", enabled_filters=filters, **options) + cloud
    house = House(configured(directory, text), hosts=3)
    house.manager.start()
    try:
        house.register(*hosts)
        yield house
    finally:
        house.manager.stop()
        house.database.engine.dispose()


@contextmanager
def asking(directory: Path, service: Deciding, **options: Any) -> Iterator[House]:
    with opened(directory, external_service_base_endpoint=service.url, **options) as house:
        yield house


def create(
    house: House, *reservations: Any, persona: str = "member", end: str = "2050-01-01 11:00", **fields: Any
) -> Any:
    dates = {"start_date": "2050-01-01 10:00", "end_date": end}
    body = {"name": "a", **dates, "reservations": list(reservations) or [HOST], **fields}
    return house.send("POST", "/v1/leases", persona, json=body)


def change(house: House, made: Any, **fields: Any) -> Any:
    return house.send("PUT", f"/v1/leases/{made.json['lease']['id']}", json=fields)


def leases(house: House) -> Any:
    return house.send("GET", "/v1/leases").json["leases"]


def until(fulfilled: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not fulfilled():
        assert time.monotonic() < end
        time.sleep(0.02)


# the dialects


def test_a_service_that_wants_what_upstream_sends(tmp_path: Path, service: Deciding) -> None:
    decide = service.decide = Plain(TOKEN, most_hosts=2)
    with asking(tmp_path, service, external_service_token=TOKEN) as house:
        refused = create(house, {**HOST, "min": 3, "max": 3})
        assert (refused.status_code, refused.json["error_message"]) == (400, "3 hosts are more than 2.")
        assert leases(house) == []
        made = create(house, {**HOST, "max": 2})
        assert made.status_code == 201
        grown = [{"id": made.json["lease"]["reservations"][0]["id"], "min": 3, "max": 3}]
        assert change(house, made, reservations=grown).status_code == 400
        assert leases(house) == [made.json["lease"]]
        longer = change(house, made, end_date="2050-01-01 12:00")
        assert longer.json["lease"]["end_date"] == "2050-01-01T12:00:00.000000"
        lease_id = made.json["lease"]["id"]
        assert house.send("DELETE", f"/v1/leases/{lease_id}").status_code == 204
        until(lambda: decide.ended)
    assert decide.ended == [lease_id]
    assert service.paths == [*CHECKS[:1] * 2, *CHECKS[1:] * 2, "/usage/on-end"]
    asked = service.asked[1]
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["X-Auth-Token"] == TOKEN
    assert asked.body["context"] == {
        "user_id": made.json["lease"]["user_id"],
        "project_id": made.json["lease"]["project_id"],
        "auth_url": "http://keystone.example/v3",
        "region_name": None,
    }
    (reservation,) = asked.body["lease"]["reservations"]
    assert asked.body["lease"]["status"] == "CREATING"
    assert (reservation["min"], reservation["max"]) == (1, 2)
    facts = {"vcpus", "memory_mb", "local_gb", "hypervisor_hostname", "trust_id", "reservable", "id"}
    assert all(facts <= set(allocation) for allocation in reservation["allocations"])


@pytest.mark.parametrize("reservation", [HOST, INSTANCE], ids=lambda each: each["resource_type"])
def test_a_service_that_counts_credits(tmp_path: Path, service: Deciding, reservation: Any) -> None:
    price = 8 if reservation is HOST else 2
    credits = Credits(TOKEN, credits=2 * price)
    losing = threading.Event()

    def decide(asked: Asked) -> Answer:
        answer = credits(asked)
        if asked.path == "/usage/create" and not losing.is_set():
            losing.set()
            return Answer(504)  # it was counted, and its answer is lost
        return answer

    service.decide = decide
    commits = {
        f"external_service_commit_{call}_endpoint": f"{service.url}{call}" for call in ("create", "update")
    }
    with asking(tmp_path, service, external_service_bearer_token=TOKEN, **commits) as house:
        made = create(house, reservation)
        lease_id = made.json["lease"]["id"]
        assert change(house, made, name="b", end_date="2050-01-01 12:00").status_code == 200
        until(lambda: credits.spent == {lease_id: 2 * price})
        refused = change(house, made, end_date="2050-01-01 12:01")
        assert (refused.status_code, refused.json["error_message"]) == (400, "Insufficient credits.")
        assert create(house, reservation).status_code == 400
        assert house.send("DELETE", f"/v1/leases/{lease_id}").status_code == 204
        until(lambda: not credits.spent)
        assert create(house, reservation, end="2050-01-01 12:00").status_code == 201
    assert credits.complaints == []
    assert service.paths.count("/usage/create") >= 2, "it is told again, and refuses"


def test_a_service_that_wants_our_own_token(tmp_path: Path, service: Deciding) -> None:
    told = {"external_service_own_token": True, "external_service_auth_url": "https://public.example/v3"}
    with asking(tmp_path, service, **told) as house:
        assert create(house).status_code == 201
    assert service.asked[0].headers["X-Auth-Token"] == "own-token"
    assert service.asked[0].body["context"]["auth_url"] == "https://public.example/v3"


def test_no_token_is_sent_where_none_is_set(tmp_path: Path, service: Deciding) -> None:
    with asking(tmp_path, service) as house:
        create(house)
    assert not {"X-Auth-Token", "Authorization"} & service.asked[0].headers.keys()


# answers


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"message": "Too much."}, "Too much."),
        ({"error": "Too much."}, "Too much."),
        ({"detail": "Too much."}, "Too much."),
        ({"message": "", "error": "Too much."}, "Too much."),
        ({"message": {"a": 1}, "error": ["b"]}, DENIED),
        ({"message": "a\nb\x1b[31m"}, "a b [31m"),
        ({"message": "x" * 5000}, "x" * 499 + "…"),
        ({}, DENIED),
    ],
)
def test_the_sentence_of_a_refusal(tmp_path: Path, service: Deciding, body: Any, sentence: str) -> None:
    service.decide = lambda asked: as_json(403, **body)
    with asking(tmp_path, service) as house:
        refused = create(house)
    assert (refused.status_code, refused.json["error_message"]) == (400, sentence)


HUGE = b'{"message": "' + b"x" * (2 * 1024 * 1024) + b'"}'
BROKEN: dict[str, Callable[[Deciding], Answer]] = {
    "500": lambda service: as_json(500, message="a secret of the service"),
    "200": lambda service: as_json(200, message="a secret of the service"),
    "404": lambda service: Answer(404),
    "garbage": lambda service: Answer(403, b"\xff<html>"),
    "no object": lambda service: Answer(403, b"[1]"),
    "deep": lambda service: Answer(403, b"[" * 60_000),
    "huge": lambda service: Answer(403, HUGE),
    "slow": lambda service: Answer(403, b'{"message": "a secret of the service"}', drip=0.3),
    "redirect": lambda service: Answer(307, headers={"Location": f"{service.url}elsewhere"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_is_neither_yes_nor_no_is_no(tmp_path: Path, service: Deciding, name: str) -> None:
    service.decide = lambda asked: BROKEN[name](service)
    with asking(tmp_path, service, external_service_timeout=1) as house:
        refused = create(house)
        assert (refused.status_code, refused.json["error_message"]) == (400, DENIED)
        assert leases(house) == []
    assert service.paths == ["/usage/check-create"]


def test_an_answer_that_is_neither_yes_nor_no_passes_where_the_operator_wants_it(
    tmp_path: Path, service: Deciding
) -> None:
    service.decide = lambda asked: BROKEN["500"](service)
    with asking(tmp_path, service, external_service_fail_open=True) as house:
        assert create(house).status_code == 201
        service.decide = lambda asked: as_json(403, message="Too much.")
        assert create(house).status_code == 400


@contextmanager
def hanging(service: Deciding) -> Iterator[None]:
    service.decide = service.hang
    service.answers_again.clear()
    yield
    service.decide = yes
    service.answers_again.set()


@contextmanager
def gone(service: Deciding) -> Iterator[None]:
    service.decide = lambda asked: (_ for _ in ()).throw(ConnectionResetError())
    yield
    service.decide = yes


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("trouble", [hanging, gone])
def test_a_service_without_an_answer_allows_only_what_takes_less(
    tmp_path: Path, service: Deciding, trouble: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with asking(tmp_path, service, external_service_timeout=0.5) as house:
        made = create(house)
        with trouble(service):
            began = time.monotonic()
            refused = create(house)
            assert time.monotonic() - began < 3
            assert refused.status_code == 503
            assert int(refused.headers["Retry-After"]) > 0
            sentence = "The enforcement service is not available. Please try again."
            assert refused.json["error_message"] == sentence
            told = create(house, persona="admin").json["error_message"]
            assert "check_create has no answer" in told
            assert "127.0.0.1" not in told
            assert change(house, made, end_date="2050-01-01 12:00").status_code == 503
            assert change(house, made, end_date="2050-01-01 10:30").status_code == 200
            assert len(leases(house)) == 1
        assert create(house).status_code == 201


def test_a_service_without_an_answer_allows_all_where_the_operator_wants_it(
    tmp_path: Path, service: Deciding
) -> None:
    open_ = {"external_service_fail_open": True, "external_service_timeout": 0.3}
    with asking(tmp_path, service, **open_) as house, hanging(service):
        assert create(house).status_code == 201


def test_a_service_that_hangs_holds_up_no_other_request(tmp_path: Path, service: Deciding) -> None:
    cloud = section("cloud", calls_at_once=2)
    with asking(tmp_path, service, cloud=cloud, external_service_timeout=30) as house:
        calls = RpcThreads(build_dispatcher(house.manager, PrometheusMetrics()))
        app = make_app(
            remote_service(calls, house.manager.codec),
            load_plugins(configured(tmp_path)).kinds,
            EXTENSIONS,
            enforcer(configured(tmp_path)),
            conf=configured(tmp_path),
            authenticate=believe,
            health=lambda: Health(healthy=True),
        )
        house.send = sender(app)
        made = create(house)
        with ThreadPoolExecutor(3 * RPC_THREADS) as clients:
            with hanging(service):
                waiting = [clients.submit(create, house) for _ in range(3 * RPC_THREADS)]
                until(lambda: len(service.asked) == 3)  # two wait for the answer
                until(lambda: len([each for each in waiting if each.done()]) == len(waiting) - 2)
                assert len(leases(house)) == 1
                assert house.send("DELETE", f"/v1/leases/{made.json['lease']['id']}").status_code == 204
                assert len([each for each in waiting if not each.done()]) == 2, "the service was to hang"
            codes = Counter(each.result().status_code for each in waiting)
        assert codes == {201: 2, 503: len(waiting) - 2}
        assert len(service.asked) < len(waiting)
        calls.stop()


# reports


def waiting_reports(house: House) -> int:
    with house.database.read() as uow:
        return uow.reports.depth()


def test_ends_are_told_again_until_they_are_taken(tmp_path: Path, service: Deciding) -> None:
    answers = [500, 503, 302, 204]

    def decide(asked: Asked) -> Answer:
        return Answer(answers.pop(0) if asked.path == "/usage/on-end" else 204)

    service.decide = decide
    with asking(tmp_path, service) as house:
        made = create(house)
        house.send("DELETE", f"/v1/leases/{made.json['lease']['id']}")
        assert leases(house) == []
        until(lambda: not answers)
        until(lambda: waiting_reports(house) == 0)
        health = {each.name: each.state for each in house.manager._thread_health()}
        assert health["reporting-ExternalServiceFilter"] is ThreadState.OK


@pytest.mark.parametrize(
    ("what", "status", "outcome"),
    [
        (ReportType.ENDED, 204, None),
        (ReportType.ENDED, 202, None),
        (ReportType.ENDED, 403, CloudRefused),
        (ReportType.ENDED, 404, CloudRefused),
        (ReportType.ENDED, 500, CloudRefused),
        (ReportType.ENDED, 429, CloudUnavailable),
        (ReportType.ENDED, 503, CloudUnavailable),
        (ReportType.CREATED, 403, None),
        (ReportType.CREATED, 500, CloudRefused),
    ],
)
def test_what_an_answer_to_a_report_means(
    tmp_path: Path, service: Deciding, what: ReportType, status: int, outcome: type[Exception] | None
) -> None:
    """Unavailable holds up all reports, refused only this one."""
    service.decide = lambda asked: Answer(status)
    options = {"external_service_base_endpoint": service.url, "enabled_filters": EXTERNAL}
    options["external_service_commit_create_endpoint"] = f"{service.url}create"
    (filter_,) = load_filters(configured(tmp_path, section("enforcement", **options)))
    documents = {"lease": {"id": "a", "user_id": "b", "project_id": "c"}}
    with pytest.raises(outcome) if outcome else nullcontext():
        filter_.tell(Report(EXTERNAL, "a", what, documents, START), documents, MemoryCloud().identity)
    assert len(service.asked) == 1


def test_reports_outlive_the_manager(tmp_path: Path, service: Deciding) -> None:
    service.decide = lambda asked: Answer(503 if asked.path == "/usage/on-end" else 204)
    with asking(tmp_path, service) as house:
        made = create(house)
        house.send("DELETE", f"/v1/leases/{made.json['lease']['id']}")
        until(lambda: "/usage/on-end" in service.paths)
    before = len(service.asked)
    service.decide = yes
    with asking(tmp_path, service, hosts=()):
        until(lambda: len(service.asked) > before)
    assert service.asked[-1].body["lease"]["id"] == made.json["lease"]["id"]


# the other filter, and the configuration


def test_how_long_a_lease_may_be(tmp_path: Path) -> None:
    with opened(tmp_path, "MaxLeaseDurationFilter", max_lease_duration=3600) as house:
        made = create(house)
        assert made.status_code == 201
        refused = create(house, end="2050-01-01 11:01")
        sentence = (
            "Lease duration of 3660 seconds must be less than or equal to the maximum lease duration of "
            "3600 seconds."
        )
        assert (refused.status_code, refused.json["error_message"]) == (400, sentence)
        longer = change(house, made, end_date="2050-01-01 11:01")
        assert (longer.status_code, longer.json["error_message"]) == (400, sentence)
        assert change(house, made, name="b").status_code == 200


def test_a_lease_of_a_higher_limit_may_become_shorter(tmp_path: Path) -> None:
    with opened(tmp_path, "MaxLeaseDurationFilter", max_lease_duration=7200) as house:
        made = create(house, end="2050-01-01 12:00")
        house.manager.use_cases.leases.changes._enforcement._filters[0]._limit = 600
        assert change(house, made, end_date="2050-01-01 11:30").status_code == 200
        assert change(house, made, end_date="2050-01-01 11:31").status_code == 400


@pytest.mark.parametrize("option", ["exempt_projects", "max_lease_duration_exempt_project_ids"])
def test_projects_that_are_exempt(tmp_path: Path, option: str) -> None:
    with opened(tmp_path, "MaxLeaseDurationFilter", max_lease_duration=60, **{option: "nope"}) as house:
        assert create(house).status_code == 400
    (tmp_path / "again").mkdir()
    more = {option: f"other, {PERSONAS['member']['HTTP_X_PROJECT_ID']}"}
    with opened(tmp_path / "again", "MaxLeaseDurationFilter", max_lease_duration=60, **more) as house:
        assert create(house).status_code == 201


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("program", [api.main, manager.main])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("enabled_filters = NopeFilter\n", "[enforcement] enabled_filters: no such filter: NopeFilter"),
        (f"enabled_filters = {EXTERNAL}\n", "needs external_service_base_endpoint"),
        (
            f"enabled_filters = {EXTERNAL}\nexternal_service_base_endpoint = usage.example\n",
            "[enforcement] the address for check_create is no http:// or https:// address",
        ),
        (
            f"enabled_filters = {EXTERNAL}\nexternal_service_on_end_endpoint = http://u/\n"
            f"external_service_token = {TOKEN}ä\n",
            "a token of the external service has characters that cannot be sent",
        ),
        ("max_lease_duration = -2\n", "max_lease_duration"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_the_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: Callable[[], None],
    text: str,
    sentence: str,
) -> None:
    (tmp_path / "blazar.conf").write_text(f"[enforcement]\n{text}")
    monkeypatch.setattr(sys, "argv", ["blazar", "--config-file", str(tmp_path / "blazar.conf")])
    with pytest.raises(SystemExit) as ending:
        program()
    assert ending.value.code == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said
    assert "\n" not in said
    assert TOKEN not in said


@pytest.mark.parametrize(
    ("options", "called"),
    [
        ({"external_service_base_endpoint": "http://u/x/"}, "http://u/x/check-create"),
        ({"external_service_base_endpoint": "http://u/x"}, "http://u/check-create"),
        ({"external_service_check_create_endpoint": "http://u/mine"}, "http://u/mine"),
        ({"external_service_check_update_endpoint": "http://u/mine"}, None),
    ],
)
def test_which_addresses_are_asked(tmp_path: Path, options: dict[str, str], called: str | None) -> None:
    (found,) = load_filters(configured(tmp_path, section("enforcement", enabled_filters=EXTERNAL, **options)))
    assert found._settings.endpoints.get("check_create") == called  # type: ignore[attr-defined]


def test_filters_keep_the_order_of_the_operator(tmp_path: Path) -> None:
    names = ["MaxLeaseDurationFilter", EXTERNAL]
    for wanted in (names, names[::-1]):
        options = {
            "enabled_filters": ", ".join([*wanted, *wanted]),
            "external_service_base_endpoint": "http://u/",
        }
        found = load_filters(configured(tmp_path, section("enforcement", **options)))
        assert [each.name for each in found] == wanted


OWN_FILTER = """
from oslo_config import cfg
from blazar.domain.errors import UsageRefused
from blazar.service.ports.enforcement import UsageFilter

class WeekendFilter(UsageFilter):
    options = (cfg.StrOpt("weekend_sentence", default="Not on weekends."),)

    def __init__(self, sentence):
        self.sentence = sentence

    @classmethod
    def from_conf(cls, conf):
        return cls(conf.enforcement.weekend_sentence)

    def check_create(self, proposal):
        if proposal.lease.interval.start.weekday() >= 5:
            raise UsageRefused(self.sentence)
"""


def test_a_filter_of_another_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weekend_filter.py").write_text(OWN_FILTER)
    metadata = tmp_path / "weekend-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: weekend\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{FILTERS}]\nWeekendFilter = weekend_filter:WeekendFilter\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})  # of this process
    assert any(option.name == "weekend_sentence" for _, known in list_opts() for option in known)
    with opened(tmp_path, "WeekendFilter", weekend_sentence="Rest.") as house:
        refused = create(house)  # a Saturday
    assert (refused.status_code, refused.json["error_message"]) == (400, "Rest.")


def test_no_filter_is_enabled_by_default(tmp_path: Path) -> None:
    assert load_filters(configured(tmp_path)) == ()
    assert UsageFilter().reports == frozenset()


# what operators see


def test_no_secret_is_in_the_log(tmp_path: Path, service: Deciding, caplog: pytest.LogCaptureFixture) -> None:
    options = {"external_service_token": TOKEN, "external_service_bearer_token": f"bearer-{TOKEN}"}
    base = service.url.replace("127", f"user:{TOKEN}@127")
    with (
        caplog.at_level(logging.DEBUG),
        opened(
            tmp_path, external_service_base_endpoint=base, external_service_timeout=0.3, **options
        ) as house,
    ):
        house.send("DELETE", f"/v1/leases/{create(house).json['lease']['id']}")
        service.decide = lambda asked: as_json(500)
        create(house)
        with hanging(service):
            create(house)
        until(lambda: "/usage/on-end" in service.paths)
        shown = repr(house.manager.use_cases.leases.changes._enforcement._filters[0]._settings)
    assert "Enforcement check_create: 500" in caplog.text
    assert "neither yes nor no" in caplog.text
    assert TOKEN not in caplog.text
    assert "X-Auth-Token" not in shown


def test_the_metrics_count_calls_and_reports(tmp_path: Path) -> None:
    metrics = PrometheusMetrics()
    metrics.usage_filter_asked(EXTERNAL, "check_create", "refused", 0.1)
    metrics.reports_waiting(3)
    text = metrics.exposition()[1].decode()
    labels = f'call="check_create",filter="{EXTERNAL}",outcome="refused"'
    assert f"blazar_usage_filter_calls_total{{{labels}}} 1.0" in text
    assert "blazar_usage_reports 3.0" in text
