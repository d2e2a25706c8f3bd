"""Unsubscribing by the link in a mail, and by the button that mail programs show (RFC 8058).

GET changes nothing: scanners of mail open every link. POST needs neither a session nor a CSRF token: a mail
program sends `List-Unsubscribe=One-Click` on its own, and the token in the address is what allows it.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.reports.models import Recipient
from apps.reports.services.subscriptions import unsubscribe


@login_not_required
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask (GET) or do it (POST); a token that is none looks the same as one that was."""
    if request.method == "POST":
        unsubscribe(token=token, now=timezone.now())
        return _page(request, token, done=True)
    row = Recipient.objects.select_related("subscription").filter(token=token).first()
    return _page(request, token, done=row is None or row.unsubscribed_at is not None, row=row)


def _page(request: HttpRequest, token: str, *, done: bool, row: Recipient | None = None) -> HttpResponse:
    name = row.subscription.name if row is not None and not done else ""
    response = render(request, "reports/unsubscribe.html", {"done": done, "name": name, "token": token})
    response["Referrer-Policy"] = "no-referrer"
    return response
