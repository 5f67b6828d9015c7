"""Which constants an estimate rests on: a name of all their rows together."""

import hashlib
from functools import cache

from estimator.constants.rows import DATA_DIR


@cache
def constants_revision() -> str:
    """The first twelve digits of the sha256 over the files of constants; another with any changed row.

    >>> len(constants_revision())
    12
    """
    digest = hashlib.sha256()
    for path in sorted(DATA_DIR.glob("*.csv")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
