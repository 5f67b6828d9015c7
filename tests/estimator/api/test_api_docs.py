"""docs/api.md: every command is sent, and what the document shows is what comes back."""

import json
import re
import shlex
from pathlib import Path

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api.md"
BLOCKS = re.findall(r"```sh\n(curl .*?)```\n```json\n(.*?)```", PAGE.read_text(), re.DOTALL)


def sent(command):
    """Address and body of a curl command."""
    words = shlex.split(command)
    address = next(word for word in words if word.startswith("$AFORO"))
    return address.removeprefix("$AFORO"), words[words.index("-d") + 1]


def assert_shown(real, shown, at=""):
    """What is shown is in the answer; numbers with decimals as far as they are written."""
    if isinstance(shown, dict):
        for key, value in shown.items():
            assert_shown(real[key], value, f"{at}/{key}")
    elif isinstance(shown, list):
        assert len(real) == len(shown), at
        for index, value in enumerate(shown):
            assert_shown(real[index], value, f"{at}/{index}")
    elif isinstance(shown, float):
        assert round(real, len(str(shown).split(".")[1])) == shown, at
    else:
        assert real == shown, at


def test_the_page_holds_commands():
    assert len(BLOCKS) >= 6


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[sent(command)[0].split("/")[4] for command, _ in BLOCKS])
def test_the_answer_shown_is_the_real_one(client, command, shown):
    address, body = sent(command)
    response = client.post(address, body, content_type="application/json")
    assert_shown(response.json(), json.loads(shown))
