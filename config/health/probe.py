"""`python -m config.health.probe URL`: exit code 0 if the address answers 200; for health checks without curl."""

import os
import sys
import urllib.error
import urllib.request


def main(url: str) -> int:
    """0 if it answers 200, else 1.

    Asks under the first of AFORO_ALLOWED_HOSTS: the service refuses names that are not its own, as this machine's.
    """
    request = urllib.request.Request(url)  # noqa: S310  the address comes from our own files
    if host := os.environ.get("AFORO_ALLOWED_HOSTS", "").split(",")[0].strip().removeprefix("."):
        request.add_header("Host", host)
    try:
        with urllib.request.urlopen(request, timeout=4) as answer:  # noqa: S310  as above
            return int(answer.status != 200)
    except (urllib.error.URLError, OSError):
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
