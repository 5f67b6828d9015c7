"""The page docs/constants.md, written from the rows: each constant, where it acts, and its evidence."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from estimator.constants.families import FAMILIES
from estimator.constants.rows import SCOPE_COLUMNS, Basis, Constant, all_constants

_TITLES = {
    "gemm.csv": "Matrix products",
    "experts.csv": "Grouped products of routed experts",
    "attention.csv": "Attention",
    "latent_attention.csv": "Latent attention",
    "latent_modules.csv": "Latent attention with its projections, fixed time",
    "fixed_times.csv": "Fixed times of kernels by family",
    "exchanges.csv": "Exchange of activations between ranks that share experts",
    "links.csv": "All-reduces inside a node",
    "inline_ecc.csv": "Bandwidth that check bits leave",
    "formats.csv": "Weight formats",
    "factors.csv": "What whole engines want beside the kernel tables",
    "operators.csv": "Operators",
    "memory.csv": "How engines use memory; no profile: where none is stated; `since`: from that release on",
    "profiles.csv": "Engine profiles; a constant without a profile is what a serving engine has that does not state it",
    "launch.csv": "Launches of passes that no graph holds, and what a request waits for",
    "scheduling.csv": "Scheduling",
    "bands.csv": "Error bands",
    "power.csv": "Power of a GPU, as shares of its design power",
    "speed_words.csv": "Words for speeds",
    "calibration.csv": "Calibration from a few runs",
}
_BASES = {
    Basis.MEASURED: "a kernel or a part was measured alone",
    Basis.FITTED: "measurements of whole engines ask for it",
    Basis.SPECIFIED: "a data sheet, a standard, a configuration or arithmetic says it",
    Basis.JUDGEMENT: "nothing was measured; an answer that uses it never says `calibrated`",
}


def document() -> str:
    """The page as Markdown."""
    rows = all_constants()
    parts = [
        "# Constants and their evidence",
        "Written by `manage.py write_constants_doc` from `estimator/constants/data/`; a test keeps it current. "
        "The rules that go with how engines use memory (layouts, flags, tables by size) stand in the catalog "
        "([catalog.md](catalog.md)).",
        _table(
            ("basis", "constants", "what it means"),
            [(basis, str(sum(r.basis is basis for r in rows)), meaning) for basis, meaning in _BASES.items()],
        ),
        "## Families of GPUs\n\nWhose kernel rows stand for a family, and what constants of llama.cpp rest on there.",
        _table(
            ("family", "maker", "known by", "kernels", "llama.cpp"),
            [
                (f.name, f.vendor, " ".join(f.compute_capabilities), f.kernels, f.llama_cpp_basis)
                for f in FAMILIES.values()
            ],
        ),
    ]
    for file, group in groupby(rows, key=lambda row: row.file):
        parts += [f"## {_TITLES[file]}\n\n`{file}`", _constants(tuple(group))]
    return "\n\n".join(parts) + "\n"


def _constants(rows: Sequence[Constant]) -> str:
    columns = [column for column in SCOPE_COLUMNS if any(column in row.scope for row in rows)]
    has_prior = any(row.prior is not None for row in rows)
    headings = (
        "constant",
        "value",
        "unit",
        *columns,
        *(["before the fit"] if has_prior else []),
        "basis",
        "n",
        "error",
    )
    lines = [
        (
            row.name,
            f"{row.value:.12g}",
            row.unit,
            *row.where(*columns),
            *([f"{row.prior:.12g}" if row.prior is not None else ""] if has_prior else []),
            row.basis,
            f"{row.n:,}" if row.n else "",
            row.error,
            f"{row.source} ({row.date})",
        )
        for row in rows
    ]
    return _table((*headings, "source"), lines)


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, ["---"] * len(headings), *lines))
