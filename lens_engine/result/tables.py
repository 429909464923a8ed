"""Support examples, compared prompts and candidates for the classifier of a result, as tables."""

from typing import TYPE_CHECKING

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import MethodName
from lens_engine.result.parts import Spread
from lens_engine.views.table import NOTHING, Table

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # has the tables

_METHODS: dict[MethodName, str] = {
    "lens": "support examples of Lens",
    "zero_shot": "zero-shot",
    "random": "random permutation",
    "random_and_validation": "random-and-validation",
}
_USES = {"prompt": "likeliest\nlabel word", "probabilities": "with label\nbiases"}


def name_choice(result: "SelectionResult") -> str:
    """Name of the chosen demonstrations. Only those of LENS are called support examples."""
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt"}
    method = result.answer.method
    return names.get(method, f"{method.replace('_', '-')} examples")


def tabulate_examples(result: "SelectionResult") -> Table:
    """The chosen demonstrations, in the order of the prompt."""
    name = name_choice(result)
    has_scores = any(example.info_score is not None for example in result.examples)
    return Table(
        title=f"{name[0].upper()}{name[1:]}, in order" if result.examples else "No demonstrations: zero-shot",
        header=("#", "row", "label word", "InfoScore", "text"),
        rows=tuple(
            (
                str(one.position + 1),
                str(one.row),
                one.label_word,
                NOTHING if one.info_score is None else f"{one.info_score:+.4f}",
                one.text,
            )
            for one in result.examples
        ),
        words=("label word", "text"),
        caption="InfoScore: how much the example helps alone; many hinder alone (below zero)" if has_scores else "",
    )


def tabulate_prompts(result: "SelectionResult") -> Table:
    """Accuracy of each single prompt on the test rows, for both uses."""
    rows, marked = list[tuple[str, ...]](), set[int]()
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        if contenders[0].method == result.answer.method:
            marked.add(len(rows))
        n = next((str(one.test.n) for one in contenders if one.test is not None), NOTHING)
        rows.append((_METHODS[contenders[0].method], *(_show(one.test) for one in contenders), n))
    for name, spread in (("random, on validation rows", result.random), ("other orders", result.order)):
        if spread is not None:
            others = [NOTHING] * (len(result.support_examples) - 1)
            title = f"{name}, mean of {spread.permutations}"
            rows.append((title, _show_spread(spread), *others, str(spread.n)))
    return Table(
        title="Single prompts: accuracy on the test rows (95 % interval)",
        header=("", *(_USES[answer.use] for answer in result.support_examples), "n"),
        rows=tuple(rows),
        marked=frozenset(marked),
        caption="" if result.random is None else "means have the lowest and the highest accuracy in brackets",
    )


def tabulate_classifiers(result: "SelectionResult") -> Table | None:
    """The candidates for the classifier, the cheapest first; None without any."""
    if not result.tested:
        return None
    return Table(
        title="Classifiers: chosen by cross-validation, then tested on the test rows",
        header=("", "cross-val.\nlog-loss", "accuracy", "95 %\ninterval", "log-\nloss", "ECE", "tokens"),
        rows=tuple(_list_figures(one) for one in result.tested),
        marked=frozenset(place for place, one in enumerate(result.tested) if one.is_chosen),
        caption="tokens: computed for one input, demonstrations held in memory; ECE: expected calibration error",
    )


def name_classifier(one: TestedClassifier) -> str:
    """What a candidate reads, in a few words."""
    if one.name == "bag_of_words":
        return f"bag of words, {one.fit_rows:,} rows"
    if one.layer is not None:
        where = "after one prompt" if one.demonstrations else "no examples"
        words = " + bag of words" if one.name == "states_and_words" else ""
        return f"hidden states, {where}, layer {one.layer}{words}"
    return f"label probabilities, {one.prompts} prompt{'s' * (one.prompts > 1)}, {one.head}"


def _list_figures(one: TestedClassifier) -> tuple[str, ...]:
    test = one.test
    figures = [NOTHING] * 4
    if test is not None:
        low, high = test.ci95
        figures = [f"{test.accuracy:.3f}", f"{low:.3f}–{high:.3f}", f"{test.log_loss:.3f}", f"{test.ece:.3f}"]
    return name_classifier(one), f"{one.cross_validated.log_loss:.3f}", *figures, f"{one.tokens_per_input:,.0f}"


def _show(figure: Accuracy | None) -> str:
    if figure is None:
        return NOTHING
    low, high = figure.ci95
    return f"{figure.accuracy:.3f} ({low:.2f}–{high:.2f})"


def _show_spread(spread: Spread) -> str:
    return f"{spread.mean:.3f} ({spread.min:.2f}–{spread.max:.2f})"
