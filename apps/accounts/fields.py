"""Model fields of the accounts app."""

from typing import Any

from django.db import models


class LowerEmailField(models.EmailField):
    """An address kept and looked up in lower case, so that uniqueness ignores case."""

    def to_python(self, value: Any) -> Any:
        """Lower-case text; None stays None."""
        value = super().to_python(value)
        return value.strip().lower() if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        """Lower-case on the way to the database, in writes and in lookups alike."""
        value = super().get_prep_value(value)
        return value.strip().lower() if isinstance(value, str) else value
