"""One row, one mail or message: claimed by a conditional update, told how it ended, never sent twice unseen.

The same rules for mails of reports and for alerts. Three things may happen to a worker:
it dies before the last byte leaves: nothing was accepted, the row waits again when its lease is over;
it dies, or the answer is lost, after that: the row is `unknown` and a person or a setting decides;
its claim was taken over meanwhile: the conditional update before the last byte fails and it sends nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F

from apps.reports.mail.message import sender_host
from apps.reports.models import Sending, SendState
from apps.reports.wording import clean
from finops.redact import redact

# Longer than a slow server takes for one mail (EMAIL_TIMEOUT for each step of it).
LEASE = timedelta(minutes=10)
# Minutes between tries; a server that is away for two days is given up.
BACKOFF = (1, 2, 5, 15, 30, 60, 120, 240, 360, 360, 360, 360, 360, 360)
Row = TypeVar("Row", bound=Sending)


def new_message_id() -> str:
    """A Message-ID without its brackets: made once for a row, whatever is tried later."""
    return f"{secrets.token_hex(16)}@{sender_host()}"


def claim_some(model: type[Row], *, now: datetime, limit: int, **only: Any) -> list[Row]:
    """Up to `limit` rows that are due, ours until their lease is over."""
    claim = secrets.token_hex(16)
    due = model._default_manager.filter(state=SendState.WAITING, next_try_at__lte=now, **only)
    with transaction.atomic():
        rows = due.order_by("next_try_at", "pk").select_for_update(skip_locked=True, of=("self",))[:limit]
        chosen = list(rows.values_list("pk", flat=True))
        model._default_manager.filter(pk__in=chosen, state=SendState.WAITING).update(
            state=SendState.SENDING,
            claim=claim,
            lease_until=now + LEASE,
            attempts=F("attempts") + 1,
            handed_at=None,
        )
    return list(model._default_manager.filter(claim=claim, state=SendState.SENDING).order_by("pk"))


def handed(row: Sending, *, now: datetime, **also: Any) -> bool:
    """Tell that the last byte is about to leave; False when the row is no longer ours: do not send it."""
    return _ours(row, handed_at=now, lease_until=now + LEASE, **also)


def sent(row: Sending, *, now: datetime) -> bool:
    """The other side has it."""
    return _ours(row, state=SendState.SENT, sent_at=now, error="", next_try_at=None)


def refused(row: Sending, *, error: str) -> bool:
    """The other side will never take it."""
    return _ours(row, state=SendState.REFUSED, error=words(error), next_try_at=None)


def unknown(row: Sending, *, error: str, now: datetime) -> bool:
    """The last byte left and no answer came."""
    if settings.REPORT_UNKNOWN_OUTCOME == "resend":
        return _ours(row, state=SendState.WAITING, error=words(error), next_try_at=now + timedelta(hours=1))
    return _ours(row, state=SendState.UNKNOWN, error=words(error), next_try_at=None)


def later(row: Sending, *, error: str, now: datetime) -> bool:
    """It was certainly not accepted: try again, and give up after the last try."""
    if row.attempts >= len(BACKOFF):
        return _ours(row, state=SendState.FAILED, error=words(error), next_try_at=None)
    wait = timedelta(minutes=BACKOFF[row.attempts - 1])
    return _ours(row, state=SendState.WAITING, error=words(error), next_try_at=now + wait)


def put_off(row: Sending, *, until: datetime, why: str) -> bool:
    """Not now: quiet hours or a snooze. It counts as no try."""
    return _ours(
        row, state=SendState.WAITING, error=words(why), next_try_at=until, attempts=max(row.attempts - 1, 0)
    )


def dropped(row: Sending, *, why: str) -> bool:
    """It is not sent at all."""
    return _ours(row, state=SendState.DROPPED, error=words(why), next_try_at=None)


def failed(row: Sending, *, error: str) -> bool:
    """It cannot be sent by this installation as it is."""
    return _ours(row, state=SendState.FAILED, error=words(error), next_try_at=None)


def broken(row: Sending, *, error: Exception, now: datetime) -> bool:
    """Our own fault: one row that cannot be sent must not keep the others back; a person may try it again."""
    told = f"{type(error).__name__}: {error}"
    return unknown(row, error=told, now=now) if row.handed_at is not None else failed(row, error=told)


def words(error: str) -> str:
    """An answer of the other side as it may be kept and shown: no database keeps a null character."""
    return redact(clean(error))[:500]


def _ours(row: Sending, **values: Any) -> bool:
    """Change the row while it is claimed by us; whether it was."""
    if "state" in values:
        values |= {"claim": "", "lease_until": None}
    model = type(row)
    mine = model._default_manager.filter(pk=row.pk, state=SendState.SENDING, claim=row.claim)
    done = mine.update(**values) == 1
    if done:
        for name, value in values.items():
            setattr(row, name, value)
    return done


def leases_end(model: type[Sending], *, now: datetime) -> tuple[int, int]:
    """Rows whose worker is gone: (wait again, outcome unknown)."""
    gone = model._default_manager.filter(state=SendState.SENDING, lease_until__lt=now)
    told = "The worker that had it is gone."
    again = gone.filter(handed_at__isnull=True).update(
        state=SendState.WAITING, claim="", lease_until=None, next_try_at=now, error=told
    )
    resend = settings.REPORT_UNKNOWN_OUTCOME == "resend"
    lost = gone.filter(handed_at__isnull=False).update(
        state=SendState.WAITING if resend else SendState.UNKNOWN,
        claim="",
        lease_until=None,
        next_try_at=now if resend else None,
        error=f"{told} The last byte had left.",
    )
    return again, lost


ENDED = (SendState.REFUSED, SendState.FAILED, SendState.UNKNOWN, SendState.BOUNCED, SendState.DROPPED)


def send_again(model: type[Row], rows: Iterable[Row], *, now: datetime) -> int:
    """A person asks for another try of what ended without success, under the same Message-ID; how many."""
    chosen = [row.pk for row in rows]
    return model._default_manager.filter(pk__in=chosen, state__in=ENDED).update(
        state=SendState.WAITING, next_try_at=now, attempts=0, handed_at=None, error=""
    )
