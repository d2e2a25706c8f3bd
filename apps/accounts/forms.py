"""allauth's forms in our words."""

from __future__ import annotations

from typing import Any

from allauth.account import forms as theirs
from django import forms
from django.utils.translation import gettext_lazy as _


def _label(form: forms.Form, **labels: Any) -> None:
    """Our labels; no placeholder repeats them, no help has markup of its own."""
    for name, label in labels.items():
        field = form.fields[name]
        field.label = label
        field.help_text = ""
        field.widget.attrs.pop("placeholder", None)


class SignInForm(theirs.LoginForm):
    """Address and password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _label(self, login=_("E-mail address"), password=_("Password"), remember=_("Stay signed in"))


class ChangePasswordForm(theirs.ChangePasswordForm):
    """The old password and the new one twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _label(
            self,
            oldpassword=_("Current password"),
            password1=_("New password"),
            password2=_("New password again"),
        )
        self.fields["password1"].help_text = _("At least 12 characters.")


class ForgotPasswordForm(theirs.ResetPasswordForm):
    """The address to send the link to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _label(self, email=_("E-mail address"))


class NewPasswordForm(theirs.ResetPasswordKeyForm):
    """The new password twice, behind a link."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _label(self, password1=_("New password"), password2=_("New password again"))
        self.fields["password1"].help_text = _("At least 12 characters.")


class CodeForm(forms.Form):
    """A code of the second factor."""

    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        help_text=_("Six digits from the app, or one of your recovery codes."),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True}),
    )
