"""`estimates/tokens/` over REST."""

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


@pytest.fixture
def ask(client):
    def post(query="", **body):
        return client.post(f"/api/v1/estimates/tokens/{query}", orjson.dumps(body), content_type="application/json")

    return post


def test_s28_900_english_words(ask):
    answer = ask(words=900, language="en", max_output_tokens=1000, context_window_tokens=8192).json()
    assert (answer["tokens"], answer["total_tokens"], answer["fits"], answer["remaining_tokens"]) == (
        1200,
        2200,
        True,
        5992,
    )


def test_s41_spanish_needs_more_tokens_than_english(ask):
    assert ask(words=900, language="es").json()["tokens"] > ask(words=900, language="en").json()["tokens"]


def test_s45_the_window_is_prompt_plus_answer(ask):
    assert ask(input_tokens=8000, context_window_tokens=8192).json()["remaining_tokens"] == 192


def test_the_window_of_a_catalog_model_is_taken_with_its_source(ask):
    answer = ask(words=900, model="llama-3.1-8b").json()
    assert answer["context_window_tokens"] == 131_072
    assert answer["provenance"][0]["what"] == "context_window_tokens"


def test_without_a_window_the_fit_is_not_said(ask):
    answer = ask(words=10).json()
    assert (answer["fits"], answer["remaining_tokens"], answer["fits_at_high"]) == (None, None, None)
    assert any("English" in assumption for assumption in answer["assumptions"])


def test_a_count_by_rule_says_that_no_tokenizer_was_used(ask):
    assert any("tokenizer" in assumption for assumption in ask(text="hola", language="es").json()["assumptions"])
    assert ask(input_tokens=5).json()["assumptions"] == []


def test_a_fit_that_hangs_on_the_tokenizer_is_told(ask):
    # 900 words: 1,200 tokens by the rule, up to 1,332 with the dearest tokenizer.
    answer = ask(words=900, context_window_tokens=1250).json()
    assert (answer["fits"], answer["fits_at_high"]) == (True, False)


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "#", "required"),
        ({"words": 1, "text": "x"}, "#", "ambiguous"),
        ({"words": 1, "language": "tlh"}, "#/language", "not_supported"),
        ({"words": 1, "language": "ja"}, "#/words", "not_supported"),
        ({"words": 1, "model": "llama-3.1-8b", "context_window_tokens": 5}, "#/context_window_tokens", "ambiguous"),
    ],
)
def test_what_cannot_be_asked_is_told(ask, body, pointer, code):
    response = ask(**body)
    assert response.status_code == 400
    assert [(e["pointer"], e["code"]) for e in response.json()["errors"]] == [(pointer, code)]


def test_a_text_in_japanese_is_counted_by_character(ask):
    method = ask(text="こんにちは 世界", language="ja-JP").json()["method"]
    assert (method["unit"], method["units"], method["language"]) == ("characters", 7, "ja")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("你好世界" * 100, "zh"),
        ("人は自由に生まれた" * 50, "ja"),
        ("มนุษย์ทุกคนเกิดมา" * 50, "th"),
        ("GPU 的显存不足" * 60, "zh"),
    ],
)
def test_a_text_without_spaces_is_counted_by_its_script(ask, text, language):
    answer = ask(text=text).json()
    assert answer["method"]["language"] == language
    assert answer == ask(text=text, language=language).json() | {"assumptions": answer["assumptions"]}
    assert any(language in assumption for assumption in answer["assumptions"])
    assert answer["warnings"] == []


def test_a_text_in_a_spaced_script_without_language_is_english(ask):
    for text in ("hello world", "the sign 你好 means hello", "1 2 3"):
        answer = ask(text=text).json()
        assert (answer["method"]["language"], answer["warnings"]) == ("en", [])


@pytest.mark.parametrize(("text", "language"), [("a" * 10_000, None), ("你好世界" * 100, "en"), ("9" * 200, "es")])
def test_runs_that_are_no_words_are_warned_of(ask, text, language):
    body = {"text": text} | ({"language": language} if language else {})
    assert any("between spaces" in warning for warning in ask(**body).json()["warnings"])


def test_an_answer_that_does_not_fit_leaves_a_negative_rest(ask):
    answer = ask(input_tokens=8000, max_output_tokens=193, context_window_tokens=8192).json()
    assert (answer["fits"], answer["remaining_tokens"]) == (False, -1)


def test_the_figures_come_first_and_the_explanation_only_when_asked_for(ask):
    plain = list(ask(words=900).json())
    assert plain[:2] == ["inputs", "tokens"]
    assert plain[-1] == "provenance"
    assert list(ask("?explain=true", words=900).json())[-1] == "explanation"


def test_what_was_counted_is_echoed_without_the_text(ask):
    answer = ask(text="hola", language="es-MX", model="llama-3.1-8b").json()
    assert answer["inputs"] == {
        "words": None, "text_characters": 4, "input_tokens": None, "language": "es", "max_output_tokens": 0,
        "context_window_tokens": 131_072, "model": "llama-3.1-8b",
    }  # fmt: skip
    assert "hola" not in str(answer)
