"""A supervisor over real servers and three tiny children, for tests that start it as a process of its own.

`python app.py HOME PORT [crash]`: web answers /healthz, worker and beat only wait; with `crash` beat ends at
once.
"""

import os
import sys
import textwrap
from pathlib import Path
from signal import SIGKILL, SIGTERM

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from finops.embedded import children as kinds
from finops.embedded.errors import AlreadyRunningError, EmbeddedError
from finops.embedded.home import Home, write_private
from finops.embedded.servers import Servers
from finops.embedded.supervisor import Supervisor

WEB = textwrap.dedent("""
    import http.server, sys
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
        def log_message(self, *args):
            pass
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
""")
WAIT = "import time; print('ready', flush=True); time.sleep(600)"


class SmallSupervisor(Supervisor):
    """Leaves out Django."""

    def _prepare(self, env: dict[str, str]) -> None:
        write_private(self.home.run / "prepared", "demo@example.com")


def child(home: Home, name: str, code: str, *words: str) -> kinds.Child:
    """Return a child that runs `code`; the code is also what its command line is known by."""
    command = [sys.executable, "-c", code, *words]
    return kinds.Child(name, command, home, ((SIGTERM, 5.0), (SIGKILL, 2.0)))


def main() -> int:
    """Run until told to stop."""
    kinds.FIRST_PAUSE_SECONDS = 0.05
    try:
        servers = Servers.of(sys.argv[1], durable=False)
        small = SmallSupervisor(servers, "127.0.0.1", int(sys.argv[2]), os.getppid())
        beat = "raise SystemExit('beat cannot start')" if "crash" in sys.argv else WAIT
        home = servers.home
        small.children = [
            child(home, "web", WEB, sys.argv[2]),
            child(home, "worker", WAIT),
            child(home, "beat", beat),
        ]
        return small.run()
    except AlreadyRunningError as error:
        print(error)
        return 0
    except EmbeddedError as error:
        print(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
