"""/healthz: this process answers. /readyz: what it needs is there. Both without sign-in and without
details.
"""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.api.health import READY_CACHE_SECONDS, WEB_NEEDS, report

_kept: dict[str, Any] = {"until": 0.0}


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Liveness: no database, no broker."""
    return JsonResponse({"state": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Readiness: 503 when database, cache or lake fail; the other parts are named beside.

    The result is kept for 5 s, so that calling it often costs nothing.
    """
    if time.monotonic() >= _kept["until"]:
        _kept["checks"] = {c["name"]: c["state"] for c in report(timezone.now())["checks"]}
        _kept["until"] = time.monotonic() + READY_CACHE_SECONDS
    checks: dict[str, str] = _kept["checks"]
    ready = all(checks[name] != "failed" for name in WEB_NEEDS)
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)
