"""Sentences on what to use: first the one thing to use, then why no other, then what must be known beside."""

from collections.abc import Iterable, Iterator
from statistics import fmean

from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective
from lens_engine.result import Contender, Estimate, SelectionResult, SupportExamples
from lens_engine.result.headline import find_chosen, find_estimate, find_expected, find_test
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    say_expected,
    say_largest_class,
    say_right,
    show_accuracy,
)
from lens_engine.task.wording import end_sentence, show_count, show_percent, show_share
from lens_engine.types import HeadlineKind, StopReason

USE_NOTHING = "Use nothing of this run as it is"
_NAMES: dict[HeadlineKind, str] = {"classifier": "the classifier", "words": "word counting", "prompt": "the prompt"}
_JUDGED: dict[HeadlineKind, str] = {
    "classifier": "each judged by a classifier that had not seen it",
    "words": "each judged by the words of the others",
    "prompt": "each judged by a prompt that does not show it",
}
_READERS = ("states", "states_and_words", "label_probabilities")
"""Classifiers that read the language model."""
_OTHERS: tuple[HeadlineKind, ...] = ("classifier", "words")
_RIVALS = {"zero_shot": "no examples", "random": "random examples"}
_FEW, _SURE = 100, 0.95
"""Number of rows below which a figure is rough; share of samples from which one thing is better than another."""
_MOST_NEAR = 0.01
"""Share of the test texts that may be nearly equal to others before a sentence beside the figures says so."""


def say_verdict(result: SelectionResult, *, is_empty_handed: bool = False) -> str:
    """What to use first and what to expect of it; after a run that ended early, first why it did.

    Args:
        is_empty_handed: whether the run ended before any examples were chosen.
    """
    told = [_say_partial(result.stop_reason, is_empty_handed=is_empty_handed), _say_first(result)]
    told += [*_say_rough(result), *_say_cheaper(result), *_say_more_rows(find_estimate(result, result.first))]
    if find_chosen(result) is None:
        told.append("No classifier was made.")
    return " ".join(filter(None, told))


def _say_first(result: SelectionResult) -> str:
    first, objective = result.first, result.objective
    expected, name, is_test = find_expected(result, first), _NAMES[first], find_test(result, first) is not None
    if expected is None:
        return "Nothing was judged."
    if not expected.beats_largest_class(objective):
        right = say_expected(expected, objective, is_test=is_test)
        return f"{USE_NOTHING}: {name} is {right}; {say_largest_class(expected, objective)[0]}."
    use = f"Use {name}"
    if first == "words" and any(one.judged and _reads_model(one) for one in result.contenders):
        use = f"You do not need a language model here. {use}"
    if is_test:
        return f"{use}: it is {say_expected(expected, objective, is_test=True)}."
    low, high = map(show_percent, expected.ci95)
    figures = show_accuracy(expected) + _say_f1(expected, objective)
    return (
        f"{use}: expect {low} to {high} of 100 new texts right ({figures}; from {expected.n:,} rows, {_JUDGED[first]})."
    )


def _reads_model(one: Contender) -> bool:
    return one.kind == "prompt" or one.method in _READERS


def _say_f1(one: Accuracy, objective: Objective) -> str:
    return "" if objective == "accuracy" or one.macro_f1 is None else f", macro-F1 {one.macro_f1:.2f}"


def _say_rough(result: SelectionResult) -> Iterator[str]:
    """That a figure of few rows is rough."""
    expected = find_expected(result, result.first)
    if expected is not None and expected.n < _FEW:
        low, high = expected.ci95
        what = show_count(expected.n, "test text" if find_test(result, result.first) else "row")
        yield f"With {what} this is a rough figure: it may be {show_percent((high - low) / 2)} points off."


def _say_cheaper(result: SelectionResult) -> Iterator[str]:
    """Whether word counting, which costs nothing, may be as good."""
    chance = _list_chances(find_estimate(result, result.first)).get("words")
    if result.first == "words" or chance is None:
        return
    if chance >= _SURE:
        name = _NAMES[result.first].capitalize()
        yield f"{name} is better than counting words in {show_percent(chance)} of 100 samples of the rows."
    else:
        yield f"Counting words may be as good: {show_percent(1 - chance)} of 100 samples of the rows say so."


def _say_more_rows(estimate: Estimate | None) -> Iterator[str]:
    if estimate is not None and estimate.more_rows is not None:
        points = round(100 * estimate.more_rows)
        worth = f"be worth about {show_count(points, 'point')}" if points > 0 else "hardly change this"
        yield f"50 more labelled rows would {worth}."


def _list_chances(estimate: Estimate | None) -> dict[str, float]:
    return {} if estimate is None else {one.rival: one.chance for one in estimate.beats}


def say_rest(result: SelectionResult) -> Iterator[str]:
    """Why no other, a sentence each: the prompt and its rivals, word counting, the most frequent label."""
    first, objective = result.first, result.objective
    beaten = _list_chances(find_estimate(result, first))
    chances = [f"{name} in {show_percent(beaten[rival])}" for rival, name in _RIVALS.items() if rival in beaten]
    if chances:
        yield f"Of 100 samples of the rows, {_NAMES[first]} beats {', and '.join(chances)}."
    if result.answer.expected is not None:
        yield from filter(None, [say_prompt(result, result.answer, is_first=first == "prompt")])
    yield from _say_corrected(result)
    for kind in (one for one in _OTHERS if one != first):
        if (expected := find_expected(result, kind)) is not None:
            right = say_expected(expected, objective, is_test=find_test(result, kind) is not None)
            yield end_sentence(f"{_NAMES[kind]} is {right}")
    for largest in say_largest_class(find_expected(result, first), objective):
        yield end_sentence(largest)
    near, tested = result.counts.near_test_rows, result.counts.test
    if find_test(result, first) is not None and near > _MOST_NEAR * tested:
        yield (
            f"{near:,} of the {tested:,} test texts {'is' if near == 1 else 'are'} nearly equal to texts that the run "
            "learned from, so these figures may be too high."
        )


def _say_corrected(result: SelectionResult) -> Iterator[str]:
    """What label biases make of the prompt, where the sentences before are without them."""
    for answer in result.support_examples:
        if answer.use != result.answer.use and answer.label_biases and answer.expected is not None:
            right = say_expected(answer.expected, result.objective, is_test=answer.test is not None)
            yield f"Where the model gives probabilities, they can be corrected: then the prompt is {right}."


def say_prompt(result: SelectionResult, answer: SupportExamples, *, is_first: bool = False) -> str:
    """How often a prompt is right, and without examples or with random ones; and whether not to use it.

    Args:
        is_first: whether another sentence says already how often it is right.
    """
    if answer.expected is None:
        return "The prompt was not judged."
    told = [_say_rival(result, one, answer) for one in _RIVALS if one != answer.method]
    rivals = end_sentence("; ".join(filter(None, told))) if any(told) else ""
    right = say_expected(answer.expected, result.objective, is_test=answer.test is not None)
    if answer.recommended is False:
        return f"Do not use the prompt where something better can be used: it is {right}. {rivals}".strip()
    return rivals if is_first else f"The prompt is {right}. {rivals}".strip()


def _say_rival(result: SelectionResult, method: str, answer: SupportExamples) -> str:
    """How often prompts of a method are right, for the same use: the best without examples, the mean of random sets."""
    own = [one for one in result.contenders if (one.method, one.use, one.form.kind) == (method, answer.use, "fixed")]
    found = [one for one in ((each.test if answer.test else each.judged) for each in own) if one is not None]
    if not found:
        return ""
    if method == "zero_shot" or not found[1:]:
        return f"with {_RIVALS[method]}: {say_right(found[0], result.objective)}"
    mean = fmean(one.accuracy for one in found)  # with those that were dropped: the others are no average sets
    return f"with {_RIVALS[method]}: {show_share(mean, found[0].n)} in the mean"


def _say_partial(reason: StopReason, *, is_empty_handed: bool) -> str:
    """Why a run ended early, what its result is worth, and what to do; nothing for one that ended by itself."""
    if reason is StopReason.COMPLETED:
        return ""
    if is_empty_handed:
        return (
            "Partial: a limit was reached before any examples were chosen, so those of the prompt are random; give a "
            "larger limit (max_pairs, max_seconds or max_cost)."
        )
    if reason is StopReason.BUDGET:
        return "Partial: a limit was reached; a larger one may find better examples."
    return "Partial: the run was stopped; a run that goes on may find better examples."


def warn_of_largest_class(tested: Iterable[Accuracy | None], objective: Objective = "accuracy") -> list[str]:
    """A warning if nothing that was tested is better than always the most frequent label.

    Args:
        tested: on the same rows; None for what was not tested.
    """
    found = [one for one in tested if one is not None]
    if not found or any(one.beats_largest_class(objective) for one in found):
        return []
    (largest,) = say_largest_class(found[0], objective)
    return [
        f"nothing that was tested is better than {largest}; look whether a reader could tell the labels by the texts, "
        "and whether labels are wrong"
    ]


def advise_by_words(accuracy: float, share: float | None, rows: str, number: int = 0) -> str:
    """What word counting reaches before a run, what was not measured, and what a run tells.

    Args:
        accuracy: cross-validated.
        share: of the largest class on the same rows; None if it is not known.
        rows: names the rows.
        number: of the rows; 0 if it is not known.
    """
    found = f"Counting words, without any language model, is right for {show_share(accuracy, 100)} of {rows}"
    if share is None:
        return f"{found}."
    found = f"{found} ({ALWAYS_THE_LARGEST}: {show_share(share, 100)})"
    error = (share * (1 - share) / number) ** 0.5 if number else 0.0
    if accuracy > share + error:
        if accuracy >= _ENOUGH:
            return f"{found}. That leaves little for a language model to add."
        return f"{found}. Lens is worth a try where that is not enough."
    look = (
        " Word counting mostly finds something in as many rows. Look also whether a reader could tell the labels by "
        "the texts, and whether this is the column of the labels."
    )
    return (
        f"{found}, which is the level of guessing. How often a language model is right was not measured; a run tells."
        f"{look * (number >= _MANY)}"
    )


_ENOUGH = 0.95
"""Share of right answers of word counting from which a language model has little to add."""
_MANY = 1000
"""Rows from which on guessing says something of the texts; with fewer, language models were right where it guessed."""
