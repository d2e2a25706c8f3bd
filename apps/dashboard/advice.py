"""The one place where pages ask for advice: the service that the API and the command line ask too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.accounts.models import Organisation
from apps.recommendations.services import advise_launch
from finops.engine.workload import WorkloadError
from finops.reasons import reason_text


class RefusedError(Exception):
    """The question cannot be asked like this: `field` names the input, `message` the way out."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


def advice_document(
    question: dict[str, Any],
    *,
    at: datetime,
    snapshots: Mapping[str, int],
    organisation: Organisation | None,
) -> dict[str, Any]:
    """The document of `advise_launch` for this question at this moment."""
    try:
        document: dict[str, Any] = advise_launch(
            **question, at=at, snapshots=snapshots, organisation=organisation
        )
    except WorkloadError as error:
        raise RefusedError(error.field, reason_text(error.message)) from error
    return document
