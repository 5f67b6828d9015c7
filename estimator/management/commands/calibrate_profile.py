"""`manage.py calibrate_profile`: a new engine profile from files of `vllm bench serve --save-result`."""

import json
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import EngineProfile
from catalog.services.engine_profiles import new_version
from estimator.engine.calibration.bench_file import read_bench_run
from estimator.engine.errors import EngineError
from estimator.estimates.calibrate.compute import calibrate_plan, evidence_of, fit_error_of
from estimator.question.plan import PlanRequest
from estimator.resolvers import resolve_plan
from estimator.resolvers.issues import ResolutionError
from estimator.resolvers.live import current_facts


class Command(BaseCommand):
    """Checks the runs, fits the parent's constants to them and saves a new version."""

    help = "Fits an engine profile to your own vLLM benchmark runs and saves it as a new version."

    def add_arguments(self, parser: CommandParser) -> None:
        """Takes the parent, the new slug, the setting of the runs and the files."""
        parser.add_argument("parent", help="Slug of the profile to start from.")
        parser.add_argument("new_slug", help="Slug of the new profile.")
        parser.add_argument("files", nargs="+", type=Path, help="Result files.")
        parser.add_argument("--model", required=True, help="Slug of the model.")
        parser.add_argument("--gpu", required=True, help="Slug of the GPU.")
        parser.add_argument("--tp", type=int, default=1, help="Tensor parallel degree.")
        parser.add_argument("--weights", default="bf16", help="Format of the weights.")
        parser.add_argument("--kv-cache", default="bf16", help="Format of the KV cache.")
        parser.add_argument("--input-tokens", type=float, help="Prompt length that was asked for.")
        parser.add_argument("--output-tokens", type=float, help="Output length that was asked for.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fits and saves; a refused run stops the command with its reason."""
        parent = EngineProfile.objects.filter(slug=options["parent"]).first()
        if parent is None:
            raise CommandError(f"There is no profile {options['parent']}.")
        setting = {"model": options["model"], "gpu": options["gpu"], "engine": parent.slug}
        formats = {"weights": options["weights"], "kv_cache": options["kv_cache"]}
        asked = setting | {"parallelism": {"tp": options["tp"]}, "precision": formats}
        try:
            plan = resolve_plan(PlanRequest.model_validate(asked), current_facts())
            runs = [
                read_bench_run(
                    json.loads(path.read_text(encoding="utf-8")),
                    expected_input_tokens=options["input_tokens"],
                    expected_output_tokens=options["output_tokens"],
                    field=path.name,
                )
                for path in options["files"]
            ]
            fitted = calibrate_plan(plan, runs)
            evidence = evidence_of(plan, fitted, runs)
            row = new_version(
                parent,
                slug=options["new_slug"],
                speed_constants={**fitted.changed, "basis": "fitted"},
                evidence=evidence,
                fit_error=fit_error_of(fitted),
                reason="calibrated",
            )
        except (EngineError, ResolutionError, ValidationError, OSError, json.JSONDecodeError) as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{row.slug}: {evidence}")
