"""Which tracebacks in a log are the service's, and which a library's that the service copes with."""

from __future__ import annotations

import pytest

from .logs import defects, told_about

DRIVER = "2030-01-01 08:00:00.175 18860 ERROR oslo.messaging._drivers.impl_rabbit"
LIB = "/usr/lib/python3/site-packages/oslo_messaging/_drivers"
CUT = f"""\
{DRIVER} [-] Failed to process message ... skipping it.: ConnectionResetError: [Errno 104] Connection reset
{DRIVER} Traceback (most recent call last):
{DRIVER}   File "{LIB}/impl_rabbit.py", line 618, in _callback
{DRIVER}     self.callback(RabbitMessage(message))
{DRIVER}   File "{LIB}/amqpdriver.py", line 621, in __call__
{DRIVER}     message.acknowledge()
{DRIVER}   File "{LIB}/impl_rabbit.py", line 373, in acknowledge
{DRIVER}     self._raw_message.ack()
{DRIVER}   File "/usr/lib/python3/site-packages/kombu/message.py", line 126, in ack
{DRIVER}     self.channel.basic_ack(self.delivery_tag, multiple=multiple)
{DRIVER} ConnectionResetError: [Errno 104] Connection reset by peer
{DRIVER} \n"""
TWICE = """\
2030-01-01 08:00:00.175 1 WARNING oslo_messaging._drivers.amqp [-] ignoring duplicate message 4f2c
2030-01-01 08:00:00.175 1 ERROR oslo_messaging._drivers.amqp Traceback (most recent call last):
"""
LOST = "2030-01-01 08:00:00.175 1 ERROR sqlalchemy.pool.impl.QueuePool Traceback (most recent call last):\n"
OURS = """\
2030-01-01 08:00:00.175 1 ERROR blazar.engine.loop [-] end_lease of lease 1 failed unexpectedly
2030-01-01 08:00:00.175 1 ERROR blazar.engine.loop Traceback (most recent call last):
"""


COPED_WITH = {"nothing": "", "cut": CUT, "twice": TWICE, "lost": LOST, "two of them": CUT + CUT}


@pytest.mark.parametrize("log", COPED_WITH.values(), ids=list(COPED_WITH))
def test_what_the_service_copes_with_is_no_defect(log: str) -> None:
    assert defects(log) == []


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("in acknowledge", "in requeue"),
        ("in __call__", "in listen"),
        ("amqpdriver.py", "pool.py"),
        ("impl_rabbit.py", "impl_kafka.py"),
        ("oslo_messaging/_drivers", "blazar/rpc"),
        ("Failed to process message", "Failed to process incoming message"),
        ("message.acknowledge()\n" + DRIVER + '   File "', 'message.acknowledge()\nanother line\n  File "'),
    ],
)
def test_another_traceback_of_the_driver_is_a_defect(here: str, there: str) -> None:
    log = CUT.replace(here, there)
    assert log != CUT
    assert [line.endswith("Traceback (most recent call last):") for line in defects(log)] == [True]


def test_a_failure_of_the_service_is_told_by_both_of_its_lines() -> None:
    assert len(defects(CUT + OURS + CUT)) == 2


def test_a_failure_is_found_by_the_request_that_its_answer_names() -> None:
    mine, other = (f"req-{digit * 8}-0000-4000-8000-000000000000" for digit in "12")
    log = OURS.replace("[-]", f"[{mine}]") + CUT
    assert told_about(log, [f'create: 500 "under {mine}."']) == log.rstrip("\n")
    assert told_about(log, [f'create: 500 "under {other}."', "list: 502 no id"]) == ""
