"""Plain tables for terminals and pipes: columns by spaces, numbers to the right."""

from collections.abc import Sequence

import click

Row = Sequence[str]


def table(head: Row, rows: Sequence[Row], *, right: Sequence[int] = ()) -> str:
    """A table as text.

    Args:
        head: names of the columns.
        rows: their values, as many each.
        right: columns that are set to the right, from 0.
    """
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]

    def line(row: Row) -> str:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])


def pairs(values: Sequence[tuple[str, str]]) -> str:
    """Names and values below each other."""
    width = max((len(name) for name, _value in values), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in values)


def say(*blocks: str) -> None:
    """Blocks of text with a blank line between them."""
    click.echo("\n\n".join(block for block in blocks if block))


def notes(answer: dict[str, object]) -> str:
    """Warnings and assumptions of an answer, one a line."""
    lines = []
    for name, mark in (("warnings", "! "), ("assumptions", "assumed: ")):
        texts = answer.get(name)
        lines += [f"{mark}{text}" for text in texts] if isinstance(texts, list) else []
    return "\n".join(lines)


def working(answer: dict[str, object]) -> str:
    """The working, step by step, where it was asked for."""
    steps = answer.get("explanation")
    if not isinstance(steps, list):
        return ""
    return "\n".join(
        f"{step['name']} = {step['formula']}\n    = {step['substituted']}\n    = {step['value']} {step['unit']}"
        for step in steps
    )
