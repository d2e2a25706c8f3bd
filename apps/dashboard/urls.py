"""Pages."""

from django.urls import URLPattern, path

from apps.dashboard.views import home, market

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("market/", market.market_page, name="market"),
    path("run/", home.home, name="run"),
    path("data/", home.home, name="data"),
    path("settings/", home.home, name="settings"),
    path("settings/appearance/", home.appearance, name="appearance"),
]
