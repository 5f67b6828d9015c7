"""Every published or counted figure of the oracle, asked over REST: POST models/inspect/ with the config file."""

import csv
import json

from tests.shared_data import shared_dir


def _rows():
    folder = shared_dir() / "data"
    with (folder / "model_oracle.csv").open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["status"] == "ok" and row["trust"] in {"A", "B"}]
    paths = [(row, folder / "configs" / f"{row['model'].replace('/', '__')}.json") for row in rows]
    return [(row, path) for row, path in paths if path.exists()]


def test_inspecting_a_config_gives_the_exact_figures(client, db):
    rows = _rows()
    wrong = []
    for row, path in rows:
        body = {"config": json.loads(path.read_text(encoding="utf-8")), "name": row["model"]}
        response = client.post("/api/v1/models/inspect/", data=json.dumps(body), content_type="application/json")
        assert response.status_code == 200, (row["model"], response.content[:500])
        said = response.json()
        for name, figure in (
            ("total_params", said["parameters"]["total"]),
            ("active_params", said["parameters"]["active"]),
            ("active_matmul_params", said["parameters"]["active_without_input_embedding"]),
            ("kv_bytes_per_token_bf16", said["kv_cache"]["bytes_per_token"]),
            ("window_bytes_per_token_bf16", said["kv_cache"]["window_bytes_per_token"]),
        ):
            if row[name] and int(float(row[name])) != figure:
                wrong.append((row["model"], row["trust"], row["source_kind"], name, int(float(row[name])), figure))
    assert not wrong
    assert len(rows) > 100
