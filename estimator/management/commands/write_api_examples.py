"""Writes the documented answer of every worked example from the real one; read the diff before committing it."""

from argparse import ArgumentParser
from typing import Any

import orjson
from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from estimator.api.model_urls import MODEL_ENDPOINTS
from estimator.api.urls import ENDPOINTS
from estimator.api.view import answer_to
from estimator.estimates.examples import example_path
from estimator.resolvers.live import current_facts

_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


class Command(BaseCommand):
    """`manage.py write_api_examples [slug …]`, against the catalog of the current database."""

    help = _("Write the documented answers of the worked examples of the API.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Endpoints to write; all by default."""
        parser.add_argument("slugs", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write each example's answer into its file."""
        for endpoint in (*ENDPOINTS, *MODEL_ENDPOINTS):
            if options["slugs"] and endpoint.slug not in options["slugs"]:
                continue
            for example in endpoint.examples:
                path = example_path(endpoint.slug, example.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                answer = answer_to(endpoint, orjson.dumps(example.body), facts=current_facts(), explain=example.explain)
                # The revision of a freshly loaded catalog: that of this database says nothing to a reader.
                documented = orjson.loads(answer) | {"catalog_revision": 1}
                path.write_bytes(orjson.dumps(documented, option=_PRETTY))
                self.stdout.write(f"{endpoint.slug}/{example.name}")
