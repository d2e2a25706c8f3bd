"""The test suite: real PostgreSQL and Valkey of the session's own home (tests/conftest.py starts them)."""

from finops.settings.base import *  # noqa: F403

SECRET_KEY = "only-for-tests-never-deployed"  # noqa: S105
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
MAIL_IS_SET = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Tests that load prices count queries and look at the broker.
WARM_UP_SECONDS = 0
