"""What to use, in sentences of a line: the decision, what to expect, what may be as good, where it is weak; and the box
to sign, with cost and whose texts are inside."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import hypot
from typing import NamedTuple

from lens_engine.classifier.bag_of_words import WordsEstimate
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective
from lens_engine.model.base import SERVER
from lens_engine.prompt.wording import (
    describe_seconds,
    describe_usd,
    end_sentence,
    show_count,
    show_percent,
    show_share,
)
from lens_engine.result import SelectionResult, SupportExamples, Verdict
from lens_engine.show.answers import Answered, list_answered
from lens_engine.show.ways import Way, explain_marks, find_first, find_reading, list_read, list_ways
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    describe_form,
    join_names,
    quote_label,
    say_expected,
    say_largest_class,
)
from lens_engine.types import HeadlineKind, StopReason

USE_NOTHING = "Use nothing of this run as it is"
_NAMES: dict[HeadlineKind, str] = {"classifier": "the classifier", "words": "counting words", "prompt": "the prompt"}
_READERS = ("states", "states_and_words", "label_probabilities")
"""Classifiers that read the language model."""
_EMBEDDINGS = "sentence embeddings"
_RIVALS = {"zero_shot": "no examples", "random": "random examples"}
_FEW, _SURE = 100, 0.95
"""Number of rows below which a figure is rough; share of samples from which one thing is better than another."""
_PARTIAL = (
    "Partial: the run was stopped; a run that goes on may find better examples.",
    "Partial: a limit was reached; a larger one may find better examples.",
)
LEAST_GAIN = 0.02
"""Gain of which a sentence speaks: a smaller one is less than few rows can tell."""
_MOST_NEAR = 0.01
"""Share of the test texts that may be nearly equal to others before a sentence beside the figures says so."""


class Decision(NamedTuple):
    """What to use, a sentence each; empty where there is nothing to say."""

    decision: str  #: "Use the classifier."
    expect: str = ""  #: "Expect 82 to 95 of 100 new texts right (judged by 150 rows)."
    instead: str = ""  #: "Counting words may be as good."
    weak: str = ""  #: Weak on “mixed” (11 of 17 right).


def add_sentences(result: SelectionResult) -> SelectionResult:
    """A result with its verdict, and with what is said of each prompt."""
    prompts = tuple(_add_reason(result, one) for one in result.support_examples)
    verdict = Verdict(sentence=say_verdict(result))
    return result.model_copy(update={"support_examples": prompts, "verdict": verdict})


def _add_reason(result: SelectionResult, answer: SupportExamples) -> SupportExamples:
    fixed = None if answer.fixed is None else _add_reason(result, answer.fixed)
    return answer.model_copy(update={"reason": say_prompt(result, answer), "fixed": fixed})


def say_verdict(result: SelectionResult) -> str:
    """The decision, and what must be known beside."""
    sentences = filter(None, (*say_decision(result), *say_beside(result)))
    return " ".join(sentences)


def say_decision(result: SelectionResult) -> Decision:
    """What to use first, what to expect of it, what may be as good, and the labels that it often gets wrong."""
    expected = result.expectations.get(result.first)
    if expected is None:
        return Decision("Nothing was judged.")
    if result.beats_largest_class:
        return Decision(
            _say_use(result), _say_expect(result, expected), _say_instead(result, expected), _say_weak(result)
        )
    name, (largest,) = _NAMES[result.first], say_largest_class(expected, result.objective)
    right = say_expected(expected, result.objective, is_test=result.is_tested)
    return Decision(f"{USE_NOTHING}.", end_sentence(f"{name} is {right}"), end_sentence(largest))


def say_beside(result: SelectionResult) -> Iterator[str]:
    """Whether the figures may be too high, what more rows are worth, and why a run ended early."""
    near, tested = result.counts.near_test_rows, result.counts.test
    if result.is_tested and near > _MOST_NEAR * tested:
        yield f"{show_count(near, 'test text', 'is')} nearly equal to labelled texts: this may be too high."
    estimate = result.estimates.get(result.first)
    if estimate is not None and (estimate.more_rows or 0) >= LEAST_GAIN:
        yield f"50 more labelled rows may be worth about {100 * (estimate.more_rows or 0):.0f} points."
    if result.chosen is None:
        yield "No classifier was made."
    if result.stop_reason is not StopReason.COMPLETED:
        yield _PARTIAL[result.stop_reason is StopReason.BUDGET]


def _say_use(result: SelectionResult) -> str:
    if result.first == "classifier":
        return f"Use the classifier{' of sentence embeddings; you need no language model' * _is_embedded(result)}."
    if result.first == "prompt":
        return f"Use the prompt ({describe_form(len(result.answer.examples), result.answer.form)})."
    if any(one.judged and one.method in _READERS for one in result.contenders):
        return "Count words; you need no language model."
    return "Count words; no classifier that reads the model was compared."


def _is_embedded(result: SelectionResult) -> bool:
    """Whether the first choice reads sentence embeddings."""
    return result.first == "classifier" and result.chosen is not None and result.chosen.name == "embeddings"


def _say_expect(result: SelectionResult, expected: Accuracy) -> str:
    low, high = map(show_percent, expected.ci95)
    if result.is_tested:
        judged = f"{round(expected.accuracy * expected.n):,} of {expected.n:,} test texts"
    else:
        judged = f"{'roughly; ' * (expected.n < _FEW)}judged by {show_count(expected.n, 'row')}"
    is_f1 = result.objective == "macro_f1" and expected.macro_f1 is not None
    f1 = f", macro-F1 {expected.macro_f1:.2f}" if is_f1 else ""
    return f"Expect {low} to {high} of 100 new texts right ({judged}{f1})."


def _say_instead(result: SelectionResult, expected: Accuracy) -> str:
    """What may be as good; else what word counting reaches, and beside that the prompt."""
    if near := list_as_good(result):
        names, embedded = list(near), near.get(_EMBEDDINGS)
        cheap = names[: names.index(_EMBEDDINGS) + 1] if _EMBEDDINGS in near else []
        told = [f"{join_names(cheap)} may be as good, without a language model"] if cheap else []
        if embedded and result.is_tested and result.objective == "accuracy" and embedded.accuracy > expected.accuracy:
            told[0] += f": on the test texts embeddings had {round(embedded.accuracy * embedded.n):,} right"
        if others := names[len(cheap) :]:
            told.append(f"so may {join_names(others)}" if cheap else f"{join_names(others)} may be as good")
        return " ".join(map(end_sentence, told))
    other: HeadlineKind = "prompt" if result.first == "words" else "words"
    if (found := result.expectations.get(other)) is None:
        return ""
    own, theirs = show_percent(expected.accuracy), show_percent(found.accuracy)
    return end_sentence(f"{_NAMES[other]} gets {theirs} of 100 right, {_NAMES[result.first]} {own}")


def list_as_good(result: SelectionResult) -> dict[str, Accuracy | None]:
    """What is not surely worse than the first choice, by test texts or else samples, with its figure on test texts."""
    estimate, own = result.estimates.get(result.first), result.test_figures.get(result.first)
    chances = {} if estimate is None else {one.rival: one.chance for one in estimate.beats}
    zero_shot = [one.test for one in result.contenders if one.method == "zero_shot" and one.test is not None]
    is_own = result.first == "prompt" and result.answer.method == "zero_shot"
    best = None if is_own else max(zero_shot, key=lambda one: one.accuracy, default=None)
    tested: dict[str, Accuracy | None] = {"words": result.test_figures.get("words"), "zero_shot": best}
    tested |= {one.name: one.test for one in result.tested if one.name == "embeddings"}
    rivals = {"words": _NAMES["words"], "embeddings": _EMBEDDINGS, **_RIVALS}
    rivals.pop("embeddings" if _is_embedded(result) else result.first, None)
    if result.first != "prompt":  # a classifier is no choice of examples
        del rivals["random"]
    found = dict[str, Accuracy | None]()
    for rival, name in rivals.items():
        other = tested.get(rival)
        if own is not None and other is not None:
            is_near = own.accuracy - other.accuracy < 2 * hypot(own.error("accuracy"), other.error("accuracy"))
        else:
            is_near = chances.get(rival, 1.0) < _SURE
        if is_near:
            found[name] = other
    return found


def find_answered(result: SelectionResult) -> Answered | None:
    """The answers of the first choice, row by row; None where it has none."""
    chosen = result.chosen
    if result.first != "prompt" and (chosen is None or chosen.headline != result.first):
        return None
    name = result.answer.use if result.first == "prompt" else "classifier"
    return next((one for one in list_answered(result) if one.name == name), None)


def _say_weak(result: SelectionResult) -> str:
    answered = find_answered(result)
    weak = [] if answered is None else answered.list_weak()
    told = [f"{quote_label(one.label)} ({one.right} of {one.rows} right)" for one in weak]
    return f"Weak on {join_names(told)}." if told else ""


def say_rest(result: SelectionResult) -> Iterator[str]:
    """How often everything else is right, the best first: the figures of the chart."""
    rivals = [one for one in list_read(result) if not one.is_first]
    told = (f"{_shorten(one.name)} {show_percent(one.figure.accuracy)}{'*' * one.is_raw}" for one in rivals)
    if rivals:
        yield f"Right of 100: {', '.join(told)}."
        yield from map(end_sentence, explain_marks(rivals))


def _shorten(name: str) -> str:
    """The name of a way in a list, where all prompts are read alike."""
    return name.removeprefix("prompt, ").replace(", corrected", "")


def say_prompt(result: SelectionResult, answer: SupportExamples) -> str:
    """How often a prompt is right, whether something better can be used, and what other prompts reach."""
    if answer.expected is None:
        return "The prompt was not judged."
    told = [f"The prompt is {say_expected(answer.expected, result.objective, is_test=answer.test is not None)}."]
    told += ["Something better than the prompt can be used."] if answer.recommended is False else []
    for one in _list_plain(result, answer):
        told.append(f"With {_shorten(one.name)}: {show_percent(one.figure.accuracy)} %.")
    return " ".join(told)


def _list_plain(result: SelectionResult, answer: SupportExamples) -> list[Way]:
    """Prompts without examples and with random ones, read as this one is, on the same rows."""
    if result.is_tested != (answer.test is not None):
        return []
    plain = set(_RIVALS.values()) - {_RIVALS["zero_shot"] * (answer.method == "zero_shot")}
    found = [one for one in list_ways(result) if one.contender and one.contender.use == find_reading(answer)]
    return [one for one in found if _shorten(one.name) in plain]


_TEXTS = 1000
_CHEAP = {
    "bag_of_words": "No fee: words are counted on any computer, and no text leaves it.",
    "embeddings": "No fee: a small encoder of sentences runs on your own machines; no language model is asked.",
}
"""What costs no tokens of a language model."""
_LEAST_LEFT, _LEFT, _MOST_LEFT = 0.05, 0.2, 0.5
"""Share of the texts that a person takes: least, best and largest."""


def write_box(
    result: SelectionResult, texts: Mapping[str, int], beside: Sequence[str] = ()
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The lines of the box: a name, and its sentences.

    `texts`: how many stand in each part of the document; `beside`: what must be known of the rows.
    """
    told, answered = say_decision(result), find_answered(result)
    inside = [f"{number:,} in {part}" for part, number in texts.items() if number]
    lines = {
        "Decision": [told.decision],
        "Expect": [told.expect.removeprefix("Expect "), *map(end_sentence, beside), *say_beside(result)],
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


def _find_quality(result: SelectionResult) -> Quality | None:
    """Quality of the first choice, with its thresholds: on test rows, or else as it was judged."""
    if result.first == "prompt":
        return result.answer.test or result.answer.judged
    chosen = result.chosen
    return None if chosen is None or chosen.headline != result.first else chosen.test or chosen.cross_validated


def _say_doubtful(result: SelectionResult) -> Iterator[str]:
    """What is right where a person takes the least sure answers, and how many labels may be wrong."""
    quality = _find_quality(result)
    curve = () if quality is None else quality.shares_answered
    found = [one for one in curve if _LEAST_LEFT <= 1 - one.share <= _MOST_LEFT]
    best = min(found, key=lambda one: abs(1 - one.share - _LEFT), default=None)
    if quality is not None and best is not None and best.accuracy >= quality.accuracy + LEAST_GAIN:
        others = round(best.share * quality.n)
        right = f"{round(best.accuracy * others):,} of {others:,} others"
        yield f"If a person takes the least sure {show_percent(1 - best.share)} %, {right} are right."
        above = f"{best.threshold:.4f}"
        yield f"For that, leave answers below {above} open: --answer-above {above}, or answer_above of the API."
    elif result.first == "prompt" and not any(result.answers.support_examples_probabilities):
        yield "The model does not say how sure it is, so check a random sample."
    elif quality is not None and quality.n < _FEW:
        rows = show_count(quality.n, "test text" if result.is_tested else "row")
        yield f"Which answers are unsure is not known: {rows} are too few to tell."
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


def warn_of_largest_class(tested: Iterable[Accuracy | None], objective: Objective = "accuracy") -> list[str]:
    """A warning if nothing that was tested on the same rows is better than always the most frequent label."""
    found = [one for one in tested if one is not None]
    if not found or any(one.beats_largest_class(objective) for one in found):
        return []
    (largest,) = say_largest_class(found[0], objective)
    return [
        f"nothing that was tested is better than {largest}. Can a reader tell the labels by the texts? Are labels "
        "wrong?"
    ]


def advise_by_words(words: WordsEstimate) -> str:
    """What word counting reaches before a run, what was not measured, and what a run tells."""
    accuracy, share, number = words.accuracy, words.largest_class, words.num_rows
    rows = "all labelled rows" if number == words.num_labelled else f"{number:,} of the labelled rows"
    found = f"Counting words is right for {show_share(accuracy, 100)} of {rows}"
    found = f"{found} ({ALWAYS_THE_LARGEST}: {show_share(share, 100)})"
    if accuracy > share + (share * (1 - share) / number) ** 0.5:
        if accuracy >= _ENOUGH:
            return f"{found}. That leaves little for a language model to add."
        return f"{found}. Lens is worth a try where that is not enough."
    found = f"{found}. That is the level of guessing. How often a language model is right, a run tells."
    look = " Can a reader tell the labels by the texts? Is this the column of the labels?"
    return f"{found}{look * (number >= _MANY)}"


_ENOUGH = 0.95
"""Share of right answers of word counting from which a language model has little to add."""
_MANY = 1000
"""Rows from which on guessing says something of the texts; with fewer, language models were right where it guessed."""
