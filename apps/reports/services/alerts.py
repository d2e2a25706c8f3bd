"""Raising alerts once a cause and period, keeping quiet, and sending them through channels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.reports.causes import Found, causes, told
from apps.reports.mail.message import Outgoing, message_bytes
from apps.reports.models import Alert, AlertDelivery, Channel, ChannelKind, SendState, Snooze
from apps.reports.selectors.alerts import alert_document, channels_for
from apps.reports.services import outbound, sending
from apps.reports.services.channels import signature, signing_secret
from apps.reports.services.deliveries import NO_SERVER, envelope_sender
from apps.reports.services.mail_server import (
    LostClaimError,
    MailServer,
    NoAnswerError,
    RefusedError,
    TryLaterError,
)
from finops.engine.weekly import Quiet

log = structlog.get_logger(__name__)
BATCH, MAX_SNOOZE, MAX_REASON = 20, timedelta(days=366), 500
Clock = Callable[[], datetime]


def alerts_collect(*, organisation: Organisation, now: datetime) -> int:
    """Raise what holds and was not raised, mark what no longer holds; how many are new."""
    raised = 0
    for cause in causes():
        try:
            with transaction.atomic():
                found = list(cause.collect(organisation, now))
                raised += sum(_raise(organisation, cause.name, one, now) for one in found)
                _over(organisation, cause.name, found, now)
        except Exception:
            log.exception("alert_cause_failed", cause=cause.name, organisation=organisation.pk)
    return raised


def alerts_collect_all(*, now: datetime) -> int:
    """Every organisation."""
    return sum(alerts_collect(organisation=one, now=now) for one in Organisation.objects.order_by("pk"))


def _raise(organisation: Organisation, cause: str, found: Found, now: datetime) -> int:
    """1 when it is new; the unique constraint decides between two tasks."""
    alert, made = Alert.objects.get_or_create(
        organisation=organisation,
        cause=cause,
        key=found.key,
        period=found.period,
        defaults={"facts": dict(found.facts), "team_id": found.team, "raised_at": now},
    )
    if made:
        AlertDelivery.objects.bulk_create(
            AlertDelivery(
                alert=alert,
                channel=channel,
                email=email,
                message_id=sending.new_message_id(),
                state=SendState.WAITING,
                next_try_at=now,
            )
            for channel in channels_for(alert)
            for email in (channel.emails or [""])
        )
    elif alert.over_at is not None:
        Alert.objects.filter(pk=alert.pk).update(over_at=None)
    return int(made)


def _over(organisation: Organisation, cause: str, found: Sequence[Found], now: datetime) -> None:
    holds = {(one.key, one.period) for one in found}
    open_ = Alert.objects.filter(organisation=organisation, cause=cause, over_at__isnull=True)
    gone = [pk for pk, key, period in open_.values_list("pk", "key", "period") if (key, period) not in holds]
    Alert.objects.filter(pk__in=gone).update(over_at=now)


def alerts_deliver(*, now: datetime, clock: Clock = timezone.now, most: int = 1000) -> int:
    """Send what is due through its channel; how many left. Safe beside itself."""
    count = taken = 0
    with MailServer() as server:
        while taken < most:
            rows = sending.claim_some(AlertDelivery, now=now, limit=BATCH)
            if not rows:
                break
            taken += len(rows)
            for row in rows:
                try:
                    count += _deliver(row, server, clock)
                except Exception as error:
                    log.exception("alert_not_sent", delivery=row.pk)
                    sending.broken(row, error=error, now=clock())
    return count


def _deliver(row: AlertDelivery, server: MailServer, clock: Clock) -> int:
    alert = Alert.objects.select_related("organisation").get(pk=row.alert_id)
    channel = Channel.objects.get(pk=row.channel_id)
    at = clock()
    if not channel.active:
        return _ended(sending.dropped(row, why="the channel is switched off"))
    until, why = _kept_back(alert, channel, at)
    if until is not None:
        sending.put_off(row, until=until, why=why)
        return 0
    if alert.over_at is not None and row.error:  # it waited, and is over by now
        return _ended(sending.dropped(row, why="it was over before it could be sent"))
    mail = channel.kind == ChannelKind.MAIL
    if bool(row.email) != mail:  # three people of a mail channel are not three messages to its new webhook
        return _ended(sending.dropped(row, why="the channel was of another kind when this was raised"))
    if mail and row.email not in channel.emails:
        return _ended(sending.dropped(row, why="taken off the channel before it was sent"))
    with translation.override(channel.language):
        if mail:
            return _by_mail(row, alert, channel, server, clock)
        return _by_http(row, alert, channel, clock)


def _ended(_done: bool) -> int:
    return 0


def _kept_back(alert: Alert, channel: Channel, at: datetime) -> tuple[datetime | None, str]:
    """Until when it must not be sent, and why."""
    snooze = Snooze.objects.filter(
        organisation=alert.organisation, cause=alert.cause, key=alert.key, until__gt=at
    ).first()
    if snooze is not None:
        return snooze.until, "snoozed"
    if channel.quiet_from is not None and channel.quiet_to is not None:
        quiet = Quiet(channel.quiet_from, channel.quiet_to, ZoneInfo(channel.time_zone))
        until = quiet.until(at)
        if until is not None:
            return until, "quiet hours"
    return None, ""


def _by_mail(row: AlertDelivery, alert: Alert, channel: Channel, server: MailServer, clock: Clock) -> int:
    if not settings.MAIL_IS_SET:
        return _ended(sending.failed(row, error=NO_SERVER))
    words = told(alert.cause, alert.facts)
    text = "\n\n".join(part for part in (words.title, words.text, words.link) if part) + "\n"
    body = message_bytes(
        Outgoing(
            message_id=row.message_id,
            to=row.email,
            sender=settings.DEFAULT_FROM_EMAIL,
            dated=alert.raised_at,
            subject=words.title[:200],
            text=text,
            html="",
            language="zh-Hans" if channel.language.startswith("zh") else "en",
            list_id=f"alerts-{alert.organisation_id}",
        )
    )
    try:
        server.send(envelope_sender(), row.email, body, lambda: sending.handed(row, now=clock()))
    except RefusedError as error:
        return _ended(sending.refused(row, error=str(error)))
    except NoAnswerError as error:
        return _ended(sending.unknown(row, error=str(error), now=clock()))
    except LostClaimError:
        return 0
    except TryLaterError as error:
        return _ended(sending.later(row, error=str(error), now=clock()))
    return int(sending.sent(row, now=clock()))


def slack_body(alert: Alert) -> dict[str, Any]:
    """Blocks of plain text: what stands in a bill is never read as a mention or a link."""
    words = told(alert.cause, alert.facts)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": words.title[:150], "emoji": False}}
    ]
    if words.text:
        text = {"type": "plain_text", "text": words.text[:2900], "emoji": False}
        blocks.append({"type": "section", "text": text})
    if words.link:
        button = {
            "type": "button",
            "text": {"type": "plain_text", "text": _("Open in Offpeak")},
            "url": words.link,
        }
        blocks.append({"type": "actions", "elements": [button]})
    escaped = words.title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": escaped, "blocks": blocks}


def webhook_body(alert: Alert, row: AlertDelivery) -> dict[str, Any]:
    """The alert's document; `delivery` is the same for each try."""
    return {"type": "alert", "delivery": row.message_id.partition("@")[0], "alert": alert_document(alert)}


def _by_http(row: AlertDelivery, alert: Alert, channel: Channel, clock: Clock) -> int:
    slack = channel.kind == ChannelKind.SLACK
    document = slack_body(alert) if slack else webhook_body(alert, row)
    body = json.dumps(document, ensure_ascii=False, sort_keys=True).encode()
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if not slack:
        headers["Offpeak-Signature"] = signature(signing_secret(channel), body, int(clock().timestamp()))
        headers["Offpeak-Delivery"] = row.message_id.partition("@")[0]
    if not sending.handed(row, now=clock()):
        return 0
    try:
        answer = outbound.post(channel.address, body, headers)
    except outbound.AddressRefusedError as error:
        return _ended(sending.refused(row, error=str(error)))
    except outbound.NoConnectionError as error:
        return _ended(sending.later(row, error=str(error), now=clock()))
    except outbound.NoResponseError as error:
        # A webhook knows a repeat by Offpeak-Delivery; Slack would show it twice.
        told_error = f"no answer: {error}"
        again = sending.unknown if slack else sending.later
        return _ended(again(row, error=told_error, now=clock()))
    if 200 <= answer.status < 300:
        return int(sending.sent(row, now=clock()))
    words = f"HTTP {answer.status} {answer.text}"
    if answer.status == 429 or answer.status >= 500:
        return _ended(sending.later(row, error=words, now=clock()))
    return _ended(sending.refused(row, error=words))


def channel_test(*, channel: Channel, now: datetime) -> list[AlertDelivery]:
    """Send a test through a channel now, whatever the hour; the rows say what came of it."""
    alert = Alert.objects.create(
        organisation=channel.organisation,
        team=channel.team,
        cause="test",
        key=f"channel:{channel.pk}",
        period=now.isoformat(),
        facts={"channel": channel.name},
        raised_at=now,
        over_at=now,
    )
    rows = [
        AlertDelivery.objects.create(
            alert=alert, channel=channel, email=email, message_id=sending.new_message_id(),
            state=SendState.SENDING, claim="test", lease_until=now + sending.LEASE, attempts=1,
        )
        for email in (channel.emails or [""])
    ]  # fmt: skip
    with MailServer() as server, translation.override(channel.language):
        for row in rows:
            if channel.kind == ChannelKind.MAIL:
                _by_mail(row, alert, channel, server, timezone.now)
            else:
                _by_http(row, alert, channel, timezone.now)
    return list(AlertDelivery.objects.filter(alert=alert))


def alert_snooze(*, alert: Alert, actor: Actor, until: datetime, reason: str, now: datetime) -> Snooze:
    """Send nothing about this cause until a time. Raises ValidationError by field."""
    text = " ".join(reason.split())
    errors: dict[str, str] = {}
    if not now < until <= now + MAX_SNOOZE:
        errors["until"] = _("Choose a time after now and within a year.")
    if not text:
        errors["reason"] = _("Say why: others will read it.")
    elif len(text) > MAX_REASON or "\x00" in text:
        errors["reason"] = _("At most %(n)d characters.") % {"n": MAX_REASON}
    if errors:
        raise ValidationError(errors)
    with transaction.atomic():
        row, _made = Snooze.objects.update_or_create(
            organisation=alert.organisation,
            cause=alert.cause,
            key=alert.key,
            defaults={"until": until, "reason": text, "author": actor.label, "stated_at": now},
        )
        audit_record(
            organisation=alert.organisation,
            actor=actor,
            action="alert.snooze",
            target=alert,
            after={"cause": alert.cause, "key": alert.key, "until": until, "reason": text},
        )
    return row


def alert_wake(*, alert: Alert, actor: Actor, now: datetime) -> bool:
    """Take a snooze back; what waited for it is due now. False where there was none."""
    with transaction.atomic():
        rows = Snooze.objects.filter(organisation=alert.organisation, cause=alert.cause, key=alert.key)
        if not rows.delete()[0]:
            return False
        waiting = AlertDelivery.objects.filter(
            alert__organisation=alert.organisation, alert__cause=alert.cause, alert__key=alert.key,
            state=SendState.WAITING,
        )  # fmt: skip
        waiting.update(next_try_at=now)
        audit_record(
            organisation=alert.organisation,
            actor=actor,
            action="alert.wake",
            target=alert,
            after={"cause": alert.cause, "key": alert.key},
        )
    return True


def deliveries_again(rows: Iterable[AlertDelivery], *, now: datetime) -> int:
    """A person asks for another try of what ended without success."""
    return sending.send_again(AlertDelivery, rows, now=now)
