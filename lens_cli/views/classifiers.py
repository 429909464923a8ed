"""The compared prompts and the candidates for the classifier of a selection, as tables."""

from rich import box
from rich.table import Table

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import MethodName
from lens_engine.result import SelectionResult, Spread

_NOTHING = "–"
_METHODS: dict[MethodName, str] = {
    "lens": "support examples of Lens",
    "zero_shot": "zero-shot",
    "random": "random permutation",
    "random_and_validation": "random-and-validation",
}
_USES = {"prompt": "likeliest\nlabel word", "probabilities": "with label\nbiases"}


def build_prompts_table(result: SelectionResult) -> Table:
    """Accuracy of each single prompt on the test rows, for both uses."""
    table = _table("Single prompts: accuracy on the test rows (95 % interval)")
    table.caption = "means have the lowest and the highest accuracy in brackets"
    table.caption_justify = "left"
    table.add_column("")
    for answer in result.support_examples:
        table.add_column(_USES[answer.use], justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        is_answer = contenders[0].method == result.answer.method
        cells = [_show(one.test) for one in contenders]
        n = next((str(one.test.n) for one in contenders if one.test is not None), _NOTHING)
        table.add_row(_METHODS[contenders[0].method], *cells, n, style="bold green" if is_answer else None)
    for name, spread in (("random, on validation rows", result.random), ("other orders", result.order)):
        if spread is not None:
            others = [_NOTHING] * (len(result.support_examples) - 1)
            title = f"{name}, mean of {spread.permutations}"
            table.add_row(title, _show_spread(spread), *others, str(spread.n))
    return table


def build_classifiers_table(result: SelectionResult) -> Table | None:
    """The candidates for the classifier, the cheapest first; None without any."""
    if not result.tested:
        return None
    table = _table("Classifiers: chosen by cross-validation, then tested on the test rows")
    table.caption = "tokens: computed for one input, demonstrations held in memory; ECE: expected calibration error"
    table.caption_justify = "left"
    table.add_column("")
    for header in ("cross-val.\nlog-loss", "accuracy", "95 %\ninterval", "log-\nloss", "ECE", "tokens"):
        table.add_column(header, justify="right", no_wrap=True)
    for one in result.tested:
        test = one.test
        figures = [_NOTHING] * 4
        if test is not None:
            low, high = test.ci95
            figures = [f"{test.accuracy:.3f}", f"{low:.3f}–{high:.3f}", f"{test.log_loss:.3f}", f"{test.ece:.3f}"]
        cells = (f"{one.cross_validated.log_loss:.3f}", *figures, f"{one.tokens_per_input:,.0f}")
        table.add_row(name_classifier(one), *cells, style="bold green" if one.is_chosen else None)
    return table


def name_classifier(one: TestedClassifier) -> str:
    """What a candidate reads, in a few words."""
    if one.name == "bag_of_words":
        return f"bag of words, {one.fit_rows:,} rows"
    if one.layer is not None:
        where = "after one prompt" if one.demonstrations else "no examples"
        words = " + bag of words" if one.name == "states_and_words" else ""
        return f"hidden states, {where}, layer {one.layer}{words}"
    return f"label probabilities, {one.prompts} prompt{'s' * (one.prompts > 1)}, {one.head}"


def name_choice(result: SelectionResult) -> str:
    """Name of the chosen demonstrations. Only those of LENS are called support examples."""
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt"}
    method = result.answer.method
    return names.get(method, f"{method.replace('_', '-')} examples")


def _show(figure: Accuracy | None) -> str:
    if figure is None:
        return _NOTHING
    low, high = figure.ci95
    return f"{figure.accuracy:.3f} ({low:.2f}–{high:.2f})"


def _show_spread(spread: Spread) -> str:
    return f"{spread.mean:.3f} ({spread.min:.2f}–{spread.max:.2f})"


def _table(title: str) -> Table:
    look = {"title_justify": "left", "title_style": "bold", "show_edge": False, "padding": (0, 1, 0, 0)}
    return Table(title=title, box=box.SIMPLE_HEAD, **look)  # type: ignore[arg-type]
