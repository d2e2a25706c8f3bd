"""A JSON document kept to the letter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models


class DocumentField(models.TextField):
    """JSON as the text it was given as: jsonb would order its keys anew, and an answer read again would not
    be the answer that was given.
    """

    if TYPE_CHECKING:
        _pyi_private_get_type: Any
        _pyi_private_set_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        """The document with its keys in their order."""
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        """Its text."""
        return None if value is None else json.dumps(value, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        """The document, also of a text, as fixtures hold it."""
        return json.loads(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        """For fixtures."""
        return self.get_prep_value(self.value_from_object(obj)) or ""
