#!/usr/bin/env python
"""Entry point of the management commands."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    # Nobody waits for a migration or an import as for an answer.
    os.environ.setdefault("AFORO_STATEMENT_WITHIN_S", "0")
    execute_from_command_line(sys.argv)
