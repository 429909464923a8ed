"""Figures of the prompts and the candidates for the classifier of a result, as tables."""

from typing import TYPE_CHECKING

from lens_engine.classifier.abstaining import tabulate_shares
from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.largest_class import ALWAYS_THE_LARGEST
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective
from lens_engine.result.parts import Spread
from lens_engine.result.tables import USES, name_prompt
from lens_engine.views.table import NOTHING, Table

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # has the tables

_F1 = "macro\nF1"


def tabulate_prompts(result: "SelectionResult") -> Table:
    """Accuracy and macro-F1 of each single prompt on the test rows, for both uses."""
    rows, marked, uses = list[tuple[str, ...]](), set[int](), [answer.use for answer in result.support_examples]
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        if contenders[0].method == result.answer.method:
            marked.add(len(rows))
        n = next((str(one.test.n) for one in contenders if one.test is not None), NOTHING)
        rows.append((name_prompt(contenders[0]), *(cell for one in contenders for cell in _show_both(one.test)), n))
    if (largest := result.tested_first) is not None and largest.largest_class is not None:
        same = (f"{largest.largest_class:.3f}", show_macro_f1(largest.largest_class_macro_f1)) * len(uses)
        rows.append((ALWAYS_THE_LARGEST, *same, next((n for *_, n in rows if n != NOTHING), NOTHING)))
    for title, spread in (("random, on validation rows", result.random), ("other orders", result.order)):
        if spread is not None:
            others = [NOTHING] * (2 * len(uses) - 1)
            rows.append((f"{title}, mean of {spread.permutations}", _show_spread(spread), *others, str(spread.n)))
    return Table(
        title="Single prompts: accuracy on the test rows (95 % interval)",
        header=("", *(name for use in uses for name in (USES[use], _F1)), "n"),
        rows=tuple(rows),
        marked=frozenset(marked),
        caption="" if result.random is None else "means have the lowest and the highest accuracy in brackets",
    )


def tabulate_classifiers(result: "SelectionResult") -> Table | None:
    """The candidates for the classifier, the cheapest first; None without any."""
    if not result.tested:
        return None
    largest, decides = list[tuple[str, ...]](), "log-loss" if result.objective == "accuracy" else "macro-F1"
    if (first := result.tested_first) is not None and first.largest_class is not None:
        figures = (f"{first.largest_class:.3f}", NOTHING, show_macro_f1(first.largest_class_macro_f1))
        largest.append((ALWAYS_THE_LARGEST, NOTHING, *figures, *[NOTHING] * 3))
    return Table(
        title="Classifiers: chosen by cross-validation, then tested on the test rows",
        header=("", f"cross-val.\n{decides}", "accuracy", "95 %\ninterval", _F1, "log-\nloss", "ECE", "tokens"),
        rows=(*(_list_figures(one, result.objective) for one in result.tested), *largest),
        marked=frozenset(place for place, one in enumerate(result.tested) if one.is_chosen),
        caption="tokens: computed for one input, demonstrations held in memory; ECE: expected calibration error",
    )


def tabulate_answered(result: "SelectionResult") -> Table | None:
    """Accuracy of the classifier to use against the share that it answers, by cross-validation; None without one."""
    chosen = next((one.cross_validated for one in result.tested if one.is_chosen), None)
    if chosen is None:
        return None
    return tabulate_shares("classifier", chosen, f"{chosen.n:,} rows by cross-validation")


def name_classifier(one: TestedClassifier) -> str:
    """What a candidate reads, in a few words."""
    if one.name == "bag_of_words":
        return f"bag of words, {one.fit_rows:,} rows"
    if one.layer is not None:
        where = "after one prompt" if one.demonstrations else "no examples"
        words = " + bag of words" if one.name == "states_and_words" else ""
        return f"hidden states, {where}, layer {one.layer}{words}"
    return f"label probabilities, {one.prompts} prompt{'s' * (one.prompts > 1)}, {one.head}"


def show_macro_f1(figure: float | None) -> str:
    """Macro-F1; a dash if it was not measured."""
    return NOTHING if figure is None else f"{figure:.3f}"


def _list_figures(one: TestedClassifier, objective: Objective) -> tuple[str, ...]:
    test, decided = one.test, one.cross_validated
    figures = [NOTHING] * 5
    if test is not None:
        low, high = test.ci95
        figures = [f"{test.accuracy:.3f}", f"{low:.3f}–{high:.3f}", show_macro_f1(test.macro_f1)]
        figures += [f"{test.log_loss:.3f}", f"{test.ece:.3f}"]
    by = f"{decided.log_loss:.3f}" if objective == "accuracy" else show_macro_f1(decided.macro_f1)
    return name_classifier(one), by, *figures, f"{one.tokens_per_input:,.0f}"


def _show_both(figure: Accuracy | None) -> tuple[str, str]:
    if figure is None:
        return NOTHING, NOTHING
    low, high = figure.ci95
    return f"{figure.accuracy:.3f} ({low:.2f}–{high:.2f})", show_macro_f1(figure.macro_f1)


def _show_spread(spread: Spread) -> str:
    return f"{spread.mean:.3f} ({spread.min:.2f}–{spread.max:.2f})"
