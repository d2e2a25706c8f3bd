"""Settings of the server that bench/api.py asks: those of `make run`, with one empty address beside."""

from finops.settings.dev import *  # noqa: F403

ROOT_URLCONF = "bench._api_urls"
