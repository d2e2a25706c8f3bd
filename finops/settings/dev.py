"""One machine with the embedded servers: what `make run` uses."""

from finops.settings.base import *  # noqa: F403

# Names carry a fingerprint of the content, so browsers keep files for ever; gzip copies are made once.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
