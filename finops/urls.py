"""Address map: dashboard, accounts, REST API, health."""

from django.urls import include, path

urlpatterns = [
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", include("apps.api.urls")),
    path("", include("apps.dashboard.urls")),
]
