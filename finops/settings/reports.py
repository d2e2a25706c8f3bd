"""Weekly mail and alerts: links, who may be written to, and where webhooks may go."""

import environ

env = environ.Env()

# What links in mails begin with; without it they lead to this machine.
_PORT = env.str("OFFPEAK_PORT", default="") or "8000"
PUBLIC_URL = env.str("PUBLIC_URL", default=f"http://127.0.0.1:{_PORT}").rstrip("/")
# Domains that may get reports besides members and their domains.
REPORT_RECIPIENT_DOMAINS: list[str] = [
    domain.strip().lower() for domain in env.list("REPORT_RECIPIENT_DOMAINS", default=[])
]
# The envelope's sender, where mail servers send what could not be delivered.
REPORT_BOUNCE_ADDRESS = env.str("REPORT_BOUNCE_ADDRESS", default="")
# "hold": a mail whose acceptance the server did not confirm waits for a person; "resend": it is sent again
# under the same Message-ID.
REPORT_UNKNOWN_OUTCOME = env.str("REPORT_UNKNOWN_OUTCOME", default="hold")
# Prometheus servers that people may collect metrics from, by page and REST; any other address is refused.
PROMETHEUS_URLS: list[str] = env.list("PROMETHEUS_URLS", default=[])
# Networks inside which webhooks may go, as CIDR; other private addresses are refused.
WEBHOOK_ALLOWED_NETWORKS: list[str] = env.list("WEBHOOK_ALLOWED_NETWORKS", default=[])
# Hours after the newest delivery of a bill at which an alert says that it is late.
ALERT_BILL_LATE_HOURS = env.int("ALERT_BILL_LATE_HOURS", default=48)
