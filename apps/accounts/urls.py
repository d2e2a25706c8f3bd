"""Sign-in pages: allauth's, without those by which people would change the address that an admin vouched
for.
"""

from allauth.urls import urlpatterns as allauth_urls
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.urls.resolvers import URLPattern, URLResolver


def closed(request: HttpRequest) -> HttpResponse:
    """Addresses of e-mail and SSO connections are changed by an admin only."""
    raise Http404


urlpatterns: list[URLPattern | URLResolver] = [
    path("email/", closed),
    path("3rdparty/", closed),
    *allauth_urls,
]
