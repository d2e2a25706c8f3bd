"""The addresses of the installation and an empty view behind the same middlewares."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path

from finops.urls import handler400, handler404, handler500
from finops.urls import urlpatterns as theirs


@login_not_required
def empty(request: HttpRequest) -> HttpResponse:
    """Nothing."""
    return HttpResponse(b"")


urlpatterns: list[object] = [path("empty/", empty), *theirs]

__all__ = ["handler400", "handler404", "handler500", "urlpatterns"]
