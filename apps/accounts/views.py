"""Pages of sign-in that differ from allauth's in more than words."""

from __future__ import annotations

from typing import Any

from allauth.account.views import PasswordResetView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.forms import CodeForm
from apps.accounts.services.second_factor import second_factor_passes
from apps.accounts.sign_in import Guesses, stage_of


@method_decorator(login_not_required, name="dispatch")
class ForgotPassword(PasswordResetView):
    """Mails a link; an installation without a mail server says so and whom to ask, and takes no address."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The page without a form where nothing can be mailed."""
        if settings.MAIL_IS_SET:
            answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
            return answer
        return self.render_to_response({"mail_is_set": False})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say that mail works."""
        found: dict[str, Any] = super().get_context_data(**kwargs)
        return found | {"mail_is_set": True}


@never_cache
@login_not_required
@require_http_methods(["GET", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Asks for the code of somebody whose password was right; without a sign-in that waits, back to it."""
    stage = stage_of(request)
    if stage is None:
        return redirect("account_login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = stage.login.user
        try:
            guesses = Guesses(request, user)
            if second_factor_passes(user=user, code=form.cleaned_data["code"], now=timezone.now()):
                guesses.right()
                answer: HttpResponse = stage.exit()
                return answer
            form.add_error("code", _("This code is wrong or was used already."))
        except ValidationError as error:
            form.add_error(None, error)
    return render(request, "account/second_factor.html", {"form": form})
