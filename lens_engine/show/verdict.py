"""Sentences on what to use: first the one thing to use, then why no other, then what must be known beside."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective
from lens_engine.result import HitComparison, Lead, PromptContender, SelectionResult, SupportExamples
from lens_engine.result.headline import HeadlineKind, Tested, find_chosen, find_first, find_test, kind_of
from lens_engine.show.words import ALWAYS_THE_LARGEST, name_method, say_largest_class, say_right
from lens_engine.task.wording import end_sentence, show_share
from lens_engine.types import StopReason

USE_NOTHING = "Use nothing of this run as it is"
_TEXTS = " test texts"
_NAMES: dict[HeadlineKind, str] = {"classifier": "the classifier", "words": "word counting", "prompt": "the prompt"}
_MOST_NEAR = 0.01
"""Share of the test texts that may be nearly equal to others before a sentence beside the figures says so."""
_NO_CLASSIFIER = "No classifier was made: the options ask for none, or the rows are too few for one."
_NO_CLASSIFIER_YET = "No classifier was made: a run that ends by itself makes one."


def say_verdict(
    result: SelectionResult,
    *,
    is_empty_handed: bool = False,
    better: Mapping[HeadlineKind, Tested | None] = MappingProxyType({}),
) -> str:
    """What to use first, and how often it is right; after a run that ended early, first why it did.

    Args:
        is_empty_handed: whether the run ended before any examples were chosen.
        better: what the test rows show as clearly better than each of what was tested, as `find_better` gives it.
    """
    told = [_say_partial(result.stop_reason, is_empty_handed=is_empty_handed), _say_first(result, better)]
    if find_chosen(result) is None:
        told.append(_NO_CLASSIFIER_YET if result.partial else _NO_CLASSIFIER)
    return " ".join(filter(None, told))


def _say_first(result: SelectionResult, better: Mapping[HeadlineKind, Tested | None]) -> str:
    first, chosen, objective = find_first(result), find_chosen(result), result.objective
    test, name = find_test(result, first), _NAMES[first]
    if test is None:
        if chosen is None or first == "prompt":
            return "The prompt was not tested."
        return f"Use {name}: by cross-validation it is right for {say_right(chosen.cross_validated)}."
    right = f"right for {say_right(test, objective, _TEXTS)}"
    if ahead := _say_ahead(test, better.get(first), objective):
        return f"{USE_NOTHING}: {name} is {right}; {ahead}."
    if first != "words":
        told = [f"{name} is {right}"]
        for kind in (one for one in better if one != first and better[one] is None):
            if (other := find_test(result, kind)) is not None and other.beats_largest_class(objective):
                name, told = f"{name} or {_NAMES[kind]}", [*told, f"{_NAMES[kind]} for {say_right(other, objective)}"]
        if told[1:]:
            return f"Use {name}: the test texts cannot tell which is better. {end_sentence(', '.join(told))}"
        return f"Use {name}: it is {right}."
    if any(kind_of(one) == "classifier" for one in result.tested):
        return f"You do not need a language model here: {name} is {right}."
    return end_sentence(f"{name} is {right}; no other classifier was tried")


def _say_ahead(test: Accuracy, better: Tested | None, objective: Objective) -> str:
    """What is better than what comes first, although the run does not choose it; nothing if nothing is."""
    if better is None:
        return "" if test.beats_largest_class(objective) else say_largest_class(test, objective)[0]
    named = {"words": "word counting", "classifier": "a classifier that reads the model"}
    name = named.get(better.kind, f"the model with {name_method(better.name)}")
    return f"{name} is right for {say_right(better.test, objective)}"


def say_rest(result: SelectionResult) -> Iterator[str]:
    """Why no other, a sentence each: the prompt and its rivals, word counting, the most frequent label."""
    first, objective = find_first(result), result.objective
    answer, chosen = result.answer, find_chosen(result)
    if answer.test is not None:
        yield from filter(None, [say_prompt(answer, objective, is_first=first == "prompt")])
        yield from _say_corrected(result)
    if first == "prompt" and chosen is not None and chosen.test is not None and kind_of(chosen) != "words":
        yield f"The classifier is right for {say_right(chosen.test, objective)}."
    words = next((one for one in result.tested if kind_of(one) == "words"), None)
    if first != "words" and words is not None and words.test is not None:
        yield f"Word counting, without any language model, is right for {say_right(words.test, objective)}."
    if result.words is not None:
        yield say_chance(result.words, "the classifier", "word counting")
    for largest in say_largest_class(result.tested_first, objective):
        yield f"{largest[0].upper()}{largest[1:]}."
    near, tested = result.splits.near_test_rows, result.splits.test
    if result.tested_first is not None and near > _MOST_NEAR * tested:
        yield (
            f"{near:,} of the {tested:,} test texts {'is' if near == 1 else 'are'} nearly equal to texts that the run "
            "learned from, so these figures may be too high."
        )


def say_chance(found: HitComparison, own: str, rival: str) -> str:
    """On how many test texts one of two alone is right, and how sure their difference is."""
    cases = round(100 * found.p_value) or "less than 1"
    return (
        f"Of the test texts, {own} alone is right for {found.only_own_right:,} and {rival} alone for "
        f"{found.only_rival_right:,}: a difference like this is chance in {cases} of 100 cases."
    )


def _say_corrected(result: SelectionResult) -> Iterator[str]:
    """What label biases make of the prompt, and of its rival, where the sentences before are without them."""
    for answer in result.support_examples:
        if answer.use == result.answer.use or answer.use != "probabilities" or answer.test is None:
            continue
        rivals = [one.test for one in answer.contenders if one.method == "random_and_validation" and one.test]
        rival = f", the best random examples for {say_right(rivals[0], result.objective)}" if rivals else ""
        yield (
            "Where the model gives probabilities, they can be corrected: then the prompt is right for "
            f"{say_right(answer.test, result.objective)}{rival}."
        )


def say_prompt(answer: SupportExamples, objective: Objective = "accuracy", *, is_first: bool = False) -> str:
    """How often a prompt and those that it was compared with are right, and whether not to use it.

    Args:
        is_first: whether another sentence says already how often it is right.
    """
    if answer.test is None:
        return "The prompt was not tested."
    others = [
        f"with {name_method(one.method)}: {say_right(one.test, objective)}"
        for one in answer.contenders
        if one.test is not None and not _is_chosen(one, answer)
    ]
    rivals = end_sentence("; ".join(others)) if others else ""
    right = f"right for {say_right(answer.test, objective, _TEXTS)}"
    if answer.recommended is False:
        where = "" if answer.best is None or kind_of(answer.best) == "words" else " where the classifier can be used"
        return f"Do not use the prompt{where}: it is {right}. {rivals}".strip()
    return rivals if is_first else f"The prompt is {right}. {rivals}".strip()


def say_best(answer: SupportExamples) -> str:
    """How often the classifier is right where it is ahead of the prompt; nothing where it is not."""
    best = answer.best
    if best is None or best.test is None or best.name == answer.method:
        return ""
    name = "Word counting" if kind_of(best) == "words" else "The classifier"
    return f"{name} is right for {say_right(best.test)}."


def _is_chosen(one: PromptContender, answer: SupportExamples) -> bool:
    return (one.method, one.form) == (answer.method, answer.form)


def _say_partial(reason: StopReason, *, is_empty_handed: bool) -> str:
    """Why a run ended early, what its result is worth, and what to do; nothing for one that ended by itself."""
    if reason is StopReason.COMPLETED:
        return ""
    if is_empty_handed:
        return (
            "Partial: a limit was reached before any examples were chosen, so those of the prompt are random; with a "
            "larger limit (max_pairs, max_seconds or max_cost) the run searches for better ones."
        )
    if reason is StopReason.BUDGET:
        return "Partial: a limit was reached; a larger one may find better examples."
    return "Partial: the run was stopped; a run that goes on may find better examples."


def describe_noisy_lead(lead: Lead | None, dtype: str) -> list[str]:
    """A note if the rounding of a 16-bit format may have decided; none for float32."""
    if lead is None or not lead.within_noise or dtype == "float32":
        return []
    return ["two sets of examples were as good as equal; on another machine the other may be chosen"]


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
