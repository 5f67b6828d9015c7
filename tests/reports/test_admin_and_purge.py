"""Pages of the admin read and change no more than they may; a purge leaves a tombstone."""

import pytest
from django.core.management import CommandError, call_command

from catalog.usage import usages
from reports.models import Artifact, Report, ReportVersion, ShareLink, Tombstone
from reports.services import files, sharing
from reports.storage import get_storage

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(ana, make_report):
    return make_report(ana)


def test_every_page_opens_and_the_version_shows_findings_and_downloads(client, staff, version):
    link = sharing.create_link(version, by=staff, file_format="csv", days=1)
    files.file_of(version, "csv")
    client.force_login(staff)
    for name in ("report", "reportversion", "sharelink", "artifact", "reportschedule", "tombstone"):
        assert client.get(f"/admin/reports/{name}/").status_code == 200, name
    assert client.get(f"/admin/reports/report/{version.report_id}/change/").status_code == 200
    page = client.get(f"/admin/reports/reportversion/{version.pk}/change/").content.decode()
    assert "gives the most tokens per second" in page
    assert f"/api/v1/reports/{version.report_id}/versions/1/download/?format=xlsx" in page
    shown = client.get(f"/admin/reports/sharelink/{link.pk}/change/").content.decode()
    assert sharing.signed(link) not in shown


def test_a_version_cannot_be_edited_or_deleted_in_the_admin(client, staff, version):
    client.force_login(staff)
    address = f"/admin/reports/reportversion/{version.pk}/"
    assert client.post(address + "change/", {"error": "x"}).status_code == 403
    assert client.post(address + "delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/reports/report/{version.report_id}/delete/", {"post": "yes"}).status_code == 403


def test_links_are_revoked_and_reports_archived_by_action(client, staff, version):
    link = sharing.create_link(version, by=staff, file_format="csv", days=1)
    client.force_login(staff)
    client.post("/admin/reports/sharelink/", {"action": "revoke", "_selected_action": [link.pk]})
    assert ShareLink.objects.get().revoked_at is not None
    client.post("/admin/reports/report/", {"action": "archive", "_selected_action": [str(version.report_id)]})
    assert Report.objects.get().archived_at is not None


def test_the_catalog_knows_which_versions_use_a_row(version):
    assert [(use.count, use.label) for use in usages("gpu", "h100-sxm5-80gb")] == [(1, "report version")]
    assert [usage.count for usage in usages("engine", "vllm-0.33")] == [1]
    assert usages("gpu", "l4") == []


def purge(version, **options):
    call_command("purge_report", str(version.report_id), **options)


def test_a_purge_is_a_dry_run_unless_told(version, capsys):
    purge(version)
    assert "Dry run" in capsys.readouterr().out
    assert ReportVersion.objects.exists()


def test_a_purge_needs_a_reason_and_a_member_of_staff(version, ana, staff):
    with pytest.raises(CommandError, match="staff"):
        purge(version, yes=True, by="ana", reason="x")
    with pytest.raises(CommandError, match="reason"):
        purge(version, yes=True, by="staff", reason=" ")
    assert ReportVersion.objects.exists()


def test_a_purge_removes_rows_files_and_links_and_leaves_a_tombstone(
    version, staff, django_capture_on_commit_callbacks
):
    sharing.create_link(version, by=staff, file_format="csv", days=1)
    files.file_of(version, "csv")
    derived = Artifact.objects.get().file_name
    with django_capture_on_commit_callbacks(execute=True):
        purge(version, yes=True, by="staff", reason="asked for by the owner")
    assert not Report.objects.exists()
    assert not ShareLink.objects.exists()
    stone = Tombstone.objects.get()
    assert (stone.content_sha256, stone.reason, stone.purged_by) == (
        version.content_sha256,
        "asked for by the owner",
        staff,
    )
    assert get_storage().size(version.rows_file) is None
    assert get_storage().size(derived) is None


def test_eviction_removes_derived_files_only_and_they_are_made_again(version):
    first = files.file_of(version, "csv").download
    assert files.evict(older_than_days=1) == 0
    assert files.evict(older_than_days=-1) == 1
    assert get_storage().size(first.name) is None
    assert get_storage().size(version.rows_file) == version.rows_file_bytes
    again = files.file_of(version, "csv").download
    assert again.sha256 == first.sha256
