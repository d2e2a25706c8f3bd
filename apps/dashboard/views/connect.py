"""Data → Connect a bill: from nothing to the first reconciled month, step by step."""

from __future__ import annotations

import json
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.billing.selectors.accounts import account_names_of
from apps.billing.selectors.deliveries import deliveries_current
from apps.billing.services.cells import decimal_cell
from apps.dashboard import connect
from apps.dashboard.forms_bills import BillFeedForm, InvoiceForm, SetupForm
from apps.dashboard.spend import bill_age
from apps.ingest.bills.kinds import DEMO
from apps.ingest.models import Feed, FeedDelivery, FeedKind
from apps.ingest.services import feeds as feed_services
from apps.ingest.services.invoices import invoice_total_set
from apps.ingest.tasks import feed_collect_hand_out
from finops.providers.aws.bill_setup import (
    BillSetup,
    cloudformation,
    delivery_policy,
    read_policy,
    terraform,
)

DELIVERIES_SHOWN = 36
FORMATS = {
    "cloudformation": (cloudformation, "offpeak-bills.json"),
    "terraform": (terraform, "offpeak-bills.tf"),
}


def asked(request: HttpRequest) -> SignedInRequest:
    """The request of somebody signed in."""
    return cast(SignedInRequest, request)


def _feeds(request: HttpRequest, *, own: bool = False) -> Any:
    mine = Q(organisation=asked(request).organisation)
    return Feed.objects.filter(mine if own else mine | Q(organisation__isnull=True), kind=FeedKind.BILLS)


@access(Action.VIEW)
def connect_page(request: HttpRequest) -> HttpResponse:
    """The page; `format=cloudformation` and `format=terraform` give the texts as files."""
    form = SetupForm(request.GET) if "bucket" in request.GET else SetupForm(initial=SetupForm.fresh())
    setup = form.setup() if form.is_bound else None
    wanted = FORMATS.get(request.GET.get("format", ""))
    if setup is not None and wanted is not None:
        make, name = wanted
        response = HttpResponse(make(setup), content_type="text/plain; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response
    return _page(request, setup_form=form, setup=setup, status=422 if form.errors else 200)


def _page(
    request: HttpRequest,
    *,
    setup_form: SetupForm | None = None,
    setup: BillSetup | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    organisation, membership = asked(request).organisation, asked(request).membership
    feeds = list(_feeds(request))
    seen = list(FeedDelivery.objects.filter(feed__in=feeds).select_related("feed", "run"))
    there = deliveries_current(organisation=organisation).order_by("-billing_period", "report")
    # The demo's bill shows what the pages can do; it is nobody's way to an own bill.
    current = list(there.exclude(kind=DEMO.name))
    names = account_names_of(organisation).count()
    steps = connect.steps_of(feeds, seen, current, names)
    may = allowed(membership, Action.CONNECT_BILLS)
    context = {
        "page": "data",
        "tab": "bills-connect",
        "tabs": connect.tabs(membership),
        "data_age": bill_age(organisation, timezone.now()),
        "demo": there.filter(kind=DEMO.name).exists(),
        "heading": connect.heading_of(steps, current),
        "steps": steps,
        "feeds": feeds,
        "seen": seen[:DELIVERIES_SHOWN],
        "deliveries": [_told(delivery) for delivery in current[:DELIVERIES_SHOWN]],
        "cost": connect.cost_of_asking(feeds),
        "names": names,
        "may": may,
        "refusal": "" if may else refusal(Action.CONNECT_BILLS, organisation),
        "setup_form": setup_form or SetupForm(initial=SetupForm.fresh()),
        "setup": setup,
        "texts": _texts(setup) if setup else None,
        "feed_form": BillFeedForm(initial=_feed_values(setup)),
        "now": timezone.now(),
        **more,
    }
    return render(request, "dashboard/connect.html", context, status=status)


def _told(delivery: Any) -> dict[str, Any]:
    kind, word = connect.verdict_of(delivery)
    return {
        "row": delivery,
        "month": connect.month_word(delivery),
        "billed": connect.billed_of(delivery),
        "difference": connect.difference_of(delivery),
        "verdict": kind,
        "word": word,
        "currency": next(iter(delivery.totals), ""),
    }


def _texts(setup: BillSetup) -> dict[str, Any]:
    policy = read_policy(
        setup.bucket, setup.prefix, cost_explorer=setup.cost_explorer, organizations=setup.organizations
    )
    return {
        "cloudformation": cloudformation(setup),
        "terraform": terraform(setup),
        "policy": json.dumps(policy, indent=2),
        "delivery": "" if setup.make_bucket else json.dumps(delivery_policy(setup), indent=2),
    }


def _feed_values(setup: BillSetup | None) -> dict[str, Any]:
    if setup is None:
        return {}
    return {
        "bucket": setup.bucket,
        "prefix": setup.prefix,
        "region": setup.region,
        "role_arn": setup.role_arn,
        "external_id": setup.external_id,
        "account": setup.payer,
        "cost_explorer": setup.cost_explorer,
    }


@require_POST
@access(Action.CONNECT_BILLS)
def bill_feed_add(request: HttpRequest) -> HttpResponse:
    """Create a feed of bills and ask it at once."""
    form = BillFeedForm(request.POST)
    organisation = asked(request).organisation
    if not form.is_valid():
        return _page(request, status=422, feed_form=form)
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    try:
        with transaction.atomic():
            feed = feed_services.bill_feed_add(
                organisation=organisation, actor=Actor.of_user(asked(request).user), **form.cleaned_data
            )
            transaction.on_commit(lambda: feed_collect_hand_out(feed.pk))
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            form.add_error(name, " ".join(texts))
        return _page(request, status=422, feed_form=form)
    messages.success(request, _("The feed %(name)s is created and asked now.") % {"name": feed.name})
    return redirect("dashboard:bills-connect")


@require_POST
@access(Action.CONNECT_BILLS)
def bill_feed_ask(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Collect a feed now instead of at its next turn."""
    feed: Feed = get_object_or_404(_feeds(request, own=True), pk=feed_id)
    feed_collect_hand_out(feed.pk)
    messages.success(request, _("%(name)s is asked now.") % {"name": feed.name})
    return redirect("dashboard:bills-connect")


@require_POST
@access(Action.CONNECT_BILLS)
def bill_feed_check(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Try each permission of a feed, without the one that costs money."""
    feed: Feed = get_object_or_404(_feeds(request, own=True), pk=feed_id)
    checked = feed_services.feed_permissions(feed=feed, now=timezone.now())
    missing = [finding for finding in checked.findings if finding.verdict == "denied"]
    findings = [
        {"action": f.action, "verdict": f.verdict, "dark": _(f.dark) if f.dark else "", "reason": f.reason}
        for f in checked.findings
    ]
    return _page(request, findings=findings, checked_feed=feed, missing=len(missing))


@require_POST
@access(Action.CONNECT_BILLS)
def invoice_total(request: HttpRequest, delivery_id: int) -> HttpResponse:
    """Compare a month with the total of its invoice."""
    organisation = asked(request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    own = deliveries_current(organisation=organisation).filter(report__organisation=organisation)
    delivery = get_object_or_404(own, pk=delivery_id)
    form = InvoiceForm(request.POST)
    try:
        amount = decimal_cell(request.POST.get("amount"), needed=True)
        assert amount is not None  # noqa: S101 - needed
        found = invoice_total_set(
            delivery=delivery,
            organisation=organisation,
            actor=Actor.of_user(asked(request).user),
            amount=amount,
            currency=str(request.POST.get("currency", "")).strip().upper(),
        )
    except ValidationError as error:
        said = " ".join(text for texts in error.message_dict.values() for text in texts)
        return _page(request, status=422, invoice_error=said, invoice_of=delivery_id, invoice_form=form)
    except ValueError as error:
        return _page(request, status=422, invoice_error=str(error), invoice_of=delivery_id, invoice_form=form)
    month = connect.month_word(found)
    if found.reconciled:
        messages.success(
            request, _("%(month)s is reconciled: the bill equals the invoice.") % {"month": month}
        )
    else:
        difference = connect.difference_of(found)
        messages.error(
            request,
            _("%(month)s differs from the invoice by %(difference)s.")
            % {"month": month, "difference": difference},
        )
    return redirect("dashboard:bills-connect")
