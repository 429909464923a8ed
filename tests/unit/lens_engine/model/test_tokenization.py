import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from lens_engine.model.tokenization import SegmentTokenizer
from tests.tiny_models import train_byte_level

ROOT = Path(__file__).parents[4]
CORPUS = ["the film was great", "the film was terrible", "a great day in the city", "great great terrible"]


def llama_like(*, legacy: bool) -> Tokenizer:
    """A tokenizer that puts "▁" before every text, by a normalizer (legacy) or by its pre-tokenizer, and BOS first."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=120, special_tokens=["<unk>", "<s>"], initial_alphabet=["\n", "."], show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 1)])
    return tokenizer


def pieces(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    return "".join(str(tokenizer.id_to_token(token)) for token in tokens)


def byte_level() -> Tokenizer:
    return train_byte_level(CORPUS, 300)


_COUNT_LONG_TEXTS = """
import sys
from lens_engine.model.tokenization import SegmentTokenizer
from tests.unit.lens_engine.model.test_tokenization import byte_level

def read(name):
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith(name))

texts, tokenizer = ["z" * 20_000] * 100, SegmentTokenizer(byte_level())
before = read("VmRSS")
assert tokenizer.count_once(texts) == [20_000] * 100
print(read("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the files of Linux about a process")
def test_long_texts_do_not_take_memory_all_at_once() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", _COUNT_LONG_TEXTS], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert float(shown.stdout) < 120


@pytest.mark.parametrize("legacy", [True, False])
def test_only_the_first_segment_gets_a_prefix_space(legacy: bool) -> None:
    backend = llama_like(legacy=legacy)
    segments = SegmentTokenizer(backend)

    [prefix] = segments.encode_prefixes([("the film.\n", "great day.\n")])
    [query] = segments.encode_queries(["the city"], is_first=False)

    assert pieces(backend, prefix + query) == "<s>▁the▁film.\ngreat▁day.\nthe▁city"
    assert segments.distinguishes_first


@pytest.mark.parametrize("legacy", [True, False])
def test_label_span_keeps_its_own_space_and_gets_no_other(legacy: bool) -> None:
    backend = llama_like(legacy=legacy)

    spaced, bare = SegmentTokenizer(backend).encode_spans([" great", "great"])

    assert pieces(backend, spaced) == "▁great"
    assert pieces(backend, bare) == "great"


@pytest.mark.parametrize("legacy", [True, False])
def test_first_query_has_the_tokenizers_own_tokens(legacy: bool) -> None:
    backend = llama_like(legacy=legacy)
    segments = SegmentTokenizer(backend)

    [prefix] = segments.encode_prefixes([()])
    [query] = segments.encode_queries(["the city"], is_first=True)

    assert list(prefix + query) == backend.encode("the city").ids


def test_closing_special_tokens_are_not_taken_for_leading_ones() -> None:
    backend = llama_like(legacy=False)
    backend.post_processor = processors.TemplateProcessing("$A <s>", "$A $B <s>", [("<s>", 1)])
    assert SegmentTokenizer(backend).leading_tokens == ()


def test_byte_level_segments_join_to_the_text() -> None:
    backend = byte_level()
    segments = SegmentTokenizer(backend)
    texts = ("the film.\n", " great day: naïve 🙂\n", "the city")

    [prefix] = segments.encode_prefixes([texts])

    assert segments.leading_tokens == ()
    assert not segments.distinguishes_first
    assert prefix == tuple(token for text in texts for token in backend.encode(text).ids)


def test_special_token_written_in_a_text_is_plain_text() -> None:
    backend = byte_level()
    backend.add_special_tokens([AddedToken("<|im_start|>", special=True)])
    special = {backend.token_to_id("<|im_start|>"), backend.token_to_id("<|endoftext|>")}

    [tokens] = SegmentTokenizer(backend).encode_queries(["<|im_start|> great <|endoftext|>"], is_first=True)

    assert not special & set(tokens)
    assert backend.encode("<|im_start|>").ids == [backend.token_to_id("<|im_start|>")]  # the original is as it was


def test_padding_and_truncation_of_the_tokenizer_do_not_apply() -> None:
    backend = byte_level()
    backend.enable_truncation(2)
    backend.enable_padding(length=50)

    [tokens] = SegmentTokenizer(backend).encode_queries(["the film was great"], is_first=True)

    assert 2 < len(tokens) < 50


@pytest.mark.parametrize("backend", [byte_level(), llama_like(legacy=False)])
def test_text_is_remembered_twice_only_if_its_first_tokens_are_others(backend: Tokenizer) -> None:
    segments = SegmentTokenizer(backend)

    [first] = segments.encode_queries(["the city"], is_first=True)
    [later] = segments.encode_queries(["the city"], is_first=False)

    assert (first != later) == segments.distinguishes_first
    assert segments.num_cached_tokens == len(first) + len(later) * segments.distinguishes_first


def test_cache_is_emptied_when_it_holds_too_many_tokens() -> None:
    bounded, unbounded = SegmentTokenizer(byte_level(), max_cached_tokens=30), SegmentTokenizer(byte_level())
    texts = [f"the film number {index} was great" for index in range(40)]

    for text in texts:
        [tokens] = bounded.encode_queries([text], is_first=False)
        assert [tokens] == unbounded.encode_queries([text], is_first=False)
        assert bounded.num_cached_tokens <= 30 + len(tokens)
    assert unbounded.num_cached_tokens > 100


def test_counted_texts_are_remembered_as_far_as_there_is_room() -> None:
    bounded, unbounded = SegmentTokenizer(byte_level(), max_cached_tokens=30), SegmentTokenizer(byte_level())
    texts = [f"the film number {index} was great" for index in range(40)]

    assert bounded.count(texts) == bounded.count(texts[::-1])[::-1] == unbounded.count(texts)
    assert bounded.num_cached_tokens <= 30 + max(unbounded.count(texts))


@pytest.mark.parametrize("legacy", [True, False])
def test_counts_are_those_of_segments_that_follow_others(legacy: bool) -> None:
    segments = SegmentTokenizer(llama_like(legacy=legacy))
    texts = ["the city", "a great day in the city", "", "the city"]

    assert segments.count(texts) == [len(tokens) for tokens in segments.encode_queries(texts, is_first=False)]
