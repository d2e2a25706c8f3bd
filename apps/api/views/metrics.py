"""/metrics: the state of the installation in Prometheus' text form, for who has METRICS_TOKEN."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.api.health import CHECKS, report
from apps.api.models import Heartbeat
from apps.ingest.models import Feed, FeedState
from apps.launches.models import Launch, LaunchState
from apps.reports.models import AlertDelivery, Delivery
from finops.celery import app

TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = {"ok": 0, "late": 1, "failed": 2}
# What takes long or is asked below in another way.
LEFT_OUT = frozenset({"feeds", "worker", "beat", "broker"})
Sample = tuple[dict[str, str], float]


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The numbers; 404 without a token in the settings, 401 without it in the request."""
    token = settings.METRICS_TOKEN
    if not token:
        raise Http404
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="offpeak metrics"'})
    return HttpResponse("".join(_lines(timezone.now())), content_type=TYPE)


def _lines(now: datetime) -> Iterator[str]:
    for name, (told, samples) in _samples(now).items():
        yield f"# HELP offpeak_{name} {told}\n# TYPE offpeak_{name} gauge\n"
        for labels, value in samples:
            text = ",".join(f'{key}="{_escaped(word)}"' for key, word in labels.items())
            yield f"offpeak_{name}{{{text}}} {value:g}\n" if text else f"offpeak_{name} {value:g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _samples(now: datetime) -> dict[str, tuple[str, list[Sample]]]:
    """By name: what it is, and its samples. A part that cannot be asked has none, never a 0."""
    names = tuple(name for name in CHECKS if name not in LEFT_OUT)
    checks = report(now, names)["checks"]
    return {
        "info": ("The running version.", [({"version": settings.OFFPEAK_VERSION}, 1)]),
        "check_state": (
            "Parts of the installation: 0 ok, 1 late, 2 failed.",
            [({"check": one["name"]}, STATES[one["state"]]) for one in checks],
        ),
        "queue_tasks": ("Tasks that wait in the queue.", _queue()),
        "heartbeat_age_seconds": (
            "Seconds since worker and beat were last seen.",
            [({"name": row.name}, (now - row.at).total_seconds()) for row in Heartbeat.objects.all()],
        ),
        "feed_age_seconds": ("Seconds since a feed last succeeded, or was made.", _feeds(now)),
        "launch_lateness_seconds": (
            "Seconds by which the oldest launch that should have begun is late; 0: none is.",
            [({}, _lateness(now))],
        ),
        "launches": ("Launches by state.", _counted(Launch)),
        "report_deliveries": ("Deliveries of weekly reports by state.", _counted(Delivery)),
        "alert_deliveries": ("Deliveries of alerts by state.", _counted(AlertDelivery)),
    }


def _queue() -> list[Sample]:
    try:
        with app.connection_for_read(connect_timeout=2) as broker:
            broker.ensure_connection(max_retries=0, timeout=2)
            return [({}, broker.default_channel.client.llen(app.conf.task_default_queue))]
    except Exception:  # a broker that is away has no number; check_state and the alert on absence say so
        return []


def _feeds(now: datetime) -> list[Sample]:
    return [
        (
            {"feed": str(feed.pk), "name": feed.name, "kind": feed.kind, "state": feed.state},
            (now - (feed.last_success_at or feed.created_at)).total_seconds(),
        )
        for feed in Feed.objects.exclude(state=FeedState.OFF).order_by("pk")
    ]


def _lateness(now: datetime) -> float:
    oldest = Launch.objects.filter(state=LaunchState.QUEUED, due_at__lt=now).aggregate(at=Min("due_at"))["at"]
    return (now - oldest).total_seconds() if oldest else 0.0


def _counted(model: type[Launch] | type[Delivery] | type[AlertDelivery]) -> list[Sample]:
    rows = model._default_manager.order_by().values_list("state").annotate(n=Count("pk")).order_by("state")
    return [({"state": state}, count) for state, count in rows]
