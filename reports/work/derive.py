"""Makes a derived file under its lease: written under a name of the token, then recorded by one fenced update."""

from django.db import transaction

from reports import conf
from reports.artifacts.build import WRITERS
from reports.choices import State
from reports.errors import DISK_FULL, LeaseLostError, PermanentReportError, explain
from reports.models import Artifact, ReportVersion
from reports.storage import get_storage, rows_path
from reports.work import bell, disk
from reports.work.claims import ARTIFACT
from reports.work.keeper import LeaseKeeper
from reports.work.leases import Claim, new_token


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
    try:
        with LeaseKeeper(lambda: ARTIFACT.heartbeat(claim)) as keeper:
            _make(claim, keeper)
    except LeaseLostError:
        return
    except SystemExit:  # the pool asks this process to stop: the attempt is given back
        ARTIFACT.release(claim, give_attempt_back=True)
        raise
    except Exception as error:
        code, text = explain(error)
        artifact = Artifact.objects.only("attempts").get(pk=claim.pk)
        if code == DISK_FULL:
            disk.put_off_file(claim, text)
        elif isinstance(error, PermanentReportError) or artifact.attempts >= conf.MAX_ATTEMPTS:
            ARTIFACT.held(claim).update(state=State.FAILED, lease_until=None, error=text, error_code=code)
        else:
            ARTIFACT.release(claim, error=text)


def _make(claim: Claim, keeper: LeaseKeeper) -> None:
    artifact = Artifact.objects.select_related("version__report").get(pk=claim.pk)
    version = artifact.version
    storage = get_storage()
    rows = rows_path(version)
    name = f"derived/{version.report_id}/v{version.number}-{claim.token}.{artifact.format}"
    scratch = storage.scratch(name)
    kept = False
    try:
        WRITERS[artifact.format](version, rows, scratch)
        keeper.check()
        stored = storage.keep(scratch, name)
        kept = bool(
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
    finally:
        scratch.unlink(missing_ok=True)
        if not kept:
            storage.remove(name)
    if not kept:
        raise LeaseLostError
