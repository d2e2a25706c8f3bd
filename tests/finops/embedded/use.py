"""Hold the servers of a home from a process of its own: `python use.py HOME [namespace|account]`.

Prints one JSON line with the addresses once both answer, then waits for the end of its input.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from finops.embedded.errors import EmbeddedError
from finops.embedded.servers import Servers


def main() -> int:
    """Hold, answer, wait, release."""
    forced = sys.argv[2] if len(sys.argv) > 2 else None
    try:
        servers = Servers.of(sys.argv[1], durable=False, forced=forced)
        with servers.held() as environment:
            import psycopg2

            connection = psycopg2.connect(environment["DATABASE_URL"])
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_user, current_setting('server_version_num')::int / 10000")
                user, version = cursor.fetchone()
            connection.close()
            answer = {"user": user, "version": version, "valkey": servers.valkey.answers(), **environment}
            print(json.dumps(answer), flush=True)
            sys.stdin.read()
    except EmbeddedError as error:
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
