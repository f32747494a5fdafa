"""Runs a test file under a virtual environment that has the official Pub/Sub client.

    run.py --venv DIR --server PATH TEST_FILE

The environment is made at the first run and kept. Exit code 77 means: skipped, the client cannot be had here.
"""
import argparse
import os
import subprocess
import sys

CLIENT = "google-cloud-pubsub==2.44.0"


def make_environment(venv):
    """The environment's interpreter, or None."""
    python = os.path.join(venv, "bin", "python")
    stamp = os.path.join(venv, "client.stamp")
    if os.path.exists(stamp) and open(stamp).read() == CLIENT:
        return python
    for command in ([sys.executable, "-m", "venv", venv], [python, "-m", "pip", "install", "--quiet", CLIENT]):
        try:
            done = subprocess.run(command, timeout=500, capture_output=True, text=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            print("skipped:", error)
            return None
        if done.returncode != 0:
            print("skipped: {}: {}".format(" ".join(command), done.stderr.strip()[-500:]))
            return None
    with open(stamp, "w") as f:
        f.write(CLIENT)
    return python


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--venv", required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("test")
    args = parser.parse_args()
    python = make_environment(args.venv)
    if python is None:
        return 77
    return subprocess.call([python, args.test, "-v"], env=dict(os.environ, PUBSUB_SERVER=args.server))


if __name__ == "__main__":
    sys.exit(main())
