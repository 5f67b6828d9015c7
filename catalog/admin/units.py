"""Figures as people read them; base units stay inside."""

from django.utils.formats import number_format

UNKNOWN = "–"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    index = 0
    # From 999.5 on three digits would read 1000.
    while abs(value) >= step - 0.5 and index < len(units) - 1:
        value /= step
        index += 1
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {units[index]}"


def decimal_bytes(value: float | None) -> str:
    """Bytes in decimal units: 80 GB."""
    return UNKNOWN if value is None else _scaled(value, 1000, ("B", "kB", "MB", "GB", "TB"))


def binary_bytes(value: float | None) -> str:
    """Bytes in binary units: 79.2 GiB."""
    return UNKNOWN if value is None else _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(value: float | None) -> str:
    """Bytes per second in decimal units: 3.35 TB/s."""
    return UNKNOWN if value is None else decimal_bytes(value) + "/s"


def flops(value: float | None) -> str:
    """FLOP/s in decimal units: 989 TFLOP/s."""
    units = ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s")
    return UNKNOWN if value is None else _scaled(value, 1000, units)


def count(value: int | None) -> str:
    """A count of parameters: 8.03 B."""
    return UNKNOWN if value is None else _scaled(value, 1000, ("", "k", "M", "B", "T"))


def whole(value: int | None) -> str:
    """A whole number with separators: 131,072."""
    return UNKNOWN if value is None else str(number_format(value, force_grouping=True))


def seconds(value: float | None) -> str:
    """Seconds: 50 ms."""
    if value is None:
        return UNKNOWN
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
