"""The views of quotas in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.service.quotas import LimitUse, Quota, QuotaList

Limits = dict[str, int]
_LIMITS = "Numbers by the limits' names; -1 where there is none."


class QuotaView(TypedDict):
    """The limits of a project."""

    project_id: Annotated[str, Field(description="The project.")]
    limits: Annotated[Limits, Field(description=_LIMITS)]
    own: Annotated[list[str], Field(description="Names of the limits that are the project's own.")]


class QuotaReply(TypedDict):
    quota: Annotated[QuotaView, Field(description="The limits of the project.")]


class QuotasReply(TypedDict):
    defaults: Annotated[Limits, Field(description="The limits of all other projects.")]
    quotas: Annotated[list[QuotaView], Field(description="The projects that have limits of their own.")]


class LimitUseView(TypedDict):
    """The use of what a limit counts. Begun hours count as whole ones."""

    name: Annotated[str, Field(description="Name of the limit.")]
    limit: Annotated[int, Field(description="The limit; -1 where there is none.")]
    now: Annotated[int, Field(description="What is used now; of hours, in the window that ends now.")]
    peak: Annotated[
        int, Field(description="The most that is used at any time from now on; of hours, in any window.")
    ]


class UsageView(TypedDict):
    """How much the leases of a project use."""

    project_id: Annotated[str, Field(description="The project.")]
    limits: Annotated[list[LimitUseView], Field(description="All limits that count something.")]


class UsageReply(TypedDict):
    usage: Annotated[UsageView, Field(description="How much the leases of the project use.")]


def quota_view(quota: Quota) -> QuotaView:
    return {"project_id": quota.project_id, "limits": dict(quota.limits), "own": sorted(quota.own)}


def quota_reply(quota: Quota) -> QuotaReply:
    return {"quota": quota_view(quota)}


def quotas_reply(found: QuotaList) -> QuotasReply:
    return {"defaults": dict(found.defaults), "quotas": [quota_view(each) for each in found.quotas]}


def usage_reply(project_id: str, found: Sequence[LimitUse]) -> UsageReply:
    limits: list[LimitUseView] = [
        {"name": each.name, "limit": each.limit, "now": each.now, "peak": each.peak} for each in found
    ]
    return {"usage": {"project_id": project_id, "limits": limits}}
