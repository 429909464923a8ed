"""The box to sign: the decision, what to expect, what goes wrong, what a person looks at, cost, and whose texts."""

from collections import Counter
from collections.abc import Iterator, Mapping

from lens_engine.model.base import SERVER
from lens_engine.prompt.wording import describe_seconds, describe_usd, show_count, show_percent
from lens_engine.result import SelectionResult
from lens_engine.result.headline import find_quality
from lens_engine.show.answers import Answered
from lens_engine.show.verdict import LEAST_GAIN, find_answered, list_as_good, say_beside, say_decision, say_rest
from lens_engine.show.ways import find_first
from lens_engine.show.words import quote_label

_TEXTS = 1000
_CHEAP = {
    "bag_of_words": "No fee: words are counted on any computer, and no text leaves it.",
    "embeddings": "No fee: a small encoder of sentences runs on your own machines; no language model is asked.",
}
"""What costs no tokens of a language model."""
_LEAST_LEFT, _LEFT, _MOST_LEFT = 0.05, 0.2, 0.5
"""Share of the texts that a person takes: least, best and largest."""


def write_box(result: SelectionResult, texts: Mapping[str, int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The lines of the box: a name, and its sentences.

    Args:
        texts: number of the user's texts in each part of the document.
    """
    told, answered = say_decision(result), find_answered(result)
    inside = [f"{number:,} in {part}" for part, number in texts.items() if number]
    lines = {
        "Decision": [told.decision],
        "Expect": [told.expect.removeprefix("Expect "), *say_beside(result)],
        "What else there is": [told.instead * bool(list_as_good(result)), *say_rest(result)],
        "Goes wrong": [*_say_wrong(answered), told.weak],
        "A person should look at": [*_say_doubtful(result)],
        "1,000 texts cost": [*_say_cost(result)],
        "Texts inside": [f"Texts of yours in this file: {', '.join(inside) or 'none'}."],
    }
    return tuple((name, tuple(filter(None, found))) for name, found in lines.items() if any(found))


def _say_wrong(answered: Answered | None) -> Iterator[str]:
    """How many answers are wrong, and the most frequent mix-up."""
    if answered is None:
        return
    pairs = zip(answered.gold, answered.answers, strict=True)
    wrong = Counter((gold, answer) for gold, answer in pairs if gold != answer)
    what = show_count(len(answered.rows), "test text" if answered.is_test else "row")
    yield f"{wrong.total() or 'None'} of {what} {'were' if wrong.total() > 1 else 'was'} wrong."
    for (gold, answer), number in wrong.most_common(1):
        if number > 1:
            labels = [quote_label(answered.labels[place]) for place in (gold, answer)]
            yield f"Most frequent mix-up: {labels[0]} answered {labels[1]} ({number:,} texts)."


def _say_doubtful(result: SelectionResult) -> Iterator[str]:
    """What is right where a person takes the least sure answers, and how many labels may be wrong."""
    quality = find_quality(result, result.first)
    curve = () if quality is None else quality.shares_answered
    found = [one for one in curve if _LEAST_LEFT <= 1 - one.share <= _MOST_LEFT]
    best = min(found, key=lambda one: abs(1 - one.share - _LEFT), default=None)
    if quality is not None and best is not None and best.accuracy >= quality.accuracy + LEAST_GAIN:
        others = round(best.share * quality.n)
        right = f"{round(best.accuracy * others):,} of {others:,} others"
        yield f"If a person takes the least sure {show_percent(1 - best.share)} %, {right} are right."
        yield f"For that, set answer_above to {best.threshold:.4f}."
    elif result.first == "prompt" and not any(result.answers.support_examples_probabilities):
        yield "The model does not say how sure it is, so check a random sample."
    if number := len(result.suspicious_labels):
        yield f"{show_count(number, 'labelled row')} may have a wrong label (listed below)."


def _say_cost(result: SelectionResult) -> Iterator[str]:
    """Money, time and tokens of the first choice, and where it runs."""
    way, origin, spent = find_first(result), result.provenance, result.cost
    if way is None or way.method in _CHEAP:
        yield "" if way is None else _CHEAP[way.method]
        return
    is_served, device = origin.device == SERVER, origin.device_name or origin.device
    tokens = _TEXTS * (way.tokens + way.tokens_held * is_served)
    unknown = "The fee of its server, whose prices are not known" if is_served else "No fee: this machine"
    parts = [unknown if way.usd is None else describe_usd(way.usd)]
    if spent.tokens and not spent.pairs_from_cache:
        parts.append(f"about {describe_seconds(tokens * spent.seconds / spent.tokens)}")
    yield f"{', '.join(parts)} (about {float(f'{tokens:.3g}'):,.0f} tokens)."
    here = f"{origin.model} runs on your own machines ({device}); no text leaves them."
    yield f"Each text goes with the examples to the server of {origin.model}." if is_served else here
