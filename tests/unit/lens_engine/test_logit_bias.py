"""A logit_bias map chooses the label that the prompt with its biases chooses."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from lens_engine.errors import InvalidConfig, InvalidVerbalizer
from lens_engine.exports.logit_bias import Encode, make_logit_bias, write_logit_bias
from lens_engine.result import LabelBias
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Task
from tests.unit.lens_engine.test_exports import TURNS, make_source


@pytest.fixture(scope="module")
def backend() -> Tokenizer:
    """Byte-level BPE, in which " good", " bad" and " 0" are one token each, and " 🎬" is four or more."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["it was good and it was bad and it was 0"] * 5, trainer)
    return tokenizer


@pytest.fixture(scope="module")
def encode(backend: Tokenizer) -> Encode:
    tokenizer = SegmentTokenizer(backend)
    return lambda span: tokenizer.encode_spans([span])[0]


def make_task(*words: str) -> TaskRecord:
    return TaskRecord.of(Task("{text} It was {label}.", {f"the {word}": word for word in words}))


def biases_of(task: TaskRecord, *values: float) -> list[LabelBias]:
    return [LabelBias(label=label, bias=bias) for label, bias in zip(task.labels, values, strict=True)]


@pytest.mark.parametrize("values", [(), (0.0, 3.5, -6.25)])
def test_likeliest_token_is_the_label_of_the_prompt(
    values: tuple[float, ...], backend: Tokenizer, encode: Encode
) -> None:
    task = make_task("0", "good", "bad")
    given = biases_of(task, *values) if values else []
    found = make_logit_bias(task, given, encode)
    assert list(found) == [backend.token_to_id(f"Ġ{word}") for word in ("0", "good", "bad")]
    assert max(found.values()) == 100
    logits = np.random.default_rng(3).normal(scale=9.0, size=(500, backend.get_vocab_size())).astype(np.float32)
    log_probs = logits[:, list(found)] - np.log(np.exp(logits.astype(np.float64)).sum(axis=1, keepdims=True))
    expected = (log_probs + np.array(values or (0.0,) * 3)).argmax(axis=1)
    for token, bias in found.items():
        logits[:, token] += np.float32(bias)
    assert [list(found).index(token) for token in logits.argmax(axis=1)] == expected.tolist()
    assert set(expected) == {0, 1, 2}


def test_label_words_with_the_same_first_token_are_refused(encode: Encode) -> None:
    with pytest.raises(
        InvalidVerbalizer, match="label words of 'the good' and 'the goodness' begin with the same token"
    ):
        make_logit_bias(make_task("good", "bad", "goodness"), (), encode)


def test_biases_too_far_apart_are_refused(encode: Encode) -> None:
    task = make_task("good", "bad")
    assert make_logit_bias(task, biases_of(task, 30.0, -30.0), encode) == {
        encode(" good")[0]: 100,
        encode(" bad")[0]: 40,
    }
    with pytest.raises(InvalidConfig, match="61 nats apart"):
        make_logit_bias(task, biases_of(task, 30.5, -30.5), encode)


@pytest.mark.parametrize(("words", "is_exact"), [(("0", "good"), True), (("0", "🎬"), False)])
def test_export_says_whether_it_is_exact(words: tuple[str, ...], is_exact: bool, encode: Encode) -> None:
    labels = {f"the {word}": word for word in words}
    source = make_source([(text, words[0]) for text, _ in TURNS], Task("{text} It was {label}.", labels))
    shown = json.loads(write_logit_bias(source, encode))
    assert shown["is_exact"] == is_exact
    assert shown["request"]["prompt"] == f"{source.answer.prompt}{{text}} It was"
    assert shown["request"]["logit_bias"] == {str(encode(f" {word}")[0]): 100 for word in words}
    assert [one["label"] for one in shown["answers"]] == list(labels)
    assert (shown["request"]["max_tokens"], shown["request"]["temperature"]) == (1, 0)


def test_export_of_probabilities_has_the_label_biases(encode: Encode) -> None:
    source = make_source([], Task("{text} It was {label}.", {"a": "good", "b": "bad"}))
    biased = source.answer.model_copy(
        update={
            "use": "probabilities",
            "label_biases": (LabelBias(label="b", bias=2.0), LabelBias(label="a", bias=0.5)),
        }
    )
    source = type(source)(source.task, biased, source.model)
    assert list(json.loads(write_logit_bias(source, encode))["request"]["logit_bias"].values()) == [98.5, 100]
