"""The simulation itself: seeds that pass, runs that can be repeated, and rules that can fail."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import EFFORT

from .defects import DEFECTS, QUIET, Defect, first_found, put_in
from .mends import MENDS, MOST
from .mends import first_found as first_found_without
from .run import Report, draw, run, shrink

TESTS = Path(__file__).parent.parent
PASSING = (5, 6)
"""Seeds that break no rule. A change of the service changes what they do: if one of them fails after a change
that is right, look at why before you take another seed."""
SEEDS = 20
"""So many seeds, from the first one on, find each defect."""


def test_seeds_pass_and_are_the_same_runs_in_another_process():
    seeds = [*map(str, PASSING)]
    done = subprocess.run(
        [sys.executable, "-m", "simulation", "--shrink", "0", "--without", *QUIET, "--seed", *seeds],
        cwd=TESTS,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    digest = run(draw(PASSING[0], QUIET)).digest
    assert f"seed {PASSING[0]}: trace {digest}" in done.stdout


def test_another_seed_is_another_run():
    one, other = draw(1, QUIET), draw(2, QUIET)
    assert (one.actions, one.troubles) != (other.actions, other.troubles)


def first_broken(defect: Defect) -> Report:
    """Return the first run in which the defect is found."""
    report = first_found(defect, defect.seed, SEEDS)
    assert report is not None, f"{SEEDS} seeds do not find it"
    return report


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name):
    with put_in(DEFECTS[name]):
        first_broken(DEFECTS[name])


@pytest.mark.parametrize("name", MENDS)
def test_what_replaces_a_mend_is_called_as_the_service_calls_it(name):
    for owner, function, broken in MENDS[name].parts:
        sound = getattr(owner, function)
        parameters = inspect.signature(sound).parameters
        inspect.signature(broken(sound)).bind(*parameters)


if EFFORT == "thorough":  # it may take some hundred seeds

    @pytest.mark.parametrize("name", MENDS)
    def test_a_defect_of_order_is_found_when_its_mend_is_taken_out(name):
        assert first_found_without(MENDS[name], MENDS[name].seed, MOST) is not None


def test_a_failing_run_is_made_short():
    defect = DEFECTS["aggregates are never removed"]
    with put_in(defect):
        report = first_broken(defect)
        short = shrink(report, tries=15)
    assert short.violation is not None
    assert short.violation.rule == defect.rule
    assert len(short.plan.actions) < len(report.plan.actions) / 2
