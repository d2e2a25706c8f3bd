"""Collecting a feed, whatever it brings in."""

from __future__ import annotations

from datetime import datetime

from apps.ingest.models import Feed, FeedKind, IngestRun
from apps.ingest.services import bill_feeds, commitment_feeds, live, offer_feeds, storage_feeds


def feed_collect(*, feed: Feed, now: datetime, again: bool = False) -> list[IngestRun]:
    """What is new at `now`. `again`: also deliveries of bills that were refused. Raises TransientError."""
    if feed.kind == FeedKind.BILLS:
        return bill_feeds.bill_feed_collect(feed=feed, now=now, again=again)
    if feed.kind == FeedKind.STORAGE:
        return storage_feeds.storage_feed_collect(feed=feed, now=now, again=again)
    if feed.kind == FeedKind.COMMITMENTS:
        return commitment_feeds.commitment_feed_collect(feed=feed, now=now)
    if feed.kind == FeedKind.OFFERS:
        return offer_feeds.offer_feed_collect(feed=feed, now=now)
    return live.feed_collect(feed=feed, now=now)
