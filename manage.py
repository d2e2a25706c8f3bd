#!/usr/bin/env python
"""Command line of Offpeak: `./manage.py <verb> … --json`; the verbs are listed in docs/commands.md."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an old Python must get a sentence, not a syntax error
    sys.exit("Offpeak needs Python 3.11 or newer; this is Python %d.%d." % sys.version_info[:2])  # noqa: UP031


def main() -> None:
    """Run one verb with the settings of this home."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings.dev")
    from finops.embedded.errors import EmbeddedError
    from finops.embedded.verbs import servers_for

    try:
        from django.core.management import execute_from_command_line

        with servers_for(sys.argv):
            execute_from_command_line(sys.argv)
    except EmbeddedError as error:
        sys.exit(f"Offpeak: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
