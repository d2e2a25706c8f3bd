"""Sign-in: local accounts by invitation, the company's SSO (OpenID Connect) when OIDC_SERVER_URL is set."""

import environ

env = environ.Env()

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "name")},
    },
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "account_login"

ACCOUNT_ADAPTER = "apps.accounts.adapters.AccountAdapter"
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "apps.accounts.tokens.LinkTokens"  # noqa: S105
ACCOUNT_FORMS = {
    "login": "apps.accounts.forms.SignInForm",
    "change_password": "apps.accounts.forms.ChangePasswordForm",
    "reset_password": "apps.accounts.forms.ForgotPasswordForm",
    "reset_password_from_key": "apps.accounts.forms.NewPasswordForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
# An address comes from an admin's invitation or from the SSO, which vouch for it.
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# A reset asked for an unknown address answers alike and mails nobody.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/300s/key",
    "reset_password": "10/m/ip,3/m/key",
    "reset_password_from_key": "20/m/ip",
    "change_password": "5/m/user",
    "reauthenticate": "10/m/user",
}
# How many proxies stand in front and add to X-Forwarded-For; 0 takes the address of the connection.
ALLAUTH_TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)

SESSION_COOKIE_AGE = env.int("SESSION_COOKIE_AGE", default=14 * 24 * 3600)

# Without a mail server nothing is mailed: links to set a password come from an admin.
MAIL_IS_SET = bool(env.str("EMAIL_URL", default=""))
vars().update(env.email_url_config(env.str("EMAIL_URL", default="") or "dummymail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="offpeak@localhost")

OIDC_SERVER_URL = env.str("OIDC_SERVER_URL", default="")
OIDC_ALLOWED_DOMAINS: list[str] = [
    domain.strip().lower() for domain in env.list("OIDC_ALLOWED_DOMAINS", default=[])
]
OIDC_DEFAULT_ROLE = env.str("OIDC_DEFAULT_ROLE", default="viewer")
# For a provider that vouches for its addresses but sends no email_verified.
OIDC_TRUST_EMAIL = env.bool("OIDC_TRUST_EMAIL", default=False)

SOCIALACCOUNT_ADAPTER = "apps.accounts.adapters.SsoAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": env.str("OIDC_NAME", default="SSO"),
                "client_id": env.str("OIDC_CLIENT_ID", default=""),
                "secret": env.str("OIDC_CLIENT_SECRET", default=""),
                "settings": {
                    "server_url": OIDC_SERVER_URL,
                    "verified_email": OIDC_ALLOWED_DOMAINS if OIDC_TRUST_EMAIL else False,
                },
            }
        ]
        if OIDC_SERVER_URL
        else [],
    }
}
