"""Run seeds: see docs/contributor/simulation.md, or ``--help``."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from .kinds import DRAWN
from .run import Report, draw, run, shrink
from .troubles import AREAS


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    logging.lastResort = None
    if options.seed:
        return max(_one(seed, options) for seed in options.seed)
    return _many(options)


def _one(seed: int, options: argparse.Namespace) -> int:
    """Repeat a seed. Its trace is printed where a rule is broken, or where it is the only one."""
    report = _run(seed, options)
    if report.violation is not None and options.shrink:
        report = shrink(report, options.ignore, options.shrink)
    if report.violation is not None or len(options.seed) == 1:
        show(report, is_full=options.full)
    print(f"seed {seed}: trace {report.digest}, {report.switches} switches", flush=True)
    return 1 if report.violation else 0


def _many(options: argparse.Namespace) -> int:
    """Run one seed after the other until the time is over, and tell what was found."""
    base = options.base if options.base is not None else _seed_of(options.of)
    ends = time.monotonic() + options.seconds
    strikes: Counter[str] = Counter()
    found: Counter[str] = Counter()
    first: dict[str, tuple[int, Report]] = {}
    runs = switches = 0
    simulated = 0.0
    print(f"seeds from {base} on", flush=True)
    while time.monotonic() < ends and (options.runs is None or runs < options.runs):
        report = _run(base + runs, options)
        runs += 1
        strikes += report.strikes
        switches += report.switches
        simulated += report.simulated
        if report.violation is not None:
            rule = report.violation.rule
            found[rule] += 1
            if rule not in first:
                first[rule] = (runs, report)
                print(f"seed {report.plan.seed} (run {runs}): {rule}: {report.violation.text}", flush=True)
                print(_repetition(base + runs - 1, options), flush=True)
            if not options.keep_going:
                break
    print(f"{runs} runs, {simulated / 3600:.1f} simulated hours, {switches} switches")
    print(", ".join(f"{name}: {count}" for name, count in sorted(strikes.items())) or "no troubles")
    for rule, (number, report) in first.items():
        print(f"\n{found[rule]} times, first in run {number}: {rule}")
        show(shrink(report, options.ignore, options.shrink) if options.shrink else report, options.full)
        print(_repetition(int(report.plan.seed), options))
    return 1 if first else 0


def _seed_of(text: str | None) -> int:
    """Return the first seed that belongs to a text; without one, a new seed."""
    number = int.from_bytes(sha256(text.encode()).digest()[:8]) if text else time.time_ns()
    return number % 1_000_000_000


def _run(seed: int, options: argparse.Namespace) -> Report:
    try:
        return run(draw(seed, options.without, options.kinds), options.ignore)
    except BaseException:
        print(f"seed {seed} ends the simulation itself", flush=True)
        print(_repetition(seed, options), flush=True)
        raise


def _repetition(seed: int, options: argparse.Namespace) -> str:
    """Tell how to run the seed again: what was left out belongs to it."""
    words = []
    for name, usual in (("kinds", list(DRAWN)), ("without", []), ("ignore", [])):
        chosen = getattr(options, name)
        if chosen != usual:
            words += [f"--{name}", *map(shlex.quote, chosen)]
    passed_on = f' SIMULATION="{" ".join(words)}"' if words else ""
    return f"Repeat it with: make test-simulation SEED={seed}{passed_on}"


def show(report: Report, is_full: bool) -> None:
    """Print the plan and the trace of a run."""
    print(f"kinds: {', '.join(report.plan.kinds)}")
    for item in (*report.plan.troubles, *report.plan.actions):
        print(f"  {item}")
    for number, line in enumerate(report.trace, start=1):
        if is_full or not line.is_quiet:
            print(f"{number:5d}  {line}")
    if report.violation is not None:
        print(f"broken: {report.violation.rule}: {report.violation.text}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to run new seeds")
    parser.add_argument("--runs", type=int, help="how many seeds to run at the most")
    parser.add_argument("--base", type=int, help="the first seed; otherwise it is taken from the time")
    parser.add_argument("--of", metavar="TEXT", help="take the first seed from this text")
    parser.add_argument("--seed", type=int, nargs="*", help="repeat these seeds only, and print the trace")
    parser.add_argument("--shrink", type=int, default=300, help="how many shorter runs to try; 0 for none")
    parser.add_argument("--full", action="store_true", help="print what only looks as well")
    parser.add_argument("--keep-going", action="store_true", help="go on after a rule was broken")
    parser.add_argument("--ignore", nargs="*", default=[], metavar="RULE", help="rules that are not watched")
    parser.add_argument(
        "--without", nargs="*", default=[], choices=list(AREAS), metavar="TROUBLE", help="leave out"
    )
    parser.add_argument(
        "--kinds", nargs="*", default=list(DRAWN), choices=list(DRAWN), metavar="KIND", help="use only"
    )
    return parser


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets is part of a run, and must be the same in all processes.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]])
    sys.exit(main(sys.argv[1:]))
