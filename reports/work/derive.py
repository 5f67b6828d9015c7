"""Makes a derived file under its lease: written under a name of the token, then recorded by one fenced update."""

from django.db import transaction

from reports import conf
from reports.artifacts.build import writer_of
from reports.choices import State
from reports.doing import doing
from reports.errors import PASSING, PermanentReportError, explain
from reports.models import Artifact, ReportVersion
from reports.storage import rows_path
from reports.work import bell, put_off
from reports.work.claims import ARTIFACT
from reports.work.keeper import LeaseKeeper, with_lease_kept
from reports.work.leases import Claim, new_token
from reports.work.new_file import new_file


def order(version: ReportVersion, file_format: str) -> Artifact:
    """The derived file of this format, ordered from a worker if nobody did."""
    with transaction.atomic():
        artifact, made = Artifact.objects.get_or_create(version=version, format=file_format)
        if made:
            transaction.on_commit(lambda: bell.ring(1))
    return artifact


def order_and_claim(version: ReportVersion, file_format: str) -> tuple[Artifact, Claim | None]:
    """The derived file of this format and its claim, if nobody has it: one that is new is claimed in its insert.

    Between an order and a claim of it a worker could take the file, and the caller would have nothing to send.
    """
    token = new_token()
    artifact, made = Artifact.objects.get_or_create(
        version=version, format=file_format, defaults=ARTIFACT.taken_from_the_start(token)
    )
    if made:
        return artifact, Claim(pk=artifact.pk, token=token)
    return artifact, ARTIFACT.claim_row(artifact.pk)


def make(claim: Claim) -> None:
    """Write a claimed derived file; every way out leaves a state that goes on."""
    artifact = Artifact.objects.select_related("version").get(pk=claim.pk)
    version = artifact.version
    with doing(version.ordered_by_request, report=version.report_id, version=version.number, file=artifact.format):
        with_lease_kept(ARTIFACT, claim, _make, _give_up)


def _give_up(claim: Claim, error: Exception) -> None:
    code, text = explain(error)
    artifact = Artifact.objects.only("attempts").get(pk=claim.pk)
    if code in PASSING:
        put_off.put_off_file(claim, code, text)
    elif isinstance(error, PermanentReportError) or artifact.attempts >= conf.MAX_ATTEMPTS:
        ARTIFACT.held(claim).update(state=State.FAILED, lease_until=None, error=text, error_code=code)
    else:
        ARTIFACT.release(claim, error=text)


def _make(claim: Claim, keeper: LeaseKeeper) -> None:
    artifact = Artifact.objects.select_related("version__report").get(pk=claim.pk)
    version = artifact.version
    rows = rows_path(version)
    with new_file(f"derived/{version.report_id}/v{version.number}-{claim.token}.{artifact.format}") as file:
        writer_of(artifact.format)(version, rows, file.scratch)
        keeper.check()
        stored = file.keep()
        file.recorded = bool(
            ARTIFACT.held(claim).update(
                state=State.COMPLETE,
                lease_until=None,
                file_name=stored.name,
                bytes=stored.bytes,
                artifact_sha256=stored.sha256,
                error="",
                disk_full_since=None,
                next_try_at=None,
            )
        )
