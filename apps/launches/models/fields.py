"""Money as the rows of launches keep it."""

from __future__ import annotations

from typing import Any

from django.db import models


def money(**given: Any) -> models.DecimalField[Any, Any]:
    """An amount; the currency is in a column beside it."""
    return models.DecimalField(max_digits=24, decimal_places=10, **given)
