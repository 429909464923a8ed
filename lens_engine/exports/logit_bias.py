"""`logit-bias`: the body of a completion whose one token is the first of a label word, with label biases added.

The map carries the rule of the prompt exactly where each label word is one token. Where a label word has several, the
answer is the label whose first token is likeliest, which is another rule than the one that was evaluated: it counts
what else may follow the first token. The export then says `"is_exact": false`.
"""

import json
from collections.abc import Callable, Iterable, Sequence

from lens_engine.errors import InvalidConfig, InvalidVerbalizer
from lens_engine.exports.contract import Source
from lens_engine.exports.text import write as write_prompt
from lens_engine.result.parts import LabelBias
from lens_engine.task.record import TaskRecord
from lens_engine.task.wording import show_label

Encode = Callable[[str], Sequence[int]]
"""The token ids of a label word with the spaces before it, as they follow a prompt."""

_MOST = 100.0
"""Largest bias that the API of OpenAI takes; a token with it wins against every other without."""

_LEAST = 40.0
"""Smallest bias that lifts an unlikely label word above every other token (nats)."""


def make_logit_bias(task: TaskRecord, label_biases: Iterable[LabelBias], encode: Encode) -> dict[int, float]:
    """Token id -> bias, in the order of the labels: the label bias of each label word's first token, and a constant.

    With the temperature 0 and one token, the answer is the first token t of a label word with the highest
    log p(t) + label bias. Servers keep logits in float32, so a lead below 1e-5 nats may be lost.

    Args:
        label_biases: of the prompt; none for the likeliest label word.

    Raises:
        InvalidVerbalizer: two label words begin with the same token; the message names the labels.
        InvalidConfig: the label biases are so far apart that another token could win.
    """
    first_tokens = _find_first_tokens(task, encode)
    biases = {one.label: one.bias for one in label_biases}
    given = [biases.get(label, 0.0) for label in task.labels]
    if max(given) - min(given) > _MOST - _LEAST:
        raise InvalidConfig(
            f"the label biases are {max(given) - min(given):.0f} nats apart, and a logit_bias map carries "
            f"{_MOST - _LEAST:.0f}",
            field="format",
        )
    return {token: _MOST + bias - max(given) for token, bias in zip(first_tokens, given, strict=True)}


def write_logit_bias(source: Source, encode: Encode) -> bytes:
    """The body of the request, with `{text}` in its prompt, and the label that each answer stands for, in UTF-8.

    Raises:
        InvalidVerbalizer, InvalidConfig: as `make_logit_bias`.
    """
    answer = source.answer
    if source.task.chat is not None:
        raise InvalidConfig("the prompt is a chat, and a logit_bias map of Lens is for a text", field="format")
    biases = make_logit_bias(source.task, answer.label_biases if answer.use == "probabilities" else (), encode)
    spans = source.task.task().label_spans
    answers = zip(biases, source.task.labels, spans, strict=True)
    shown = {
        "request": {
            "model": source.model,
            "prompt": write_prompt(source),
            "max_tokens": 1,
            "temperature": 0,
            "logit_bias": {str(token): bias for token, bias in biases.items()},
        },
        "answers": [{"token": token, "label": label, "begins": span} for token, label, span in answers],
        "is_exact": all(len(encode(span)) == 1 for span in spans),
    }
    return (json.dumps(shown, ensure_ascii=False, indent=2) + "\n").encode()


def _find_first_tokens(task: TaskRecord, encode: Encode) -> list[int]:
    label_of: dict[int, str] = {}
    for label, span in zip(task.labels, task.task().label_spans, strict=True):
        first = encode(span)[0]
        if first in label_of:
            raise InvalidVerbalizer(
                f"the label words of {show_label(label_of[first])} and {show_label(label)} begin with the same token "
                "of the model, so no logit_bias map tells them apart; export python",
                field=f"verbalizer.{label}",
            )
        label_of[first] = label
    return list(label_of)
