"""Where the installed programs begin. Modules are loaded without looking for garbage among them.

Python looks through all objects again and again while it loads modules, which is a sixth of the time in which
a program starts. None of them is garbage, so none is looked through, now or later; processes that a program
forks share them."""

from __future__ import annotations

import gc
from importlib import import_module


def api() -> int | None:
    return _main("api")


def manager() -> int | None:
    return _main("manager")


def webhooks() -> int | None:
    return _main("webhooks")


def standalone() -> int | None:
    return _main("standalone")


def db_manage() -> int | None:
    return _main("db_manage")


def status() -> int | None:
    return _main("status")


def _main(program: str) -> int | None:
    gc.disable()
    module = import_module(f"blazar.cmd.{program}")
    gc.freeze()
    gc.enable()
    code: int | None = module.main()
    return code
