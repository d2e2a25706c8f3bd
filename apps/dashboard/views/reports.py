"""Weekly mail: who gets which report, what was sent and what became of it; preview and test."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.billing.selectors.spend import SpendError
from apps.dashboard.forms_reports import SubscriptionForm
from apps.dashboard.presenters import reports as words
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import REPORTS_TABS
from apps.dashboard.views.spend import organisation_of
from apps.reports.mail.render import CHART
from apps.reports.models import Attachment, Delivery, Recipient, SendState, Subscription
from apps.reports.selectors.reports import delivery_list, report_find, report_list, subscription_list
from apps.reports.services.composing import compose
from apps.reports.services.deliveries import as_sent
from apps.reports.services.reports import last_week, report_test
from apps.reports.services.sending import send_again
from apps.reports.services.subscriptions import recipient_resume, subscription_remove, subscription_save
from apps.reports.tasks import reports_hand_out
from finops.engine.weekly import WeekError, week_named

MAX_ID_DIGITS, ROWS, BAD_LOOKED = 18, 15, 20
FIELDS = (
    "name", "edition", "account", "language", "weekday", "hour", "time_zone", "currency", "attach_pdf",
    "attach_csv", "active",
)  # fmt: skip
CHART_ID = f"{CHART}@offpeak"


def actor_of(request: HttpRequest) -> Actor:
    """Who acts."""
    return Actor.of_user(cast(SignedInRequest, request).user)


@access(Action.VIEW)
def reports_page(request: HttpRequest) -> HttpResponse:
    """The page; `change=ID` has that subscription in the form."""
    organisation = organisation_of(request)
    row = _named(organisation, request.GET.get("change", ""))
    form = SubscriptionForm(teams=_teams(organisation), initial=_initial(row, request))
    return _page(request, form, row)


def _named(organisation: Organisation, text: str) -> Subscription | None:
    if not text.isdecimal() or len(text) > MAX_ID_DIGITS:
        return None
    return subscription_list(organisation).filter(pk=int(text)).first()


def _teams(organisation: Organisation) -> list[tuple[str, str]]:
    return [(team.slug, team.name) for team in team_list(organisation)]


def _initial(row: Subscription | None, request: HttpRequest) -> dict[str, Any]:
    if row is None:
        user = cast(SignedInRequest, request).user
        return {
            "edition": "finance", "language": user.language or "en", "weekday": 1, "hour": 8,
            "time_zone": user.time_zone, "active": True, "recipients": user.email,
        }  # fmt: skip
    values: dict[str, Any] = {name: getattr(row, name) for name in FIELDS}
    values["team"] = row.team.slug if row.team else ""
    values["recipients"] = "\n".join(one.email for one in row.recipients.all())
    return values


def _page(
    request: HttpRequest, form: SubscriptionForm, row: Subscription | None, status: int = 200
) -> HttpResponse:
    organisation = organisation_of(request)
    rows = list(subscription_list(organisation))
    sent = report_list(organisation)
    pages = Paginator(sent, ROWS).get_page(request.GET.get("p"))
    newest = sent.filter(test=False)[:BAD_LOOKED]
    context: dict[str, Any] = {
        **_frame(organisation),
        "heading": words.heading(rows, sum(getattr(one, "bad", 0) for one in newest)),
        "rows": [words.subscription_line(one) for one in rows],
        "reports": [words.report_line(one) for one in pages],
        "pages": pages,
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_REPORTS),
        "form": form,
        "subscription": row,
    }
    return render(request, "dashboard/reports.html", context, status=status)


def _frame(organisation: Organisation) -> dict[str, Any]:
    return {
        "page": "reports",
        "tab": "reports",
        "tabs": REPORTS_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
    }


@require_POST
@access(Action.MANAGE_REPORTS)
def subscription_keep(request: HttpRequest) -> HttpResponse:
    """Make a subscription, or replace the one that `subscription` names."""
    organisation = organisation_of(request)
    pk = request.POST.get("subscription", "")
    row = _named(organisation, pk)
    if pk and row is None:
        raise Http404
    form = SubscriptionForm(request.POST, teams=_teams(organisation))
    if not form.is_valid():
        return _page(request, form, row, 422)
    given = dict(form.cleaned_data)
    recipients, slug = given.pop("recipients"), given.pop("team")
    given["team"] = team_list(organisation).filter(slug=slug).first() if slug else None
    try:
        saved = subscription_save(
            organisation=organisation,
            actor=actor_of(request),
            fields=given,
            recipients=recipients,
            now=datetime.now(UTC),
            subscription=row,
        )
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
        return _page(request, form, row, 422)
    messages.success(request, _("The report %(name)s is kept.") % {"name": saved.name})
    return redirect("dashboard:reports")


@require_POST
@access(Action.MANAGE_REPORTS)
def subscription_drop(request: HttpRequest, subscription_id: int) -> HttpResponse:
    """Stop a report for good; what was sent stays."""
    row = get_object_or_404(subscription_list(organisation_of(request)), pk=subscription_id)
    subscription_remove(subscription=row, actor=actor_of(request))
    messages.success(request, _("The report %(name)s is removed.") % {"name": row.name})
    return redirect("dashboard:reports")


@access(Action.VIEW)
def preview_page(request: HttpRequest, subscription_id: int) -> HttpResponse:
    """The report as it would be now; nothing is kept. `week=2018-W47` asks for another week."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    row = get_object_or_404(subscription_list(organisation), pk=subscription_id)
    asked, problem = request.GET.get("week", ""), ""
    week = last_week(row, now)
    if asked:
        try:
            week = week_named(asked)
        except WeekError:
            problem = _("Not an ISO week like 2018-W47: %(text)s") % {"text": asked[:20]}
    try:
        made = compose(row, week=week, now=now)
    except SpendError as error:
        messages.error(request, error.message)
        return redirect("dashboard:reports")
    context = {
        **_frame(organisation),
        "subscription": row,
        "heading": made.letter.subject,
        "preheader": made.letter.preheader,
        "week": week.label,
        "problem": problem,
        "framed": words.framed(made.html, made.chart, CHART_ID),
        "text": made.text,
        "size": len(made.html.encode()) // 1024 + 1,
    }
    return render(request, "dashboard/report_preview.html", context, status=422 if problem else 200)


@require_POST
@access(Action.VIEW)
def send_test(request: HttpRequest, subscription_id: int) -> HttpResponse:
    """Send the report of the last week to the reader alone."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    row = get_object_or_404(subscription_list(organisation), pk=subscription_id)
    email = cast(SignedInRequest, request).user.email
    try:
        report = report_test(subscription=row, week=last_week(row, now), email=email, now=now)
    except SpendError as error:
        messages.error(request, error.message)
        return redirect("dashboard:reports")
    reports_hand_out()
    messages.success(request, _("A test is on its way to %(email)s.") % {"email": email})
    return redirect("dashboard:report", report.pk)


@access(Action.VIEW)
def report_page(request: HttpRequest, report_id: int) -> HttpResponse:
    """A past report exactly as it was sent, and what became of each mail."""
    organisation = organisation_of(request)
    report = report_find(organisation, report_id)
    if report is None:
        raise Http404
    mails = words.mails(list(report.deliveries.all()))
    chart = bytes(report.chart) if report.chart is not None else None
    context = {
        **_frame(organisation),
        "report": report,
        "week": words.week_word(report),
        "framed": words.framed(report.html, chart, CHART_ID),
        "mails": mails,
        "sent": sum(line.row.state == SendState.SENT for line in mails),
        "files": report.attachments.all(),
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_REPORTS),
    }
    return render(request, "dashboard/report.html", context)


def _download(body: bytes, content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@access(Action.VIEW)
def report_file(request: HttpRequest, report_id: int, file_id: int) -> HttpResponse:
    """An attachment as it was sent."""
    rows = Attachment.objects.filter(report__organisation=organisation_of(request), report=report_id)
    one = get_object_or_404(rows, pk=file_id)
    return _download(bytes(one.body), one.content_type, one.name)


@access(Action.MANAGE_REPORTS)
def mail_file(request: HttpRequest, delivery_id: int) -> HttpResponse:
    """One mail with its headers; `X-Offpeak-As-Sent` says whether its bytes are those that left.

    It holds the recipient's own link to unsubscribe, so it is not for every reader.
    """
    row: Delivery = get_object_or_404(delivery_list(organisation_of(request)), pk=delivery_id)
    body, same = as_sent(row)
    response = _download(body, "message/rfc822", f"{row.report.week}-{row.pk}.eml")
    response["X-Offpeak-As-Sent"] = {True: "yes", False: "no", None: "not sent"}[same]
    return response


@require_POST
@access(Action.MANAGE_REPORTS)
def mail_again(request: HttpRequest, delivery_id: int) -> HttpResponse:
    """Try a mail again that did not arrive, under the same Message-ID."""
    row: Delivery = get_object_or_404(delivery_list(organisation_of(request)), pk=delivery_id)
    if send_again(Delivery, [row], now=datetime.now(UTC)):
        reports_hand_out()
        messages.success(request, _("The mail to %(email)s is tried again.") % {"email": row.email})
    else:
        messages.info(request, _("This mail needs no other try."))
    return redirect("dashboard:report", row.report_id)


@require_POST
@access(Action.MANAGE_REPORTS)
def resume(request: HttpRequest, recipient_id: int) -> HttpResponse:
    """Send to an address again that unsubscribed or that mail came back from."""
    rows = Recipient.objects.filter(subscription__organisation=organisation_of(request))
    row: Recipient = get_object_or_404(rows, pk=recipient_id)
    recipient_resume(recipient=row, actor=actor_of(request))
    messages.success(request, _("%(email)s gets the report again.") % {"email": row.email})
    return redirect("dashboard:reports")
