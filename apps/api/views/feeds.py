"""Feeds: what is polled, for whom, how it stands; made, paused, asked now, and their permissions tried."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import check
from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused, found_or_404, page_of
from apps.api.strict import MonthField, PageQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.bill_tables import CountsAnswer
from apps.ingest.models import Feed, FeedDelivery, FeedKind, FeedState
from apps.ingest.services.feeds import (
    bill_feed_add,
    feed_pause,
    feed_permissions,
    permissions_document,
    price_feed_add,
    storage_feed_add,
)
from apps.ingest.services.names import names_from_feed
from apps.ingest.tasks import feed_collect_hand_out
from finops.providers.base import ProviderError

MINUTES_MOST = 7 * 24 * 60


class FeedAnswer(serializers.ModelSerializer[Feed]):
    """A feed and how its last try went."""

    kind = serializers.ChoiceField(choices=FeedKind.choices)
    state = serializers.ChoiceField(choices=FeedState.choices)
    role_arn = serializers.CharField(source="credentials", help_text="Role that is taken; empty: none.")
    minutes = serializers.SerializerMethodField(help_text="Between two questions.")
    own = serializers.SerializerMethodField(help_text="False: of the whole installation, not to be changed.")
    last_try_at = UtcDateTimeField(allow_null=True)
    last_success_at = UtcDateTimeField(allow_null=True)
    failure = serializers.CharField(source="last_error", help_text="What the last try failed at, else empty.")

    class Meta:
        model = Feed
        fields = [
            "id", "name", "kind", "provider", "account", "role_arn", "regions", "instance_types", "products",
            "bucket", "prefix", "cost_explorer", "paid_requests", "minutes", "own", "state", "last_try_at",
            "last_success_at", "failure",
        ]  # fmt: skip

    def get_minutes(self, feed: Feed) -> float:
        """Of the interval."""
        return feed.interval.total_seconds() / 60

    def get_own(self, feed: Feed) -> bool:
        """Whether it belongs to the organisation."""
        return feed.organisation_id is not None


class FeedsQuery(PageQuery):
    """Filters of the list."""

    kind = serializers.ChoiceField(choices=FeedKind.choices, required=False)
    state = serializers.ChoiceField(choices=FeedState.choices, required=False)


class FeedBody(StrictSerializer):
    """What every feed has."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation.")
    role_arn = serializers.CharField(required=False, allow_blank=True, max_length=200)
    external_id = serializers.CharField(required=False, allow_blank=True, max_length=200)
    account = serializers.CharField(
        required=False, allow_blank=True, max_length=12, help_text="The feed stops when it is another one."
    )


class BucketFeedBody(FeedBody):
    """Where files arrive."""

    bucket = serializers.CharField(max_length=63)
    prefix = serializers.CharField(required=False, allow_blank=True, max_length=256, default="")
    region = serializers.CharField(max_length=40, help_text="Of the bucket.")
    minutes = serializers.IntegerField(default=360, min_value=60, max_value=MINUTES_MOST)


class BillFeedBody(BucketFeedBody):
    """Where exports arrive."""

    cost_explorer = serializers.BooleanField(
        default=False, help_text="Daily totals until the first export; each request costs money."
    )


class PriceFeedBody(FeedBody):
    """Which prices."""

    regions = serializers.ListField(
        child=serializers.RegexField(r"^[a-z]{2}(-[a-z]+)+-\d$", max_length=40), min_length=1, max_length=40
    )
    instance_types = serializers.ListField(
        child=serializers.CharField(max_length=60), default=list, max_length=500, help_text="Empty: all."
    )
    products = serializers.ListField(
        child=serializers.CharField(max_length=60), default=list, max_length=20, help_text="Empty: all."
    )
    minutes = serializers.IntegerField(default=15, min_value=1, max_value=MINUTES_MOST)


class _FeedView(ApiView):
    tag = "feeds"

    def visible(self) -> QuerySet[Feed]:
        """The organisation's own and those of the whole installation."""
        mine = Q(organisation=self.organisation) | Q(organisation__isnull=True)
        return Feed.objects.filter(mine).order_by("name", "pk")

    def own(self, feed_id: int) -> Feed:
        """One that the organisation may change; 404 for any other."""
        found: Feed = found_or_404(self.visible().filter(organisation=self.organisation), pk=feed_id)
        if self.membership is not None and found.kind != FeedKind.BILLS:
            check(self.membership, Action.MANAGE_FEEDS)
        return found

    def given(self) -> dict[str, Any]:
        """The body with its interval."""
        fields = dict(self.body)
        return {"interval": timedelta(minutes=fields.pop("minutes")), **fields}


class Feeds(_FeedView):
    """Every feed that the organisation may see."""

    endpoints = {
        "GET": Endpoint(
            summary="List feeds with the state of each",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            query=FeedsQuery,
            answer=page_of(FeedAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """One page of feeds."""
        asked = {name: self.query[name] for name in ("kind", "state") if name in self.query}
        return self.page(self.visible().filter(**asked))


class BillFeeds(_FeedView):
    """Feeds of bills."""

    endpoints = {
        "POST": Endpoint(
            summary="Make a feed of bills; it is asked at once",
            description="For a signed-in person: a feed makes this server take a role and read a bucket.",
            action=Action.CONNECT_BILLS,
            scope=None,
            body=BillFeedBody,
            answer=FeedAnswer,
            status=201,
        )
    }

    def post(self, request: Request) -> Response:
        """The feed as it is kept."""
        with transaction.atomic():
            feed = bill_feed_add(organisation=self.organisation, actor=self.actor, **self.given())
            transaction.on_commit(lambda: feed_collect_hand_out(feed.pk))
        return self.answer(feed)


class StorageFeeds(_FeedView):
    """Feeds of inventories, logs and reports."""

    endpoints = {
        "POST": Endpoint(
            summary="Make a feed of storage files in a bucket; it is asked at once",
            description="For a signed-in person: a feed makes this server take a role and read a bucket.",
            action=Action.MANAGE_FEEDS,
            scope=None,
            body=BucketFeedBody,
            answer=FeedAnswer,
            status=201,
        )
    }

    def post(self, request: Request) -> Response:
        """The feed as it is kept."""
        with transaction.atomic():
            feed = storage_feed_add(organisation=self.organisation, actor=self.actor, **self.given())
            transaction.on_commit(lambda: feed_collect_hand_out(feed.pk))
        return self.answer(feed)


class PriceFeeds(_FeedView):
    """Feeds of Spot prices."""

    endpoints = {
        "POST": Endpoint(
            summary="Make a feed of Spot prices; it is asked at the next turn",
            description="For a signed-in person: a feed makes this server take a role.",
            action=Action.MANAGE_FEEDS,
            scope=None,
            body=PriceFeedBody,
            answer=FeedAnswer,
            status=201,
        )
    }

    def post(self, request: Request) -> Response:
        """The feed as it is kept."""
        return self.answer(price_feed_add(organisation=self.organisation, actor=self.actor, **self.given()))


class PauseBody(StrictSerializer):
    """Whether the feed rests."""

    paused = serializers.BooleanField()


class OneFeed(_FeedView):
    """A feed."""

    endpoints = {
        "GET": Endpoint(
            summary="Read a feed and how its last try went",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            answer=FeedAnswer,
        ),
        "PATCH": Endpoint(
            summary="Pause a feed or let it go on; what it brought stays",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_INGEST,
            body=PauseBody,
            answer=FeedAnswer,
        ),
    }

    def get(self, request: Request, feed_id: int) -> Response:
        """The feed."""
        return self.answer(found_or_404(self.visible(), pk=feed_id))

    def patch(self, request: Request, feed_id: int) -> Response:
        """The feed as it is now."""
        return self.answer(feed_pause(feed=self.own(feed_id), actor=self.actor, paused=self.body["paused"]))


class CollectFeed(_FeedView):
    """A feed, asked now."""

    endpoints = {
        "POST": Endpoint(
            summary="Ask a feed now instead of at its next turn",
            description="Answers at once; the state is at /feeds/{id}, its runs at /ingest/runs.",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_INGEST,
            answer=FeedAnswer,
            status=202,
            refusals=(409,),
        )
    }

    def post(self, request: Request, feed_id: int) -> Response:
        """The feed as it stands before the question."""
        feed = self.own(feed_id)
        if feed.state == FeedState.OFF:
            raise Refused(_("The feed is paused: let it go on first."), code="paused", status=409)
        feed_collect_hand_out(feed.pk)
        return self.answer(feed)


class CheckFeed(_FeedView):
    """The permissions of a feed."""

    endpoints = {
        "POST": Endpoint(
            summary="Try each permission that a feed needs, reading only and without what costs money",
            description="The document of `check_permissions`: what is denied and what stays dark without it.",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_INGEST,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, feed_id: int) -> Response:
        """The document."""
        try:
            found = feed_permissions(feed=self.own(feed_id), now=timezone.now())
        except ValueError as error:
            raise Refused(str(error), code="not_checkable", status=409) from error
        return self.answer(permissions_document(found.account, found.findings, found.paid_requests))


class FeedDeliveryAnswer(serializers.ModelSerializer[FeedDelivery]):
    """A delivery of bills as the feed saw it in the bucket."""

    billing_period = MonthField(help_text="Month.")
    modified = UtcDateTimeField(help_text="When its manifest was written.")
    failure = serializers.CharField(source="error", help_text="Why it was not taken, else empty.")
    run = serializers.IntegerField(source="run_id", allow_null=True)

    class Meta:
        model = FeedDelivery
        fields = ["report", "billing_period", "manifest", "modified", "state", "failure", "run"]


class FeedDeliveries(_FeedView):
    """What a feed of bills has seen."""

    endpoints = {
        "GET": Endpoint(
            summary="List the deliveries that a feed of bills has seen, newest month first",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            query=PageQuery,
            answer=page_of(FeedDeliveryAnswer),
        )
    }

    def get(self, request: Request, feed_id: int) -> Response:
        """One page."""
        feed: Feed = found_or_404(self.visible(), pk=feed_id)
        return self.page(feed.deliveries.order_by("-billing_period", "report", "pk"))


class FeedNames(_FeedView):
    """Names of accounts through a feed."""

    endpoints = {
        "POST": Endpoint(
            summary="Take the names of accounts from AWS Organizations, with the role of a feed of bills",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            answer=CountsAnswer,
            refusals=(502,),
        )
    }

    def post(self, request: Request, feed_id: int) -> Response:
        """Counts; a name from a file is kept."""
        feed: Feed = found_or_404(
            self.visible().filter(organisation=self.organisation, kind=FeedKind.BILLS), pk=feed_id
        )
        try:
            counts = names_from_feed(feed=feed, organisation=self.organisation, actor=self.actor)
        except ProviderError as error:
            raise Refused(str(error), code="provider_failed", status=502) from error
        return self.answer({"counts": asdict(counts)})
