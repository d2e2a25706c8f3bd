"""`python -m finops.embedded run|prepare|status`: the whole of one home under one command."""

import argparse
import os
import sys


def main() -> int:
    """Run one command; mistakes of the surroundings end in one sentence and exit code 1."""
    if sys.version_info < (3, 11):  # noqa: UP036 - an old Python must get a sentence
        sys.stderr.write("Offpeak needs Python 3.11 or newer.\n")
        return 1
    from finops.embedded.errors import AlreadyRunningError, EmbeddedError

    parser = argparse.ArgumentParser(prog="python -m finops.embedded", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("run", help="start servers, web, worker and beat; Ctrl-C stops them")
    start.add_argument("--host", default=os.environ.get("OFFPEAK_HOST") or "127.0.0.1")
    start.add_argument("--port", default=os.environ.get("OFFPEAK_PORT") or "8000")
    start.add_argument("--with-parent", action="store_true", help="stop when the calling process ends")
    commands.add_parser("prepare", help="tables, static files, demo data (called by run)")
    commands.add_parser("status", help="say what runs")
    options = parser.parse_args()
    try:
        return _dispatch(options)
    except AlreadyRunningError as error:
        sys.stderr.write(f"{error}\n")
        return 0
    except EmbeddedError as error:
        sys.stderr.write(f"Offpeak: {error}\n")
        return 1


def _dispatch(options: argparse.Namespace) -> int:
    from finops.embedded.errors import EmbeddedError
    from finops.embedded.verbs import home_path

    if options.command == "prepare":
        from finops.embedded.prepare import main as prepare

        return prepare()
    if options.command == "status":
        return _status()
    from finops.embedded.supervisor import run

    if not options.port.isdecimal() or not 0 < int(options.port) < 65536:
        raise EmbeddedError(f"OFFPEAK_PORT must be a number from 1 to 65535, not {options.port!r}.")
    return run(home_path(), options.host, int(options.port), os.getppid() if options.with_parent else None)


def _status() -> int:
    """Print one line a process; 0 when both servers run, 3 when not."""
    from finops.embedded import processes
    from finops.embedded.home import Home
    from finops.embedded.verbs import home_path

    home = Home.at(home_path())
    running = 0
    for name in ("postgres", "valkey", "web", "worker", "beat"):
        found = processes.load(home.run / f"{name}.json")
        alive = found is not None and found.alive()
        running += alive and name in ("postgres", "valkey")
        sys.stdout.write(f"{name}: {f'process {found.pid}' if found and alive else 'not running'}\n")
    return 0 if running == 2 else 3


if __name__ == "__main__":
    sys.exit(main())
