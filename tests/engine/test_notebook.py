"""The notebook of the documentation: every cell runs, and its figures are those worked by hand."""

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/engine.ipynb"


def test_every_cell_runs_and_the_fit_is_that_by_hand():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    ran = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)  # noqa: S102  the project's own page
            ran += 1
    assert ran >= 4
    assert names["parameters"] == 8_030_261_248
    assert names["cache_bytes_per_token"] == 131_072
    assert names["fit"].verdict.value == "fits"
    # Blocks of 16 tokens fill the length exactly, so that nothing but the last whole sequence is lost.
    assert names["fit"].max_sequences == names["by_hand"]
