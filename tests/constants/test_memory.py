"""Constants of memory: rows with evidence, each in the policy of a shipped profile, none told beside its row."""

import dataclasses

import pytest
import yaml

from catalog import data_files
from catalog.engine_versions import version_of
from estimator.constants.memory import memory_changes, memory_constants, memory_profiles, unstated_memory
from estimator.constants.rows import Basis
from estimator.engine.memory.policy import MemoryPolicy
from estimator.validation import shipped

ENTRIES = {
    entry["slug"]: entry
    for entry in yaml.safe_load((data_files.DATA_DIR / "engines.yaml").read_text(encoding="utf-8"))["engines"]
}
POLICIES = {record.slug: record.values["memory_policy"] for record in data_files.engines().records}


def chain(slug):
    """The profiles whose rows a profile has, its own last."""
    return (*ENTRIES[slug].get("memory_constants_of", ()), slug)


def test_every_row_is_of_a_shipped_profile_and_a_number_of_the_policy():
    assert set(memory_profiles()) <= set(ENTRIES)
    fields = {field.name for field in dataclasses.fields(MemoryPolicy)}
    for slug in ("", *memory_profiles()):
        assert memory_constants(slug).keys() <= fields
        assert all(rows.keys() <= fields for _, rows in memory_changes(slug))


@pytest.mark.parametrize("slug", sorted(ENTRIES))
def test_a_policy_holds_the_rows_of_its_profile_and_no_number_beside_them(slug):
    stated = {name: row for each in chain(slug) for name, row in memory_constants(each).items()}
    numbers = {
        name: value
        for name, value in POLICIES[slug].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    assert numbers == {name: row.value for name, row in stated.items()}
    told = ENTRIES[slug]["memory_policy"]
    assert not any(isinstance(value, int | float) and not isinstance(value, bool) for value in told.values())


def test_a_change_inside_a_profile_holds_from_its_release_on():
    before, after = (shipped.profile(f"vllm-{release}").memory for release in ("0.17", "0.18"))
    assert (before.group_padding, after.group_padding) == (1.25, 1.5)
    for slug in memory_profiles():
        for since, rows in memory_changes(slug):
            assert version_of(since)
            assert POLICIES[slug]["by_version"][since].items() >= {n: row.value for n, row in rows.items()}.items()


def test_what_no_profile_states_is_what_the_rows_say():
    assert MemoryPolicy().small_max_num_seqs == unstated_memory("small_max_num_seqs") == 256
    assert isinstance(MemoryPolicy().block_tokens, int)


@pytest.mark.parametrize("slug", sorted(s for s in POLICIES if POLICIES[s].get("basis") == "calibrated"))
def test_a_calibrated_policy_rests_on_logs(slug):
    stated = {name: row for each in chain(slug) for name, row in memory_constants(each).items()}
    for name in ("logits_copies", "runtime_overhead_bytes", "runtime_overhead_tp_bytes"):
        assert stated[name].basis in (Basis.MEASURED, Basis.FITTED)
