"""The port to Heat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of Heat. Its status says what Heat does or has done, such as ``CREATE_IN_PROGRESS``."""

    id: str
    name: str
    status: str
    reason: str = ""
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NewStack:
    """What a stack is made from: a template, or the address of one. Any of it may be secret."""

    name: str
    template: Mapping[str, Any] | None = field(default=None, repr=False)
    template_url: str | None = field(default=None, repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_minutes: int | None = None
    tags: tuple[str, ...] = ()


class Orchestration(Protocol):
    """Heat. Raises as Compute does. All but ``is_offered`` is for users, and sees the stacks of their project
    only."""

    def is_offered(self) -> bool:
        """Return whether the cloud has a Heat, as far as the catalog tells."""
        ...

    def check_template(self, new: NewStack, project_id: str) -> None:
        """Have Heat look at the template and the environment, with a user's token for the project. Raises
        CloudRefused with what Heat has against them."""
        ...

    def stack(self, name: str) -> Stack | None:
        """Return the stack of this name; None where there is none, or it is deleted."""
        ...

    def create_stack(self, new: NewStack) -> str:
        """Have Heat make a stack, which takes time. Return its id. Raises CloudRefused where the project has
        one of this name."""
        ...

    def delete_stack(self, stack: Stack) -> None:
        """Have Heat delete a stack, which takes time; one that is gone is no error. One whose deletion has
        failed is tried again."""
        ...
