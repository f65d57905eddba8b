"""The view of a calendar feed in answers."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp
from blazar.domain.feed import Feed, FeedScope


class FeedView(TypedDict):
    """A calendar of leases."""

    id: Annotated[str, Field(description="UUID of the feed.")]
    name: Annotated[str, Field(description="Its name, which calendar programs show.")]
    project_id: Annotated[str, Field(description="The project with which it was made.")]
    user_id: Annotated[str, Field(description="Who has made it.")]
    scope: Annotated[FeedScope, Field(description="Which leases it shows.")]
    watched_project_id: Annotated[str, Field(description="The project whose leases it shows.")]
    watched_user_id: Annotated[
        str | None, Field(description="The user whose leases it shows; null for those of all.")
    ]
    lease_id: Annotated[str | None, Field(description="The lease that it shows; null for all.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC.")]
    url: NotRequired[
        Annotated[
            str,
            Field(
                description="Where calendar programs read it, without a token. Shown once, where it is made."
            ),
        ]
    ]


class FeedReply(TypedDict):
    feed: FeedView


class FeedsReply(TypedDict):
    feeds: Annotated[list[FeedView], Field(description="The feeds of a page, by their ids.")]
    feeds_links: NotRequired[
        Annotated[list[PageLink], Field(description="The link to the next page, where there is one.")]
    ]


def feed_reply(feed: Feed, url: str) -> FeedReply:
    return {"feed": {**feed_view(feed), "url": url}}


def feed_view(feed: Feed) -> FeedView:
    return {
        "id": feed.id,
        "name": feed.name,
        "project_id": feed.project_id,
        "user_id": feed.user_id,
        "scope": feed.scope,
        "watched_project_id": feed.watched_project,
        "watched_user_id": feed.watched_user,
        "lease_id": feed.lease_id,
        "created_at": stamp(feed.created_at),
    }
