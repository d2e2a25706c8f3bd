"""Weekly reports: subscriptions, what was sent, bounces."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, Refused, found_or_404, page_of
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer
from apps.api.views.report_answers import MailAnswer, ReportAnswer, SubscriptionAnswer
from apps.billing.selectors.spend import SpendError, SpendRefusedError
from apps.reports.models import LANGUAGES, Delivery, Edition, Subscription
from apps.reports.selectors.reports import (
    delivery_document,
    delivery_list,
    report_document,
    report_find,
    report_full_document,
    report_list,
    subscription_document,
    subscription_list,
)
from apps.reports.services.bounces import Bounce, bounce_record
from apps.reports.services.composing import compose
from apps.reports.services.reports import last_week, report_make
from apps.reports.services.sending import send_again
from apps.reports.services.subscriptions import MAX_RECIPIENTS, subscription_remove, subscription_save
from apps.reports.tasks import reports_hand_out
from finops.engine.spend import Week
from finops.engine.weekly import WeekError, week_named

WEEK = {"type": "string", "pattern": r"^\d{4}-W\d{2}$", "example": "2018-W47"}


def team_named(view: ApiView, slug: str | None) -> Team | None:
    """The organisation's team of this slug. Raises ValidationError."""
    if not slug:
        return None
    found = team_list(view.organisation).filter(slug=slug).first()
    if found is None:
        raise serializers.ValidationError({"team": [_("There is no such team.")]})
    return found


class SubscriptionBody(StrictSerializer):
    """A subscription, whole: what is left out is its default."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation.")
    recipients = serializers.ListField(
        child=serializers.CharField(max_length=254),
        min_length=1,
        max_length=MAX_RECIPIENTS,
        help_text="Addresses of members, of their domains or of REPORT_RECIPIENT_DOMAINS.",
    )
    team = serializers.SlugField(required=False, allow_null=True, max_length=50, help_text="Only about it.")
    account = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, max_length=100, help_text="Only about it."
    )
    edition = serializers.ChoiceField(choices=Edition.values, default=Edition.FINANCE.value)
    language = serializers.ChoiceField(choices=[code for code, _name in LANGUAGES], default="en")
    time_zone = serializers.CharField(default="UTC", max_length=64, help_text="An IANA name: Europe/Berlin.")
    weekday = serializers.IntegerField(default=1, min_value=1, max_value=7, help_text="ISO: Monday is 1.")
    hour = serializers.IntegerField(default=8, min_value=0, max_value=23, help_text="On the zone's clock.")
    currency = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, max_length=10, help_text="Convert to it."
    )
    attach_pdf = serializers.BooleanField(default=False)
    attach_csv = serializers.BooleanField(default=False)
    active = serializers.BooleanField(default=True, help_text="Whether it is sent each week.")


class _SubscriptionView(ApiView):
    tag = "reports"

    def find(self, subscription_id: int) -> Subscription:
        """The organisation's own; 404 for any other."""
        found: Subscription = found_or_404(subscription_list(self.organisation), pk=subscription_id)
        return found

    def save(self, row: Subscription | None) -> Response:
        """Keep the body."""
        fields: dict[str, Any] = dict(self.body)
        recipients = fields.pop("recipients")
        fields["team"] = team_named(self, fields.pop("team", None))
        try:
            saved = subscription_save(
                organisation=self.organisation,
                actor=self.actor,
                fields=fields,
                recipients=recipients,
                now=timezone.now(),
                subscription=row,
            )
        except Subscription.DoesNotExist as error:  # removed by somebody else meanwhile
            raise NotFound from error
        return self.answer(subscription_document(self.find(saved.pk)))


class Subscriptions(_SubscriptionView):
    """Who gets which report when."""

    endpoints = {
        "GET": Endpoint(
            summary="Subscriptions of weekly reports, by name",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            query=PageQuery,
            answer=page_of(SubscriptionAnswer),
        ),
        "POST": Endpoint(
            summary="Set up a weekly report",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=SubscriptionBody,
            answer=SubscriptionAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([subscription_document(row) for row in subscription_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The subscription as it is kept."""
        return self.save(None)


class OneSubscription(_SubscriptionView):
    """A subscription."""

    endpoints = {
        "GET": Endpoint(
            summary="Read a subscription",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            answer=SubscriptionAnswer,
        ),
        "PUT": Endpoint(
            summary="Replace a subscription: what the body leaves out is its default",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=SubscriptionBody,
            answer=SubscriptionAnswer,
        ),
        "DELETE": Endpoint(
            summary="Stop a weekly report; what was sent stays",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, subscription_id: int) -> Response:
        """The document of one."""
        return self.answer(subscription_document(self.find(subscription_id)))

    def put(self, request: Request, subscription_id: int) -> Response:
        """The subscription as it is kept now."""
        return self.save(self.find(subscription_id))

    def delete(self, request: Request, subscription_id: int) -> Response:
        """Nothing."""
        subscription_remove(subscription=self.find(subscription_id), actor=self.actor)
        return self.answer(None)


class WeekQuery(StrictQuery):
    """Which week."""

    week = serializers.RegexField(
        r"^\d{4}-W\d{2}$", required=False, help_text="An ISO week like 2018-W47; default the last whole one."
    )


class WeekBody(StrictSerializer):
    """Which week."""

    week = serializers.RegexField(
        r"^\d{4}-W\d{2}$", required=False, help_text="An ISO week like 2018-W47; default the last whole one."
    )


def week_asked(row: Subscription, text: str | None) -> Week:
    """The week. Raises ValidationError for none and for one that is not over."""
    now = timezone.now()
    try:
        week = week_named(text) if text else last_week(row, now)
    except WeekError as error:
        told = _("Not an ISO week like 2018-W47: %(text)s") % {"text": str(text)[:20]}
        raise serializers.ValidationError({"week": [told]}) from error
    if week.last >= now.date():
        told = _("The week %(week)s is not over.") % {"week": week.label}
        raise serializers.ValidationError({"week": [told]})
    return week


def refused(error: SpendError) -> Exception:
    """A question about spend that cannot be answered."""
    if isinstance(error, SpendRefusedError):
        return Refused(error.message, code="no_exchange_rate")
    return serializers.ValidationError({error.field: [error.message]})


class PreviewReport(_SubscriptionView):
    """A report that is not kept."""

    endpoints = {
        "GET": Endpoint(
            summary="The report of a week as it would be now; nothing is kept or sent",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            query=WeekQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `send_report --dry-run`.",
        )
    }

    def get(self, request: Request, subscription_id: int) -> Response:
        """The document."""
        row = self.find(subscription_id)
        try:
            made = compose(row, week=week_asked(row, self.query.get("week")), now=timezone.now())
        except SpendError as error:
            raise refused(error) from error
        return self.answer({**made.document, "html": made.html, "text": made.text})


class SendReport(_SubscriptionView):
    """A report that is written and sent."""

    endpoints = {
        "POST": Endpoint(
            summary="Write the report of a week, if there is none yet, and send what was not sent",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=WeekBody,
            answer=OpenApiTypes.OBJECT,
            description="A week has one report a subscription: asked again, nobody gets it twice.",
        )
    }

    def post(self, request: Request, subscription_id: int) -> Response:
        """The report in short; its mails are sent by a worker."""
        row = self.find(subscription_id)
        try:
            report, new = report_make(
                subscription=row, week=week_asked(row, self.body.get("week")), now=timezone.now()
            )
        except SpendError as error:
            raise refused(error) from error
        reports_hand_out()
        return self.answer({**report_document(report), "new": new})


class Reports(ApiView):
    """Reports as they were sent."""

    tag = "reports"
    endpoints = {
        "GET": Endpoint(
            summary="Reports, newest first, with how many mails were sent",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            query=PageQuery,
            answer=page_of(ReportAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        rows: QuerySet[Any] = report_list(self.organisation)
        number, size = self.query["page"], self.query["page_size"]
        start = (number - 1) * size
        shown = {
            start + i: {**report_document(row), "mails": row.mails, "sent": row.sent, "failed": row.bad}
            for i, row in enumerate(rows[start : start + size])
        }
        return self.page([shown.get(i, {}) for i in range(rows.count())])


class OneReport(ApiView):
    """A report as it was sent."""

    tag = "reports"
    endpoints = {
        "GET": Endpoint(
            summary="A report exactly as it was sent, with what became of each mail",
            action=Action.VIEW,
            scope=Scope.READ_REPORTS,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, report_id: int) -> Response:
        """The document."""
        report = report_find(self.organisation, report_id)
        if report is None:
            raise NotFound(_("There is nothing at this address."))
        return self.answer(report_full_document(report))


class RetryMail(ApiView):
    """Another try of a mail."""

    tag = "reports"
    endpoints = {
        "POST": Endpoint(
            summary="Try a mail again that did not arrive, under the same Message-ID",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            answer=MailAnswer,
            description="Of a mail that was sent or waits nothing changes.",
        )
    }

    def post(self, request: Request, delivery_id: int) -> Response:
        """The mail."""
        row: Delivery = found_or_404(delivery_list(self.organisation), pk=delivery_id)
        if send_again(Delivery, [row], now=timezone.now()):
            reports_hand_out()
        row.refresh_from_db()
        return self.answer(delivery_document(row))


class BounceBody(StrictSerializer):
    """A mail that came back."""

    message_id = serializers.CharField(max_length=200, help_text="The Message-ID, with or without < and >.")
    permanent = serializers.BooleanField(default=True, help_text="False: delayed only.")
    reason = serializers.CharField(max_length=500, help_text="As the other side told it.")


class Bounces(ApiView):
    """Mails that came back."""

    tag = "reports"
    endpoints = {
        "POST": Endpoint(
            summary="Record that a mail came back",
            action=Action.MANAGE_REPORTS,
            scope=Scope.WRITE_REPORTS,
            body=BounceBody,
            answer=MailAnswer,
            refusals=(404,),
            description="After a permanent one nothing more is sent to the address until a person says so.",
        )
    }

    def post(self, request: Request) -> Response:
        """The mail."""
        bounce = Bounce(
            self.body["message_id"].strip().strip("<>"), self.body["permanent"], self.body["reason"]
        )
        row = bounce_record(bounce, now=timezone.now(), organisation=self.organisation)
        if row is None:
            raise NotFound(_("No mail of ours has this Message-ID."))
        return self.answer(delivery_document(row))
