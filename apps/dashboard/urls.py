"""Pages."""

from django.urls import URLPattern, path

from apps.dashboard.views import home, market, run

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("market/", market.market_page, name="market"),
    path("run/", run.run_page, name="run"),
    path("data/", home.home, name="data"),
    path("settings/", home.home, name="settings"),
    path("settings/appearance/", home.appearance, name="appearance"),
]
