"""The state of the installation: one small check a part, for `./manage.py health` and /readyz."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from apps.api.heartbeat import LATE_AFTER
from apps.api.models import Heartbeat
from apps.ingest.models import Feed, FeedState
from apps.ingest.selectors import current_snapshots, lake
from finops.celery import app
from finops.redact import redact

State = Literal["ok", "late", "failed"]
GIB = 1024**3
DISK_LATE = 2 * GIB
DISK_FAILED = GIB // 4
BROKER_TIMEOUT_SECONDS = 2
# What a page needs; without a worker or beat the pages still answer.
WEB_NEEDS = frozenset({"database", "cache", "lake"})
READY_CACHE_SECONDS = 5.0


@dataclass(frozen=True)
class Check:
    """`late` works but needs a look; `failed` does not work. `detail` has no secrets."""

    name: str
    state: State
    detail: str
    seconds: float = 0.0


def _database(now: datetime) -> tuple[State, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        version = cursor.fetchone()[0]
    executor = MigrationExecutor(connection)
    waiting = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if waiting:
        return "failed", _("%(n)d migrations wait: run ./manage.py migrate") % {"n": waiting}
    return "ok", f"PostgreSQL {version}"


def _cache(now: datetime) -> tuple[State, str]:
    cache.set("health", now.isoformat(), timeout=60)
    if cache.get("health") != now.isoformat():
        return "failed", _("what was written did not come back")
    return "ok", settings.CACHES["default"]["BACKEND"].rpartition(".")[2]


def _broker(now: datetime) -> tuple[State, str]:
    with app.connection_for_write(connect_timeout=BROKER_TIMEOUT_SECONDS) as broker:
        broker.ensure_connection(max_retries=0, timeout=BROKER_TIMEOUT_SECONDS)
        queue = broker.default_channel.client.llen(app.conf.task_default_queue)
    return "ok", _("%(n)d tasks wait") % {"n": queue}


def _lake(now: datetime) -> tuple[State, str]:
    lake().snapshot_ids()
    shown = current_snapshots()
    if not shown:
        return "ok", _("nothing loaded yet")
    return "ok", ", ".join(f"{table} @ {snapshot}" for table, snapshot in sorted(shown.items()))


def _living(name: str) -> Callable[[datetime], tuple[State, str]]:
    def look(now: datetime) -> tuple[State, str]:
        row = Heartbeat.objects.filter(name=name).first()
        if row is None:
            return "failed", _("never seen")
        age = now - row.at
        detail = _("last seen %(n)d s ago") % {"n": max(0, int(age.total_seconds()))}
        return ("ok" if age <= LATE_AFTER else "failed"), detail

    return look


def _feeds(now: datetime) -> tuple[State, str]:
    late = []
    feeds = list(Feed.objects.exclude(state=FeedState.OFF))
    for feed in feeds:
        since = feed.last_success_at or feed.created_at
        if now - since > 2 * feed.interval:
            hours = (now - since).total_seconds() / 3600
            late.append(_("%(name)s %(hours).1f h behind") % {"name": feed.name, "hours": hours})
        elif feed.state == FeedState.FAILING:
            late.append(_("%(name)s fails") % {"name": feed.name})
    if late:
        return "late", ", ".join(late)
    return "ok", _("%(n)d feeds on time") % {"n": len(feeds)} if feeds else _("no feeds")


def _disk(now: datetime) -> tuple[State, str]:
    home = settings.OFFPEAK_HOME
    free = shutil.disk_usage(home if home.exists() else home.parent).free
    detail = _("%(n).1f GiB free") % {"n": free / GIB}
    if free < DISK_FAILED:
        return "failed", detail
    return ("late" if free < DISK_LATE else "ok"), detail


CHECKS: dict[str, Callable[[datetime], tuple[State, str]]] = {
    "database": _database,
    "cache": _cache,
    "broker": _broker,
    "lake": _lake,
    "worker": _living("worker"),
    "beat": _living("beat"),
    "feeds": _feeds,
    "disk": _disk,
}


def _run(name: str, now: datetime) -> Check:
    started = time.perf_counter()
    try:
        state, detail = CHECKS[name](now)
    except Exception as error:  # a check that fails in whatever way is an answer, not a crash
        lines = str(error).strip().splitlines()
        state, detail = "failed", redact(f"{type(error).__name__}: {lines[0] if lines else ''}")
    return Check(name, state, detail, round(time.perf_counter() - started, 3))


def report(now: datetime, names: tuple[str, ...] = tuple(CHECKS)) -> dict[str, Any]:
    """{"state", "version", "at", "checks": [{"name", "state", "detail", "seconds"}]}; the worst check
    counts.
    """
    checks = [_run(name, now) for name in names]
    states = {check.state for check in checks}
    worst = next(state for state in ("failed", "late", "ok") if state in states)
    return {
        "state": worst,
        "version": settings.OFFPEAK_VERSION,
        "at": now.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "checks": [asdict(check) for check in checks],
    }
