"""Every page of ours in four views and on paper: no fault, nothing asked elsewhere, nothing cut, axe content."""

from itertools import product

import pytest
from django.urls import reverse

from pages import urls
from pages.documentation import library
from tests.browser.checks import cut_on_paper, faults_of, log_in
from tests.browser.world import World, world_of

pytestmark = pytest.mark.browser

# States of the calculator that look unlike its first page.
STATES = (
    "?model=llama-3.3-70b&gpu=h100-sxm5-80gb&gpus=2&weights=bf16&input=8000&output=500&n=16&ttft=2&tpot=50",
    "?model=llama-3.1-8b&gpu=l40s&gpus=1&engine=vllm-0.19&input=1500&output=300&load=rate&n=2&ttft=1&tpot=50",
    "?model=llama-9-999b&gpu=l40s&gpus=two&input=-5&output=100",
)
# A download, or the page that waits for it and asks again every two seconds (tests/pages).
NO_PAGE = {"report-file"}
NARROW = 390
# Pages of Markdown: axe and the wide view look at the first.
ONE_TEMPLATE = {"documentation-page"}
WITHOUT_NAVIGATION = {"share-link"}


def pages_of(world: World) -> dict[str, str]:
    """Every address of the pages by what it is, from their URLs; each parameter with what the world has for it."""
    values = {
        "report_id": [world.finished, world.failed, world.building],
        "text": [world.link.split("/r/")[1].strip("/")],
        "model": ["gpt-oss-120b"],
        # The shortest first: axe takes minutes over tables of thousands of rows, and one template shows them all.
        "name": sorted(library.names(), key=lambda name: library.names()[name].stat().st_size),
    }
    found = {}
    for pattern in urls.urlpatterns:
        names = list(pattern.pattern.converters)
        if pattern.name in NO_PAGE:
            continue
        for chosen in product(*(values[name] for name in names)):
            found[reverse(pattern.name, kwargs=dict(zip(names, chosen, strict=True)))] = pattern.name
    return found | {reverse("home") + state: "home" for state in STATES}


def faults_in_every_view(page, base, addresses):
    """Opens each address twice, wide and narrow; both schemes and paper are looked at without another load."""
    for width, scheme in ((1440, "light"), (NARROW, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        seen: set[str] = set()
        for address, name in addresses.items():
            axe = name not in ONE_TEMPLATE or name not in seen
            seen.add(name)
            if not axe and width != NARROW:
                continue
            page.faults.clear()
            page.goto(base + address)
            yield from faults_of(page, f"{address} at {width}", scheme=scheme, axe=axe)
            if page.locator("nav[aria-label=Pages]").count() != (name not in WITHOUT_NAVIGATION):
                yield f"{address}: the navigation"
            if page.locator("h1").count() != 1 or not page.title():
                yield f"{address}: one heading and a title"
            if width == NARROW and axe:
                yield from cut_on_paper(page, address)


def test_pages_that_anybody_opens_first_have_no_fault(page, service):
    wrong = []
    page.set_viewport_size({"width": 1440, "height": 900})
    for name in ("home", "compare", "prices-index", "log-in"):
        address = reverse(name)
        page.goto(service.base + address)
        wrong += faults_of(page, address, scheme="light")
    assert wrong == []


@pytest.mark.long
def test_every_page_is_right_in_four_views_and_on_paper(page, service):
    """This takes minutes: `make long` runs it."""
    page.goto(f"{service.base}/login/")
    wrong = list(faults_of(page, "/login/", scheme="light"))
    log_in(page, service)
    with world_of(service) as world:
        wrong += faults_in_every_view(page, service.base, pages_of(world))
    assert wrong == []
