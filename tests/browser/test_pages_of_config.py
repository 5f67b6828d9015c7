"""The documentation and the admin in a real browser, under the policies they are served with."""

import pytest

pytestmark = pytest.mark.browser


def test_the_documentation_and_the_admin_work_in_a_browser(page, service):
    page.goto(f"{service.base}/api/docs/")
    page.wait_for_selector(".swagger-ui .opblock")
    assert "Aforo" in page.inner_text(".swagger-ui .info")
    page.locator(".opblock-summary").first.click()
    page.wait_for_selector(".opblock.is-open .opblock-body")
    assert page.faults == []

    login = service.text().split("Login")[1].split("\n")[0].split()
    page.goto(f"{service.base}/admin/")
    page.fill("input[name=username]", login[0])
    page.fill("input[name=password]", login[2])
    page.click("button[type=submit]")
    page.wait_for_selector("text=API tokens")
    page.goto(f"{service.base}/admin/access/apitoken/add/")
    page.wait_for_selector("input[name=name]")
    assert page.faults == []
