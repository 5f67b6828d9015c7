"""Compares the bills and writes the page: agreement by tool and kind, each disagreement with its reason and source."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from catalog.price_rows import DATA_DIR
from tests.bench.bills.usages import DAY

PAGE = DATA_DIR.parents[1] / "docs" / "bill-tools.md"
REASONS = Path(__file__).with_name("reasons.yaml")
VERSIONS = Path(__file__).with_name("requirements.txt")
# Tools that count in float agree to twelve digits or so; a micro-part tells that from another price.
SAME = Decimal("1e-6")
TOOLS = ("genai-prices", "litellm", "model-prices", "openai-cost-calculator", "tokencost")


@dataclass(slots=True)
class Result:
    """What the comparison found."""

    usages: Sequence[Mapping[str, Any]]
    agree: Counter[tuple[str, str]] = field(default_factory=Counter)
    differ: Counter[tuple[str, str]] = field(default_factory=Counter)
    silent: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_reason: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    unexplained: list[str] = field(default_factory=list)


def reasons() -> list[dict[str, Any]]:
    """Why tools differ: {tool, prices, kinds, right, because, source}."""
    return list(yaml.safe_load(REASONS.read_text(encoding="utf-8")))


def compared(
    usages: Sequence[Mapping[str, Any]], ours: Sequence[Decimal], answers: Sequence[Mapping[str, Mapping[str, str]]]
) -> Result:
    """Each tool's answers beside ours; a difference belongs to the first reason that fits it."""
    result = Result(usages)
    known = reasons()
    for asked, total, by_tool in zip(usages, ours, answers, strict=True):
        for tool, said in by_tool.items():
            key = (tool, asked["kind"])
            if "total" not in said:
                result.silent[key] += 1
            elif abs(Decimal(said["total"]) - total) <= SAME * max(total, Decimal(said["total"])):
                result.agree[key] += 1
            else:
                result.differ[key] += 1
                _explain(result, known, asked, tool, f"{Decimal(said['total']):.6g} there, {total:.6g} here")
    return result


def _explain(
    result: Result, known: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], tool: str, sums: str
) -> None:
    name = f"{asked['seller']}/{asked['model']}"
    for number, reason in enumerate(known):
        fits = tool == reason["tool"] and any(fnmatchcase(name, pattern) for pattern in reason["prices"])
        if fits and any(fnmatchcase(asked["kind"], pattern) for pattern in reason["kinds"]):
            result.by_reason[number].append(f"{name} {asked['kind']}: {sums}")
            return
    result.unexplained.append(f"{tool}: {name} {asked['kind']} over {asked['channel']}: {sums}; {asked['count']}")


def text(result: Result) -> str:
    """The page."""
    versions = ", ".join(line.replace("==", " ") for line in VERSIONS.read_text(encoding="utf-8").split())
    lines = [
        "# Five bill tools on the same usages",
        "",
        f"Made by `make bench-bills ARGS=--write` with {versions}.",
        f"Prices of {DAY}. {len(result.usages)} usages of makers' models, drawn by "
        "`tests/bench/bills/usages.py`; Aforo answers over REST. Agree: the same sum to a millionth. No answer: the "
        "tool does not have the model under its maker's name, the channel or the meter.",
        "",
        "| tool | agree | differ | no answer |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {tool} | {_sum(result.agree, tool)} | {_sum(result.differ, tool)} | {_sum(result.silent, tool)} |"
        for tool in TOOLS
    ]
    lines += ["", "Agree / differ / no answer by kind:", "", f"| kind | {' | '.join(TOOLS)} |", "|---" * 6 + "|"]
    for kind in dict.fromkeys(asked["kind"] for asked in result.usages):
        cells = [
            f"{result.agree[tool, kind]} / {result.differ[tool, kind]} / {result.silent[tool, kind]}" for tool in TOOLS
        ]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    lines += ["", "## Every difference", "", "`right` says whose sum the source supports.", ""]
    lines += ["| tool | bills | right | why | source | for example |", "|---|---|---|---|---|---|"]
    for number, reason in enumerate(reasons()):
        found = result.by_reason.get(number, [])
        if found:
            cells = (reason["tool"], len(found), reason["right"], reason["because"], reason["source"], found[0])
            lines.append("| " + " | ".join(str(cell).strip() for cell in cells) + " |")
    lines += [f"| ? | 1 | ? | not explained | | {line} |" for line in result.unexplained]
    return "\n".join(lines) + "\n"


def _sum(count: Counter[tuple[str, str]], tool: str) -> int:
    return sum(number for (name, _kind), number in count.items() if name == tool)
