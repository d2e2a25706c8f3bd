"""Pages of sign-in that differ from allauth's in more than words."""

from __future__ import annotations

from typing import Any

from allauth.account.views import PasswordResetView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import method_decorator


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
