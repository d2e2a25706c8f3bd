"""Writing subscriptions; each change leaves a row in the audit trail."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.accounts.services import audit_record
from apps.accounts.validators import time_zone_names
from apps.reports.models import LANGUAGES, Delivery, Edition, Recipient, SendState, Subscription
from finops.engine.weekly import Clock, next_due
from finops.frames.money import CurrencyError, currency_code

FIELDS = (
    "name", "team", "account", "edition", "language", "time_zone", "weekday", "hour", "currency",
    "attach_pdf", "attach_csv", "active",
)  # fmt: skip
MAX_RECIPIENTS = 2000


def subscription_save(
    *,
    organisation: Organisation,
    actor: Actor,
    fields: Mapping[str, Any],
    recipients: Sequence[str],
    now: datetime,
    subscription: Subscription | None = None,
) -> Subscription:
    """Make a subscription, or replace `subscription` whole. Raises ValidationError by field.

    An address that unsubscribed stays so while it is in the list; taken off and put in again it starts anew.
    """
    checked = _clean(organisation, fields)
    emails = emails_clean(organisation, recipients)
    try:
        with transaction.atomic():
            return _write(organisation, actor, checked, emails, now, subscription)
    except IntegrityError as error:
        if "subscription_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def _write(
    organisation: Organisation,
    actor: Actor,
    checked: dict[str, Any],
    emails: list[str],
    now: datetime,
    given: Subscription | None,
) -> Subscription:
    before = None
    row = Subscription(organisation=organisation)
    if given is not None:
        row = Subscription.objects.select_for_update().get(pk=given.pk)
        before = subscription_facts(row)
    moved = any(
        getattr(row, name, None) != checked[name] for name in ("weekday", "hour", "time_zone", "active")
    )
    for name, value in checked.items():
        setattr(row, name, value)
    if given is None or moved:
        clock = Clock(row.weekday, row.hour, ZoneInfo(row.time_zone))
        row.next_due_at = next_due(clock, now)
    row.updated_at, row.retry_at, row.error = now, None, ""
    row.save()
    row.recipients.exclude(email__in=emails).delete()
    known = set(row.recipients.values_list("email", flat=True))
    Recipient.objects.bulk_create(
        Recipient(subscription=row, email=email, token=secrets.token_urlsafe(32))
        for email in emails
        if email not in known
    )
    audit_record(
        organisation=organisation,
        actor=actor,
        action="report_subscription.change" if given else "report_subscription.create",
        target=row,
        before=before,
        after=subscription_facts(row),
    )
    return row


def subscription_remove(*, subscription: Subscription, actor: Actor) -> bool:
    """Nothing more is sent; what was sent stays. False when somebody else has done it already."""
    with transaction.atomic():
        row = Subscription.objects.select_for_update().filter(pk=subscription.pk).first()
        if row is None:
            return False
        audit_record(
            organisation=row.organisation,
            actor=actor,
            action="report_subscription.remove",
            target=row,
            before=subscription_facts(row),
        )
        Delivery.objects.filter(report__subscription=row, state=SendState.WAITING).update(
            state=SendState.DROPPED, next_try_at=None, error="the subscription was removed"
        )
        row.delete()
    return True


def subscription_facts(row: Subscription) -> dict[str, Any]:
    """What the audit trail keeps of it."""
    values = {name: getattr(row, name) for name in FIELDS if name != "team"}
    values["team"] = row.team.slug if row.team else None
    values["recipients"] = list(row.recipients.values_list("email", flat=True))
    return values


def _clean(organisation: Organisation, given: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(given) - set(FIELDS)):
        raise TypeError(f"no fields of a subscription: {', '.join(unknown)}")
    errors: dict[str, str] = {}
    found: dict[str, Any] = {
        "name": " ".join(str(given.get("name") or "").split()),
        "team": given.get("team"),
        "account": str(given.get("account") or "").strip(),
        "edition": str(given.get("edition") or Edition.FINANCE),
        "language": str(given.get("language") or "en"),
        "time_zone": str(given.get("time_zone") or "UTC"),
        "weekday": given.get("weekday", 1),
        "hour": given.get("hour", 8),
        "currency": "",
        "attach_pdf": bool(given.get("attach_pdf", False)),
        "attach_csv": bool(given.get("attach_csv", False)),
        "active": bool(given.get("active", True)),
    }
    _check_words(found, errors)
    _check_scope(organisation, found, errors)
    if given.get("currency"):
        try:
            found["currency"] = currency_code(str(given["currency"]))
        except CurrencyError:
            errors["currency"] = _("Not a currency: write three letters, for example USD.")
    if errors:
        raise ValidationError(errors)
    return found


def _check_words(found: dict[str, Any], errors: dict[str, str]) -> None:
    if not found["name"] or len(found["name"]) > 100 or "\x00" in found["name"]:
        errors["name"] = _("Give it a name of at most 100 characters.")
    for name, known in (("edition", Edition.values), ("language", [code for code, _name in LANGUAGES])):
        if found[name] not in known:
            errors[name] = _("Choose one of %(known)s.") % {"known": ", ".join(known)}
    if found["time_zone"] not in time_zone_names():
        errors["time_zone"] = _("%(value)s is not a time zone. Use a name like Europe/Berlin or UTC.") % {
            "value": found["time_zone"][:40]
        }
    for name, low, high in (("weekday", 1, 7), ("hour", 0, 23)):
        if not isinstance(found[name], int) or not low <= found[name] <= high:
            errors[name] = _("Write a number from %(low)d to %(high)d.") % {"low": low, "high": high}


def _check_scope(organisation: Organisation, found: dict[str, Any], errors: dict[str, str]) -> None:
    team = found["team"]
    if team is not None and team.organisation_id != organisation.pk:
        errors["team"] = _("There is no such team.")
    if team is not None and found["account"]:
        errors["account"] = _("A report is about a team or an account: leave one empty.")
    if len(found["account"]) > 100 or "\x00" in found["account"]:
        errors["account"] = _("At most %(n)d characters.") % {"n": 100}


def emails_clean(organisation: Organisation, given: Sequence[str]) -> list[str]:
    """Addresses in lower case, each once. Raises ValidationError: costs go to the organisation's own
    people.

    Allowed are members, their domains and REPORT_RECIPIENT_DOMAINS.
    """
    emails = list(dict.fromkeys(one.strip().lower() for one in given if one.strip()))
    if not emails:
        raise ValidationError({"recipients": _("Name at least one address.")})
    if len(emails) > MAX_RECIPIENTS:
        raise ValidationError({"recipients": _("At most %(n)d addresses.") % {"n": MAX_RECIPIENTS}})
    members = Membership.objects.filter(organisation=organisation, user__is_active=True)
    known = {email.rpartition("@")[2] for email in members.values_list("user__email", flat=True)}
    known |= set(settings.REPORT_RECIPIENT_DOMAINS)
    for email in emails:
        try:
            validate_email(email)
        except ValidationError:
            wrong = True
        else:
            wrong = not email.isascii()
        if wrong:
            told = _("Not an address that mail can be sent to: %(email)s") % {"email": email[:80]}
            raise ValidationError({"recipients": told})
        if email.rpartition("@")[2] not in known:
            told = _("%(email)s is of no domain of your members. An operator can allow it.") % {
                "email": email
            }
            raise ValidationError({"recipients": told})
    return emails


def unsubscribe(*, token: str, now: datetime) -> Recipient | None:
    """Take an address off; the same answer when it is off already. None for a token that is none."""
    with transaction.atomic():
        row = (
            Recipient.objects.select_for_update(of=("self",))
            .select_related("subscription__organisation")
            .filter(token=token)
            .first()
        )
        if row is None or row.unsubscribed_at is not None:
            return row
        row.unsubscribed_at = now
        row.save(update_fields=["unsubscribed_at"])
        audit_record(
            organisation=row.subscription.organisation,
            actor=Actor.system("link in a mail"),
            action="report_recipient.unsubscribe",
            target=row,
            after={"email": row.email, "subscription": row.subscription_id},
        )
    return row


def recipient_resume(*, recipient: Recipient, actor: Actor) -> Recipient:
    """Send to an address again that mail came back from, or that unsubscribed by mistake."""
    with transaction.atomic():
        row = Recipient.objects.select_for_update().get(pk=recipient.pk)
        before = {"unsubscribed_at": row.unsubscribed_at, "refused_at": row.refused_at, "reason": row.reason}
        row.unsubscribed_at = row.refused_at = None
        row.reason = ""
        row.save(update_fields=["unsubscribed_at", "refused_at", "reason"])
        audit_record(
            organisation=row.subscription.organisation,
            actor=actor,
            action="report_recipient.resume",
            target=row,
            before=before,
            after={"email": row.email},
        )
    return row
