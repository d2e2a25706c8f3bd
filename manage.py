#!/usr/bin/env python
"""Command line of Offpeak: `./manage.py <verb> … --json`; the verbs are listed in docs/commands.md."""

import os
import sys


def main() -> None:
    """Run one verb with the settings of this home."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings.dev")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
