"""The one page of reports that needs no sign-in: a link in a mail must work for whoever got the mail."""

from django.urls import path

from apps.reports.views import unsubscribe_page

urlpatterns = [path("unsubscribe/<str:token>/", unsubscribe_page, name="unsubscribe")]
