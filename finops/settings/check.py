"""Static checks (mypy, makemigrations --check): no server and no secret is needed."""

from finops.settings.base import *  # noqa: F403

SECRET_KEY = "only-for-static-checks"  # noqa: S105
