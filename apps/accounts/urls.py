"""Sign-in pages: allauth's, without those that have no use here.

An admin vouches for the address and the SSO for its own, so nobody signs up, confirms or changes an address;
passwords are changed with the old one or set by a link, so nothing asks for a second sign-in.
"""

from allauth.urls import urlpatterns as allauth_urls
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, re_path
from django.urls.resolvers import URLPattern, URLResolver

from apps.accounts.views import ForgotPassword, second_factor

CLOSED = (
    r"^email/$",
    r"^signup/$",
    r"^confirm-email/.*$",
    r"^password/set/$",
    r"^reauthenticate/.*$",
    r"^login/code/.*$",
    r"^3rdparty/(signup/|login/error/)?$",
    r"^social/(signup|connections|login/error)/$",
)


def closed(request: HttpRequest, *args: str) -> HttpResponse:
    """There is no such page."""
    raise Http404


urlpatterns: list[URLPattern | URLResolver] = [
    *(re_path(address, closed) for address in CLOSED),
    path("second-factor/", second_factor, name="account_second_factor"),
    path("password/reset/", ForgotPassword.as_view(), name="account_reset_password"),
    *allauth_urls,
]
