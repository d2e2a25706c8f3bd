"""Address map: dashboard, accounts, REST API, health."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.i18n import set_language

from apps.accounts.urls import urlpatterns as account_urls
from apps.api.views.health import healthz, readyz
from apps.api.views.metrics import metrics

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("accounts/", include(account_urls)),
    # The sign-in page offers the language too.
    path("i18n/setlang/", login_not_required(set_language), name="set_language"),
    path("api/v1/", include("apps.api.urls")),
    path("", include("apps.reports.urls")),
    path("", include("apps.dashboard.urls")),
]

# Below /api/ what fails before or outside of a view is a problem document too.
handler400 = "apps.api.errors.bad_request"
handler404 = "apps.api.errors.not_found"
handler500 = "apps.api.errors.server_error"
