"""What the programs say of a configuration: of a wrong value, of what is not read any more, and at SIGHUP."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from free_ports import free_port
from oslo_config import cfg

from blazar import conf as options
from blazar.broker import EXAMPLE
from blazar.cmd.supervised import FILES, require_sound

from .conftest import PATIENCE, PROGRAM
from .test_systemd import CONFIGURATION

APPLICATION = "blazar.wsgi.api:application"
NOT_A_URL = f"[DEFAULT] transport_url is not like {EXAMPLE}"
WORDS = {
    "blazar-api": [],
    "blazar-manager": [],
    "blazar-webhooks": [],
    "blazar-db-manage": ["upgrade"],
    "blazar-status": ["upgrade", "check"],
    "blazar-standalone": ["--port", "{port}", "--cloud-port", "{other}", "--var", "{folder}/var"],
}


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("name", WORDS)
def test_a_wrong_value_is_one_sentence_and_exit_code_2(name: str, tmp_path: Path) -> None:
    conf = tmp_path / "blazar.conf"
    conf.write_text(f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\nmax_pool_size = many\n")
    filled = {"port": free_port(), "other": free_port(), "folder": tmp_path}
    words = [word.format(**filled) for word in WORDS[name]]
    ended = subprocess.run(
        [str(PROGRAM.with_name(name)), "--config-file", str(conf), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2, ended
    told = ended.stdout + ended.stderr
    assert "max_pool_size" in told
    assert "Traceback" not in told
    if name != "blazar-status":  # which prints a table
        assert ended.stderr.splitlines()[-1].startswith(f"{name}: ")
        assert ended.stderr.count("max_pool_size") == 1


WSGI = {
    "gunicorn": (
        3,
        "Worker failed to boot",
        ["--bind", "{address}", "--workers", "1", "--no-control-socket"],
    ),
    "uwsgi": (
        22,
        "need-app requested, destroying the instance",
        ["--http-socket", "{address}", "--master", "--lazy-apps", "--need-app", "--module"],
    ),
}
"""The servers with the exit code by which they end, their last words, and the arguments that matter to it."""


@pytest.mark.by_turns(2)
@pytest.mark.parametrize(
    ("name", "lines", "rules", "told"),
    [
        ("gunicorn", "[api]\nthreads = none\n", "", "Value for option threads from "),
        ("gunicorn", "", "a: [\n", "[oslo_policy] policy_file makes no sense: "),
        ("uwsgi", "", "a: [\n", "[oslo_policy] policy_file makes no sense: "),
    ],
)
def test_a_wsgi_server_ends_with_one_sentence_of_each_worker(
    name: str, lines: str, rules: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "blazar.conf").write_text(CONFIGURATION.format(port=free_port(), folder=tmp_path) + lines)
    (tmp_path / "policy.yaml").write_text(rules)
    code, last_words, words = WSGI[name]
    address = f"127.0.0.1:{free_port()}"
    ended = subprocess.run(
        [str(PROGRAM.with_name(name)), *(word.format(address=address) for word in words), APPLICATION],
        env={**os.environ, "OS_BLAZAR_CONFIG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode == code, output
    assert last_words in output
    assert "Traceback" not in output
    sentences = [line for line in output.splitlines() if told in line]
    assert sentences
    assert all(line.startswith(f"blazar-api: {told}") for line in sentences), sentences


@pytest.mark.parametrize(
    "lines, told",
    [
        ("[DEFAULT]\ntransport_url = foo://", "[DEFAULT] transport_url: there is no driver 'foo'"),
        ("[DEFAULT]\ntransport_url = rabbit://a:word@h:port/", NOT_A_URL),
        ("[DEFAULT]\ntransport_url = rabbit://[::1", NOT_A_URL),
        ("[DEFAULT]\ntransport_url = broker", NOT_A_URL),
        ("[DEFAULT]\ntransport_url =", NOT_A_URL),
        ("[DEFAULT]\ntransport_url = rabbit://a:word@h:99999/", "[DEFAULT] transport_url: a port is above"),
        (
            "[oslo_messaging_notifications]\ndriver = messagingv2\ntransport_url = host",
            f"[oslo_messaging_notifications] transport_url is not like {EXAMPLE}",
        ),
        (
            "[physical:host]\nenable_notification_monitor = true\nnotification_transport_url = foo://",
            "[physical:host] notification_transport_url: there is no driver 'foo' for a broker",
        ),
        (
            "[oslo_messaging_rabbit]\nheartbeat_rate = often",
            "Value for option heartbeat_rate from LocationInfo",
        ),
        (
            "[subscriptions]\nallowed_networks = 10.0.0.1/8",
            "[subscriptions] allowed_networks: 10.0.0.1/8 has host bits set",
        ),
        ("[mail]\nhost = localhost", "[mail] sender: '' is not one address"),
        (
            "[mail]\nhost = localhost\nsender = a@b.example\nevents = sold",
            "Value for option events from LocationInfo",
        ),
        *(
            (f"[{group}]\n{name} = /nowhere.pem", f"[{group}] {name}: /nowhere.pem is not there, or may not")
            for group, name in FILES
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_told(lines: str, told: str, tmp_path: Path) -> None:
    conf = tmp_path / "blazar.conf"
    conf.write_text(lines)
    with pytest.raises((cfg.Error, LookupError, ValueError)) as mistake:
        require_sound(options.load(files=[str(conf)]))
    assert str(mistake.value).startswith(told)
    assert "a:word" not in str(mistake.value)


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("name", ["blazar-api", "blazar-manager", "blazar-webhooks"])
def test_a_wrong_address_of_the_broker_is_one_sentence(name: str, tmp_path: Path) -> None:
    conf = tmp_path / "blazar.conf"
    url = "rabbit://a:word@h:port/"
    conf.write_text(f"[DEFAULT]\ntransport_url = {url}\n[database]\nconnection = sqlite:///{tmp_path}/b.db\n")
    ended = subprocess.run(
        [str(PROGRAM.with_name(name)), "--config-file", str(conf)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2, ended
    assert ended.stderr.splitlines()[-1].startswith(f"{name}: {NOT_A_URL}")
    assert "Traceback" not in ended.stderr
    assert "a:word" not in ended.stderr


def until_told(log: Path, *words: str) -> str:
    """Wait until all this stands in the log; return what it says."""
    end = time.monotonic() + PATIENCE
    while any(word not in log.read_text() for word in words):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return log.read_text()


@contextmanager
def running(conf: Path, log: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the API."""
    with log.open("w") as file:
        process = subprocess.Popen(
            [str(PROGRAM.with_name("blazar-api")), "--config-file", str(conf), *words],
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def test_sighup_reloads_and_says_what_has_changed(tmp_path: Path) -> None:
    port, conf, log = free_port(), tmp_path / "blazar.conf", tmp_path / "log"
    text = CONFIGURATION.format(port=port, folder=tmp_path)
    conf.write_text(text.replace("[manager]", "db_driver = blazar.db\n[manager]"))
    with running(conf, log) as process:
        told = until_told(log, "listens on", "with 16 threads")
        assert "[DEFAULT] db_driver is not read any more: [database] connection says" in told

        conf.write_text(text + "[api]\nthreads = none\n")
        process.send_signal(signal.SIGHUP)
        until_told(log, "The configuration was not reloaded: ")

        changed = text.replace(f"port = {port}", f"port = {free_port()}", 1).replace("/blazar.db", "/my.db")
        conf.write_text(changed + "[api]\nthreads = 3\n")
        process.send_signal(signal.SIGHUP)
        told = until_told(log, "with 3 threads")
    assert "options that have changed: [DEFAULT] port, [api] threads, [database] connection\n" in told
    assert "[DEFAULT] port has changed, which needs a restart of the program" in told
    assert "my.db" not in told


def test_the_address_of_the_api_may_stand_on_the_command_line(tmp_path: Path) -> None:
    port, conf, log = free_port(), tmp_path / "blazar.conf", tmp_path / "log"
    conf.write_text(CONFIGURATION.format(port=free_port(), folder=tmp_path))
    with running(conf, log, "--port", str(port)):
        until_told(log, f"listens on 127.0.0.1:{port}")


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("name", ["blazar-api", "blazar-manager", "blazar-webhooks"])
def test_libraries_for_traces_that_are_missing_are_one_sentence(name: str, tmp_path: Path) -> None:
    """An empty module stands before the libraries."""
    port, conf = free_port(), tmp_path / "blazar.conf"
    traces = "[tracing]\nendpoint = http://127.0.0.1:9/v1/traces\n"
    conf.write_text(CONFIGURATION.format(port=port, folder=tmp_path) + traces)
    (tmp_path / "opentelemetry.py").touch()
    ended = subprocess.run(
        [str(PROGRAM.with_name(name)), "--config-file", str(conf)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        f"{name}: [tracing] endpoint needs libraries that are not installed. "
        "The extra blazar[trace] has them."
    )
    assert "Traceback" not in ended.stderr
