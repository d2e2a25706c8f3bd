"""The explorer's days as a FOCUS file."""

from __future__ import annotations

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from apps.accounts.access import access
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action
from apps.billing.focus_download import download
from apps.billing.selectors.focus_rows import FORMATS
from apps.billing.selectors.spend_question import SpendError, question_of
from apps.billing.services.focus_export import ExportError


@access(Action.VIEW)
def focus_file(request: SignedInRequest) -> HttpResponseBase:
    """All lines of the days of the address; other filters do not count, for a FOCUS file is whole."""
    form = request.GET.get("format", FORMATS[0])
    try:
        window = question_of(start=request.GET.get("from", ""), end=request.GET.get("to", "")).window
        return download(
            window=window,
            organisation=request.organisation,
            form=form if form in FORMATS else FORMATS[0],
        )
    except (ExportError, SpendError) as error:
        messages.error(request, error.message)
        return redirect("dashboard:spend")
