"""Measure the calendar page in a headless Chromium: how long it takes to load, how long its frames take while
rows are scrolled, time is moved and the span is changed, and how long the answers to its questions take."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from seed import seed
from service import DATES, RunningService, User, now

Row = Sequence[object]
FRAMES = 200
MEASURE = """async ([count, act]) => {
  const timeline = document.querySelector("blazar-timeline");
  const grid = document.querySelector(".grid");
  const step = new Function("timeline", "grid", "number", act);
  const drawn = timeline._draw.bind(timeline);
  const spent = [];
  timeline._draw = () => {
    const begun = performance.now();
    drawn();
    void grid.offsetHeight;
    spent.push(performance.now() - begun);
  };
  const frames = [];
  let last = performance.now();
  for (let number = 0; number < count; number++) {
    step(timeline, grid, number);
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - last);
    last = performance.now();
  }
  timeline._draw = drawn;
  return [spent, frames];
}"""
"""Act once a frame. Return the milliseconds of drawing with layout, and those between frames."""
ACTS = {
    "scroll 10 rows a frame, week": ("1 week", "grid.scrollTop += 360"),
    "move in time, week": ("1 week", "timeline._scaled(timeline.scale.moved(0.005))"),
    "move in time, year": ("1 year", "timeline._scaled(timeline.scale.moved(0.002))"),
    "zoom, hours to years": (
        "1 week",
        "timeline._scaled(timeline.scale.zoomed(timeline.scale.span * (number % 80 < 40 ? 1.1 : 1 / 1.1)))",
    ),
}


def table(scratch: Path, hosts: int, leases: int, port: int, cloud_port: int) -> list[Row]:
    var = scratch / "dashboard"
    var.mkdir()
    seed(var / "blazar.db", hosts, leases)
    rows: list[Row] = [("what", "median ms", "p99 ms", "most ms")]
    with RunningService(var, port, cloud_port, hosts=hosts) as service:
        rows += [_answers(service.user("admin"), days) for days in (7, 365)]
        rows += _page(f"http://127.0.0.1:{port}/dashboard/")
    return rows


def _answers(user: User, days: int) -> Row:
    """Ask for 50 rows here and there in a window of so many days."""
    spent = []
    for number in range(60):
        query = {
            "start_date": now().strftime(DATES),
            "end_date": (now() + timedelta(days=days)).strftime(DATES),
            "first": number * 150,
            "rows": 50,
        }
        begun = time.perf_counter()
        user.timeline(query)
        spent.append((time.perf_counter() - begun) * 1000)
    return _row(f"GET /v1/timeline, 50 rows, {days} days", spent)


def _page(url: str) -> list[Row]:
    # Needed here only: the other tables do without a browser.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        begun = time.perf_counter()
        page.goto(url)
        page.get_by_role("button", name="Sign in as admin").click()
        page.locator(".bar").first.wait_for()
        rows: list[Row] = [_row("load, sign in, first bars", [(time.perf_counter() - begun) * 1000])]
        for name, (span, act) in ACTS.items():
            rows += _frames(page, name, span, act)
        browser.close()
    return rows


def _frames(page: Any, name: str, span: str, act: str) -> list[Row]:
    page.get_by_label("Span").select_option(span)
    page.get_by_role("button", name="Now").click()
    page.wait_for_timeout(3000)
    spent, frames = page.evaluate(MEASURE, [FRAMES, act])
    return [_row(f"{name}: drawing", spent), _row(f"{name}: between frames", frames)]


def _row(name: str, milliseconds: Sequence[float]) -> Row:
    ordered = sorted(milliseconds)
    most = ordered[int(len(ordered) * 0.99) - 1 if len(ordered) > 1 else 0]
    return name, *(round(each, 1) for each in (statistics.median(ordered), most, ordered[-1]))
