"""Sentences on what to use: of a classifier, of a prompt, and of the largest class that both must beat."""

from collections.abc import Iterable, Sequence

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective
from lens_engine.result import Lead, PromptContender
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    describe_figure,
    name_candidate,
    name_method,
    say_largest_class,
    show_figure,
)
from lens_engine.types import StopReason


def say_verdict(
    reason: StopReason,
    chosen: Candidate | None,
    candidates: Sequence[Candidate],
    objective: Objective = "accuracy",
    *,
    is_empty_handed: bool = False,
) -> str:
    """Which classifier to use, or how to get one; after a run that ended early, first why it did.

    Args:
        is_empty_handed: whether the run ended before any examples were chosen.
    """
    is_partial = reason is not StopReason.COMPLETED
    if chosen is not None:
        sentence = say_classifier(chosen, candidates, objective)
    elif is_partial:
        sentence = "No classifier was made: a run that ends by itself makes one."
    else:
        sentence = "No classifier was made: the options ask for none, or the rows are too few for one."
    return f"{_say_partial(reason, is_empty_handed=is_empty_handed)} {sentence}" if is_partial else sentence


def _say_partial(reason: StopReason, *, is_empty_handed: bool) -> str:
    """Why a run ended early, what its result is worth, and what to do."""
    if is_empty_handed:
        return (
            "Partial: the budget ran out before any examples were chosen; those of the prompt are random, and a larger "
            "budget (max_pairs, max_seconds or max_cost) finds better ones."
        )
    why, remedy = (
        ("the budget ran out", "a larger budget")
        if reason is StopReason.BUDGET
        else ("the run was stopped", "a run that goes on")
    )
    return f"Partial: {why}; these are the best examples found until then, and {remedy} may find better ones."


def say_prompt(
    shown: Sequence[PromptContender],
    chosen: PromptContender,
    ahead: Sequence[Candidate] = (),
    objective: Objective = "accuracy",
) -> str:
    """How often each prompt is right, the chosen one first, and why it is not recommended.

    Args:
        ahead: the classifier to use, if it is ahead of the prompt; then a bag of words, if it is ahead too.
    """
    if chosen.test is None:
        return "The prompt was not tested."
    others = [
        f"{name_method(one.method)} has {_show(one.test, objective)}"
        for one in shown
        if one is not chosen and one.test is not None
    ]
    opening = (
        f"The prompt of {name_method(chosen.method)} has {_show(chosen.test, objective)} on {chosen.test.n} test rows"
    )
    sentence = "; ".join([opening, *others, *say_largest_class(chosen.test, objective)]) + "."
    if not ahead:
        return sentence
    needs_model = all(one.classifier.prompts for one in ahead)
    better = " and ".join(f"{name_candidate(one)} has {_show(_figures(one), objective)}" for one in ahead)
    return f"{sentence} Not recommended{' where the classifier can be used' if needs_model else ''}: {better}."


def say_classifier(chosen: Candidate, candidates: Sequence[Candidate], objective: Objective = "accuracy") -> str:
    """What the classifier reads, its figures, those of a bag of words, and that of the largest class.

    Of a classifier that does not beat the largest class, the sentence also names the candidates that do.
    """
    test, name = chosen.classifier.test, name_candidate(chosen, is_classifier=True)
    is_beaten = test is not None and not test.beats_largest_class(objective)
    ahead = [one for one in candidates if is_beaten and _beats_largest_class(one, objective)]
    others = [one for one in candidates if one is not chosen and (one.name == "bag_of_words" or one in ahead)]
    figures = [f"{name_candidate(one)} has {_show(_figures(one), objective)}" for one in others]
    own = f"{_show(_figures(chosen), objective)} on {_figures(chosen).n} test rows"
    told = "; ".join([f"{own}, {_say_price(chosen)}", *figures, *say_largest_class(test, objective)])
    if ahead:
        return f"The best by cross-validation, {name}, does not beat the largest class on the test rows: {told}."
    if is_beaten:
        return f"Use no classifier of this run as it is; the best by cross-validation is {name}: {told}."
    return f"Use {name}: {told}."


def _beats_largest_class(candidate: Candidate, objective: Objective) -> bool:
    test = candidate.classifier.test
    return test is not None and test.beats_largest_class(objective)


def _show(one: Accuracy, objective: Objective) -> str:
    return describe_figure(one.accuracy, one.macro_f1, objective)


def _figures(candidate: Candidate) -> Quality:
    return candidate.classifier.test or candidate.cross_validated


def _say_price(candidate: Candidate) -> str:
    tokens = candidate.classifier.tokens_per_input
    return f"for {tokens:,.0f} tokens an input" if candidate.classifier.prompts else "without a language model"


def describe_noisy_lead(lead: Lead | None, dtype: str) -> list[str]:
    """A warning if the rounding of a 16-bit format may have decided; none for float32."""
    if lead is None or not lead.within_noise or dtype == "float32":
        return []
    by = f"{lead.rows} of" * bool(lead.rows)
    if lead.macro_f1 is not None:
        by = f"{lead.macro_f1:.3f} of macro-F1 on the" * bool(lead.macro_f1)
    ahead = f"leads the runner-up by {by}" if by else "and the runner-up are level on the"
    return [
        f"the chosen permutation {ahead} {lead.n} rows that decided, which is within the rounding of {dtype} "
        f"({lead.close_rows} close rows): on another device, or in float32, the runner-up may be chosen"
    ]


def warn_of_largest_class(tested: Iterable[Accuracy | None], objective: Objective = "accuracy") -> list[str]:
    """A warning if nothing that was tested is better than always the label of the largest class.

    Args:
        tested: on the same rows; None for what was not tested.
    """
    found = [one for one in tested if one is not None]
    if not found or any(one.beats_largest_class(objective) for one in found):
        return []
    (largest,) = say_largest_class(found[0], objective)
    return [
        f"nothing here beats the largest class: {largest} on the same rows; look whether a reader could tell the "
        "labels by the texts, and whether labels are wrong"
    ]


def advise_by_words(accuracy: float, share: float | None, rows: str) -> str:
    """What a bag of words reaches before a run, and what follows from that.

    Args:
        accuracy: cross-validated.
        share: of the largest class on the same rows; None if it is not known.
        rows: names the rows.
    """
    found = f"A bag of words on {rows} has an accuracy of {show_figure(accuracy)} by cross-validation"
    if share is None:
        return f"{found}."
    largest = f"{ALWAYS_THE_LARGEST} has {show_figure(share)}"
    if accuracy <= share:
        return (
            f"{found}, and {largest}: the words of these texts do not tell their labels. Look "
            "whether a reader could tell them, and whether this is the column of the labels, before you spend a run."
        )
    return (
        f"{found}, in a second and without a language model; {largest}. Lens is worth a try "
        "where that is not enough, and where a label hangs on what a text means, not on single words."
    )
