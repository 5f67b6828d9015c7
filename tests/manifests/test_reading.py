"""Words, flags and values: one test per kind of writing."""

from dataclasses import replace

import pytest

from manifests.arguments import ENGINES, arguments_of
from manifests.flags import read_flags
from manifests.meaning import _why
from manifests.reading.gpu_names import gpu_of_label
from manifests.reading.recognise import read_manifest
from manifests.reading.shell import commands
from manifests.reading.starts import release_of
from manifests.reading.words import ManifestError, Word


def words(text):
    return [[word.text for word in command] for command in commands(text)]


def start(text):
    (found,) = read_manifest(text)
    return found


def flags(text):
    found = start(text)
    return {flag.name: flag.values for flag in read_flags(found.words, arguments_of(found.engine)).flags}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d $E\" f\\ g", [["a", "b c", "d $E", "f g"]]),
        ("a \\\n  b # said\nc; d && e", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("cat <<EOF > x\nvllm serve m\nEOF\nb", [["cat"], ["b"]]),
        ("a > out 2>&1 | tee log", [["a"], ["tee", "log"]]),
        ("a --j '{\"k\": [1, 2]}'", [["a", "--j", '{"k": [1, 2]}']]),
        ("a $(date +%s) ${B:-c d}", [["a", "$(date +%s)", "${B:-c d}"]]),
    ],
)
def test_shell_words(text, expected):
    assert words(text) == expected


def test_words_stand_on_their_lines():
    found = start("# start\nexport M=Qwen/Qwen3-8B\nvllm serve $M \\\n  --max-model-len=4096 \\\n  -tp 2\n")
    assert [(word.text, word.line) for word in found.words] == [
        ("Qwen/Qwen3-8B", 3), ("--max-model-len=4096", 4), ("-tp", 5), ("2", 5),
    ]  # fmt: skip


def test_flags_by_every_spelling():
    found = flags(
        "vllm serve m --max_model_len 32k --gpu-memory-util=0.9 -tp 2 --no-enable-prefix-caching "
        "--speculative-config.method mtp --speculative-config.num_speculative_tokens=3 -O3 --trust-remote-code"
    )
    assert found["--max-model-len"] == ("32k",)
    assert found["--gpu-memory-utilization"] == ("0.9",)
    assert found["--tensor-parallel-size"] == ("2",)
    assert found["--speculative-config"] == ('{"method": "mtp", "num_speculative_tokens": 3}',)
    assert found["--optimization-level"] == ("3",)
    assert {"--enable-prefix-caching", "--trust-remote-code"} <= set(found)


def test_a_switch_takes_no_word_behind_it_and_a_repeated_flag_counts_last():
    found = start("vllm serve --enforce-eager Qwen/Qwen3-8B --port 1 --port 2")
    line = read_flags(found.words, arguments_of("vllm"))
    assert [word.text for word in line.positional] == ["Qwen/Qwen3-8B"]
    assert [flag.values for flag in line.flags if flag.name == "--port"] == [("2",)]


def test_an_unknown_flag_is_named_with_what_is_near():
    (flag,) = read_flags(start("vllm serve m --max-modal-len 5").words, arguments_of("vllm")).flags
    assert flag.name is None
    assert "--max-model-len" in flag.near


@pytest.mark.parametrize(
    ("text", "engine", "name"),
    [
        ("python3 -m vllm.entrypoints.openai.api_server --model a/b", "vllm", None),
        ("CUDA_VISIBLE_DEVICES=0 VLLM_USE_V1=1 nohup vllm serve a/b &", "vllm", None),
        ("python -m sglang.launch_server --model-path a/b --tp 2", "sglang", None),
        ("trtllm-serve a/b --tp_size 2", "tensorrt-llm", None),
        ("./build/bin/llama-server -m b.gguf -c 4096", "llama.cpp", None),
        ("sudo docker run --gpus 2 -e A=1 -p 1:2 vllm/vllm-openai:v0.11.0 --model a/b", "vllm", "2"),
        ("docker run --gpus '\"device=0,1\"' x/y lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server --model-path m",
         "sglang", "2"),
        ("sh -c 'exec vllm serve a/b --port 1'", "vllm", None),
        ("```bash\n$ vllm serve a/b\n```", "vllm", None),
    ],
)  # fmt: skip
def test_starts_of_every_program(text, engine, name):
    found = start(text)
    assert found.engine == engine
    gpus = found.stated("gpus")
    assert (gpus.value if gpus else None) == name


def test_releases_of_images_and_gpus_of_labels():
    assert [release_of(one) for one in ("vllm/vllm-openai:v0.8.5.post1", "a/b:latest", "a/b@sha256:0", "r:5000/a")] == [
        "0.8.5", None, None, None,
    ]  # fmt: skip
    assert gpu_of_label("nvidia-tesla-a100") == "a100-sxm4-40gb"
    assert gpu_of_label("Standard_ND96isr_H100_v5") == "h100-sxm5-80gb"
    assert gpu_of_label("p5.48xlarge") == gpu_of_label("p5") == "h100-sxm5-80gb"
    # Karpenter's name of two cards.
    assert gpu_of_label("a100") is None


def test_every_list_of_arguments_names_its_source_and_every_meaning_a_flag_that_is_listed():
    for engine in ENGINES:
        known = arguments_of(engine)
        listed = {name for _version, _source, names in known.lists for name in names}
        # Between the two releases of SGLang that were read.
        assert set(known.meanings) - {"--disable-piecewise-cuda-graph"} <= listed
        assert known.without_effect <= listed, known.without_effect - listed
        assert all(version and source for version, source, _names in known.lists)
        assert set(known.short.values()) <= listed
        assert not known.without_effect & {*known.meanings, *known.quiet_values}
        assert set(known.quiet_values) <= listed


def test_a_flag_is_without_effect_only_with_the_values_that_leave_figures_as_they_are():
    known = arguments_of("vllm")
    said = ["--task", "generate", "--swap-space", "4", "--port", "1", "--use-v2-block-manager"]
    flags = {flag.name: flag for flag in read_flags([Word(text, 1) for text in said], known).flags}
    flags["embed"] = replace(flags["--task"], values=("embed",))
    assert [name for name, flag in flags.items() if _why(flag, known) is None] == ["--task", "--port"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("hello", "No server was found"),
        ("vllm serve 'a", "not closed"),
        ("apiVersion: v1\nkind: Deployment\nspec: [", "No YAML"),
        ("apiVersion: v1\nkind: Deployment\nspec:\n  {{- if .Values.x }}\n  a: 1\n", "template"),
        ("kind: Deployment\nspec: " + "[" * 60 + "]" * 60, "deep"),
        ("kind: Deployment\nkind: Service\n", "twice"),
        ("kind: Deployment\nspec: *x\n", "alias"),
        ("kind: Deployment\nspec: [" + "a," * 21_000 + "]", "more than"),
        ("kind: Deployment\n" + "#" * 200_001, "more than"),
        ("vllm serve " + "a " * 5_000, "more than"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(text, reason):
    with pytest.raises(ManifestError) as refused:
        read_manifest(text)
    assert reason in refused.value.reason


def test_aliases_cost_what_is_written_and_merge_keys_are_taken():
    bomb = "x0: &x0 [a, a]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 60))
    compose = (
        "services:\n  a: &base\n    image: vllm/vllm-openai:latest\n    command: --model a/b\n  c:\n    <<: *base\n"
    )
    found = read_manifest(bomb + compose)
    assert [(one.name, [word.text for word in one.words]) for one in found] == [
        ("a", ["--model", "a/b"]), ("c", ["--model", "a/b"]),
    ]  # fmt: skip
