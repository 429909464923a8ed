"""Support examples, compared prompts and candidates for the classifier of a result, as tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.largest_class import ALWAYS_THE_LARGEST
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Use
from lens_engine.result.examples import LabelEffect, SupportExample
from lens_engine.result.forms import name_form
from lens_engine.result.parts import PromptContender, Spread, SupportExamples
from lens_engine.views.table import NOTHING, Table, shorten

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # has the tables

MOST_LABELS = 30
"""Largest number of labels that have a column each."""

_MOST_CHARACTERS = 300
"""Longest text in a list of rows (characters)."""

CUT = f"texts of more than {_MOST_CHARACTERS} characters are cut"

_METHODS: dict[str, str] = {
    "lens": "support examples of Lens",
    "zero_shot": "zero-shot",
    "random": "random permutation",
    "random_and_validation": "random-and-validation",
}
_EFFECTS = "Effect of each example alone, by label of the input"
_USES = {"prompt": "likeliest\nlabel word", "probabilities": "with label\nbiases"}


def name_choice(answer: SupportExamples) -> str:
    """Name of the chosen prompt. Only the demonstrations of LENS are called support examples."""
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt", "nearest": "prompt of the nearest examples"}
    names["fixed+nearest"] = "prompt of support examples and the nearest"
    return names.get(answer.method, f"{answer.method.replace('_', '-')} examples")


def name_use(use: Use) -> str:
    """How a prompt is read."""
    return " ".join(_USES[use].split())


def name_contender(one: PromptContender, use: Use) -> str:
    """What a single prompt is, and whether label biases are added."""
    return _name_prompt(one) + ", label biases" * (use == "probabilities")


def _name_prompt(one: PromptContender) -> str:
    return name_form(one.form) if one.form.nearest else _METHODS.get(one.method, one.method)


def tabulate_examples(answer: SupportExamples, *, is_other: bool = False) -> Table:
    """The fixed demonstrations of a prompt, in its order.

    Args:
        is_other: whether they are the fixed form of a prompt whose best form is another.
    """
    name, use = name_choice(answer), f" ({name_use(answer.use)})" * (answer.use != "prompt")
    name = "support examples" if answer.form.nearest else name
    title = f"{name}, in order{'; the nearest follow' * (answer.form.nearest > 0)}{use}"
    title = title if answer.examples else "no demonstrations: zero-shot"
    title = f"fixed form of the prompt: {title}" if is_other else title
    has_scores = any(example.info_score is not None for example in answer.examples)
    return Table(
        title=f"{title[0].upper()}{title[1:]}",
        header=("#", "row", "label word", "InfoScore", "text"),
        rows=tuple(
            (
                str(one.position + 1),
                str(one.row),
                one.label_word,
                NOTHING if one.info_score is None else f"{one.info_score:+.4f}",
                one.text,
            )
            for one in answer.examples
        ),
        words=("label word", "text"),
        caption="InfoScore: how much the example helps alone; many hinder alone (below zero)" if has_scores else "",
    )


def tabulate_effects(answer: SupportExamples) -> Table | None:
    """How much each example helps inputs of each label; None if no example tells."""
    told = [(one, one.effects) for one in answer.examples if one.effects]
    if not told:
        return None
    labels = dict.fromkeys(effect.label for _, effects in told for effect in effects)
    if len(labels) > MOST_LABELS:
        return _tabulate_extremes(told, len(labels))
    figures = [(one, {effect.label: f"{effect.effect:+.4f}" for effect in effects}) for one, effects in told]
    return Table(
        title=_EFFECTS,
        header=("#", "own label", *(f"on {label}" for label in labels)),
        rows=tuple(
            (str(one.position + 1), one.label, *(own.get(label, NOTHING) for label in labels)) for one, own in figures
        ),
        words=("own label",),
        caption="InfoScore over the inputs of one label; below zero, the example alone hinders them",
    )


def _tabulate_extremes(told: Sequence[tuple[SupportExample, tuple[LabelEffect, ...]]], labels: int) -> Table:
    """Of each example, the label that it helps most and the label that it hinders most."""
    ends = [(one, sorted(effects, key=lambda effect: effect.effect)) for one, effects in told]
    return Table(
        title=_EFFECTS,
        header=("#", "own label", "helps most", "hinders most"),
        rows=tuple(
            (str(one.position + 1), one.label, _show_effect(ordered[-1], 1), _show_effect(ordered[0], -1))
            for one, ordered in ends
        ),
        words=("own label", "helps most", "hinders most"),
        caption=f"InfoScore over the inputs of one label, of the best and the worst of {labels} labels",
    )


def _show_effect(one: LabelEffect, sign: int) -> str:
    """Label and figure; a dash if the figure has the other sign."""
    return f"{one.label} {one.effect:+.4f}" if one.effect * sign > 0 else NOTHING


def tabulate_biases(answer: SupportExamples) -> Table | None:
    """The label biases; None without any."""
    if not answer.label_biases:
        return None
    rows = tuple((one.label, f"{one.bias:+.4f}") for one in answer.label_biases)
    return Table("Label biases (nats)", ("label", "bias"), rows, words=("label",))


def tabulate_prompts(result: "SelectionResult") -> Table:
    """Accuracy of each single prompt on the test rows, for both uses."""
    rows, marked = list[tuple[str, ...]](), set[int]()
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        if contenders[0].method == result.answer.method:
            marked.add(len(rows))
        n = next((str(one.test.n) for one in contenders if one.test is not None), NOTHING)
        rows.append((_name_prompt(contenders[0]), *(_show(one.test) for one in contenders), n))
    if (share := result.largest_class) is not None:
        same = [f"{share:.3f}"] * len(result.support_examples)
        rows.append((ALWAYS_THE_LARGEST, *same, next((n for *_, n in rows if n != NOTHING), NOTHING)))
    for title, spread in (("random, on validation rows", result.random), ("other orders", result.order)):
        if spread is not None:
            others = [NOTHING] * (len(result.support_examples) - 1)
            rows.append((f"{title}, mean of {spread.permutations}", _show_spread(spread), *others, str(spread.n)))
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
        rows=(*map(_list_figures, result.tested), *_list_largest_class(result.largest_class)),
        marked=frozenset(place for place, one in enumerate(result.tested) if one.is_chosen),
        caption="tokens: computed for one input, demonstrations held in memory; ECE: expected calibration error",
    )


def tabulate_suspicious(result: "SelectionResult", texts: Mapping[int, str]) -> Table | None:
    """Rows whose label is probably wrong, the most suspicious first; None without any."""
    if not result.suspicious_labels:
        return None
    return Table(
        title="Rows of the dataset, the most suspicious first",
        header=("row", "label", "probability", "likelier", "its probability", *(["text"] if texts else [])),
        rows=tuple(
            (
                str(one.row),
                one.label,
                f"{one.probability:.3f}",
                one.likelier,
                f"{one.probability_of_likelier:.3f}",
                *([show_text(texts, one.row)] if texts else []),
            )
            for one in result.suspicious_labels
        ),
        words=("label", "likelier", "text"),
        caption="probabilities by cross-validation" + f"; {CUT}" * bool(texts),
    )


def show_text(texts: Mapping[int, str], row: int) -> str:
    """The text of a row in a list: on one line, and cut if it is long; a dash if it is not known."""
    return shorten(texts.get(row, NOTHING), _MOST_CHARACTERS)


def tabulate_facts(result: "SelectionResult") -> tuple[Table, ...]:
    """The rows of each split, and where the result comes from."""
    origin = result.provenance.model_dump(exclude={"config"}) | {"digest": result.digest}
    tables = ("Rows of each split", result.splits.model_dump()), ("Provenance", origin)
    return tuple(
        Table(title, ("", "value"), tuple((name.replace("_", " "), _show_fact(fact)) for name, fact in facts.items()))
        for title, facts in tables
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


def _list_largest_class(share: float | None) -> list[tuple[str, ...]]:
    return [] if share is None else [(ALWAYS_THE_LARGEST, NOTHING, f"{share:.3f}", *[NOTHING] * 4)]


def _show_fact(fact: object) -> str:
    return NOTHING if fact is None else f"{fact:,}" if isinstance(fact, int) else str(fact)


def _show(figure: Accuracy | None) -> str:
    if figure is None:
        return NOTHING
    low, high = figure.ci95
    return f"{figure.accuracy:.3f} ({low:.2f}–{high:.2f})"


def _show_spread(spread: Spread) -> str:
    return f"{spread.mean:.3f} ({spread.min:.2f}–{spread.max:.2f})"
