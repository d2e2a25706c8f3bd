"""`./manage.py demo`: load the demo data and make the demo user; a repeat changes nothing."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from finops.demo import demo_prepare
from finops.embedded.home import Home
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """Loads what `make run` loads on a new home."""

    help = "Load the demo data and make the demo user."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the switch for JSON."""
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load, then name the login and the file with its password."""
        home = Home.at(settings.OFFPEAK_HOME)
        home.prepare()
        login = demo_prepare(password=home.secret("demo_password"))
        file = str(home.path / "secrets" / "demo_password")
        if options["json"]:
            self.stdout.write(json.dumps({"login": login, "password_file": file}))
            return
        self.stdout.write(
            _("Sign in as %(login)s; the password is in %(file)s.") % {"login": login, "file": file}
        )
