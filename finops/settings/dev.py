"""One machine with the embedded servers: what `make run` uses."""

from finops.settings.base import *  # noqa: F403
