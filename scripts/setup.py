"""Make or refresh .venv from the pinned requirements: `setup.py [--dev]`; silent when all is up to date.

Runs on the system's Python, so it uses the standard library only and must be readable for any Python 3.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
# The packages take 1.2 GB (1.6 GB with the tools of developers); pip unpacks beside that.
FREE_GIB = 2


def stop(sentence):
    """End with one sentence."""
    sys.exit("Offpeak: " + sentence)


def wanted(files):
    """Return what the stamp must say: the files' content and the Python that runs them."""
    digest = hashlib.sha256()
    for name in files:
        with open(os.path.join(ROOT, "requirements", name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def works():
    """Tell whether the environment has a Python that is new enough and still starts."""
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([PYTHON, "-c", check], capture_output=True).returncode == 0
    except OSError:
        return False


def make_venv():
    """Make the environment with the Python that runs this script."""
    if os.path.lexists(VENV):
        shutil.rmtree(VENV)
    print("Making .venv with Python %d.%d.%d …" % sys.version_info[:3], flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True)
    if made.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        if "ensurepip" in made.stdout + made.stderr:
            stop("this Python cannot make environments: install its venv part (Debian: python3-venv).")
        stop("the environment .venv could not be made: " + (made.stderr or made.stdout).strip()[-300:])


def install(names, stamp, state):
    """Install the pinned packages and leave the stamp."""
    free = shutil.disk_usage(VENV).free
    if free < FREE_GIB * 2**30:
        stop(
            "only %d MB are free for .venv and %d GiB are needed: free some space."
            % (free // 2**20, FREE_GIB)
        )
    print("Installing the packages of %s (a few minutes the first time) …" % " and ".join(names), flush=True)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for name in names:
        command += ["-r", os.path.join(ROOT, "requirements", name)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        if "No space left on device" in done.stderr:
            stop("the disk is full: free some space and start again.")
        stop("the packages could not be installed; pip's own message is above.")
    with open(stamp, "w") as file:
        file.write(state)


def main():
    """Bring .venv up to date under a lock, for two starts at once."""
    if sys.version_info < (3, 11):
        stop(
            "Python 3.11 or newer is needed and this one is %d.%d: install a newer one,"
            " or name it with `make PYTHON=/path/to/python3 …`." % sys.version_info[:2]
        )
    names = ["base.txt", "dev.txt"] if "--dev" in sys.argv[1:] else ["base.txt"]
    state = wanted(names)
    stamp = os.path.join(VENV, ".offpeak-" + names[-1])
    if works() and os.path.exists(stamp) and open(stamp).read() == state:
        return
    if not os.access(ROOT, os.W_OK) or (os.path.exists(VENV) and not os.access(VENV, os.W_OK)):
        stop("%s is not writable for this user, so the packages cannot be installed." % VENV)
    with open(os.path.join(ROOT, ".venv.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not works():
            make_venv()
        if not os.path.exists(stamp) or open(stamp).read() != state:
            install(names, stamp, state)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        stop("%s: %s" % (error.filename or ROOT, error.strerror))
