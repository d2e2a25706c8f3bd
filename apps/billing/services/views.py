"""Writing saved views of the spend explorer."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation, User
from apps.billing.models import SavedView

MAX_VIEWS = 100


def saved_view_keep(*, organisation: Organisation, owner: User, name: str, query: str) -> SavedView:
    """Keep a question under a name; the same name again replaces it. Raises ValidationError by field."""
    name = " ".join(name.split())
    if not name or len(name) > 100:
        raise ValidationError({"name": _("Give the view a name of at most 100 characters.")})
    if len(query) > 4000:
        raise ValidationError({"name": _("The address is too long to keep.")})
    mine = SavedView.objects.filter(organisation=organisation, owner=owner)
    found = mine.filter(name__iexact=name).first()
    if found is None and mine.count() >= MAX_VIEWS:
        raise ValidationError({"name": _("At most %(n)d views. Remove one first.") % {"n": MAX_VIEWS}})
    if found is None:
        found = SavedView(organisation=organisation, owner=owner)
    found.name, found.query = name, query
    try:
        with transaction.atomic():
            found.save()
    except IntegrityError as error:
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error
    return found


def saved_view_remove(*, view: SavedView) -> None:
    """Forget a view."""
    view.delete()
