"""What every installation shares. Each environment variable is described in docs/settings.md."""

from pathlib import Path

import environ

from finops.settings.accounts import *  # noqa: F403
from finops.settings.logs import *  # noqa: F403
from finops.settings.reports import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()

OFFPEAK_VERSION = "0.1.0"
OFFPEAK_HOME = Path(env.str("OFFPEAK_HOME", default=str(BASE_DIR / "var"))).resolve()

SECRET_KEY = env.str("SECRET_KEY", default="")
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = False
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "finops.apps.FinopsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "django_filters",
    "django_htmx",
    "template_partials",
    "django_structlog",
    "csp",
    "apps.accounts",
    "apps.catalog",
    "apps.prices",
    "apps.billing",
    "apps.workloads",
    "apps.storage",
    "apps.ingest",
    "apps.recommendations",
    "apps.waste",
    "apps.launches",
    "apps.reports",
    "apps.costchecks",
    "apps.api",
    "apps.dashboard",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "apps.accounts.bodies.BodyMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every page needs a sign-in unless it says otherwise (login_not_required).
    "apps.accounts.middleware.SignInMiddleware",
    "apps.accounts.middleware.MembershipMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
]

ROOT_URLCONF = "finops.urls"
WSGI_APPLICATION = "finops.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.dashboard.context.frame",
            ],
        },
    }
]

# Without DATABASE_URL a verb starts the embedded servers and sets it (manage.py).
DATABASES = {"default": env.db_url("DATABASE_URL", default="postgres://offpeak@localhost/offpeak")}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

BROKER_URL = env.str("BROKER_URL", default="redis://localhost:6379/0")
CACHE_URL = env.str("CACHE_URL", default="")
CACHES = {
    "default": {
        "BACKEND": "finops.cache.ForgivingCache"
        if CACHE_URL
        else "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": CACHE_URL,
        "KEY_PREFIX": "offpeak",
        "OPTIONS": {"serializer": "finops.cache.JsonSerializer"} if CACHE_URL else {},
    }
}

LAKE_WAREHOUSE = env.str("LAKE_WAREHOUSE", default=str(OFFPEAK_HOME / "lake"))
LAKE_MEMORY_LIMIT = env.str("LAKE_MEMORY_LIMIT", default="1GB")
LAKE_THREADS = env.int("LAKE_THREADS", default=2)
# Folders below which an operator may name a path for import; uploads go to OFFPEAK_HOME/uploads.
IMPORT_ROOTS: list[str] = env.list("IMPORT_ROOTS", default=[])
UPLOAD_MAX_BYTES = env.int("UPLOAD_MAX_BYTES", default=512 * 1024 * 1024)
# Cells of a bill that no column of the lake takes stay with their line.
BILL_KEEP_SOURCE_COLUMNS = env.bool("BILL_KEEP_SOURCE_COLUMNS", default=True)
BILL_OBJECT_MAX_BYTES = env.int("BILL_OBJECT_MAX_BYTES", default=8 * 1024**3)
BILL_DELIVERY_MAX_BYTES = env.int("BILL_DELIVERY_MAX_BYTES", default=64 * 1024**3)
AWS_ENDPOINT_URL = env.str("OFFPEAK_AWS_ENDPOINT_URL", default="")

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = OFFPEAK_HOME / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "apps.dashboard.finders.PlotlyFinder",
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        # plotly.js writes style attributes and its heat maps are data: images
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser", "rest_framework.parsers.MultiPartParser"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "EXCEPTION_HANDLER": "apps.api.errors.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Offpeak",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": ["apps.api.schema_hook.complete"],
    "DESCRIPTION": "Prices, advice and ingest. Money and prices are decimal strings, times ISO 8601 in UTC.",
    "COMPONENT_SPLIT_REQUEST": True,
    "SERVE_PUBLIC": True,
}
# "<amount> <currency>": what a purchase commits above it, or in another currency, takes two approvals.
PURCHASE_SECOND_APPROVAL_ABOVE = env.str("PURCHASE_SECOND_APPROVAL_ABOVE", default="1000 USD")
# Days after which a purchase that was not carried out no longer may be.
PURCHASE_VALID_DAYS = env.int("PURCHASE_VALID_DAYS", default=7)
# Days after which a change of lifecycle rules that nobody approved or wrote no longer may be.
STORAGE_CHANGE_VALID_DAYS = env.int("STORAGE_CHANGE_VALID_DAYS", default=7)
# Days between the last approval of a lifecycle rule that deletes and its writing.
STORAGE_DELETE_DELAY_DAYS = env.int("STORAGE_DELETE_DELAY_DAYS", default=7)
# Days before the end of a commitment at which an alert is raised.
COMMITMENT_ALERT_DAYS = [int(days) for days in env.list("COMMITMENT_ALERT_DAYS", default=["90", "30", "7"])]
# Seconds that a worker has a launch before another may take it, and that it waits for a provider's answer.
LAUNCH_LEASE_SECONDS = env.int("LAUNCH_LEASE_SECONDS", default=300)
LAUNCH_CALL_SECONDS = env.int("LAUNCH_CALL_SECONDS", default=30)
# Folder with a folder of credentials (server, token, ca.crt) for each Kubernetes cluster.
KUBERNETES_CREDENTIALS = env.str("KUBERNETES_CREDENTIALS", default=str(OFFPEAK_HOME / "kubernetes"))
# Days after which a plan of launches that was not approved no longer may be.
LAUNCH_PLAN_VALID_DAYS = env.int("LAUNCH_PLAN_VALID_DAYS", default=7)
# "<amount> <currency>": a plan of launches that costs more, or in another currency, takes two approvals.
LAUNCH_SECOND_APPROVAL_ABOVE = env.str("LAUNCH_SECOND_APPROVAL_ABOVE", default="1000 USD")
# Days that given advice is kept as evidence; 0 keeps it for ever.
ADVICE_KEEP_DAYS = env.int("ADVICE_KEEP_DAYS", default=400)
# Seconds that a worker may spend on pages ahead of their readers after each load of prices; 0: none.
WARM_UP_SECONDS = env.int("WARM_UP_SECONDS", default=60)
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
API_THROTTLE_PER_MINUTE = env.int("API_THROTTLE_PER_MINUTE", default=600)
API_BODY_MAX_BYTES = env.int("API_BODY_MAX_BYTES", default=1024 * 1024)

CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A broker that does not answer must not hold up whoever hands out a task: waiting work is handed out later.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 3, "socket_timeout": 5}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2}
CELERY_TIMEZONE = "UTC"
# Writes beat's heartbeat on each turn of its loop, which sleeps no longer than this.
CELERY_BEAT_SCHEDULER = "apps.api.heartbeat.HeartbeatScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 20
