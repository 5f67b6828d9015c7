"""`python -m config.health.probe URL`: exit code 0 if the address answers 200; for health checks without curl."""

import sys
import urllib.error
import urllib.request


def main(url: str, within_s: float = 4.0) -> int:
    """0 if it answers 200, else 1."""
    try:
        with urllib.request.urlopen(url, timeout=within_s) as answer:  # noqa: S310  the address comes from our own files
            return int(answer.status != 200)
    except (urllib.error.URLError, OSError):
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
