"""Support examples, suspicious labels, facts, contenders and an evaluation, as tables."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from lens_engine.classifier.quality import Quality
from lens_engine.prompt.wording import describe_usd, shorten, show_count, show_percent, show_right, show_share
from lens_engine.result import Contender, SelectionResult, SupportExamples
from lens_engine.result.parts import EvaluationResult
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.ways import find_estimate_of, find_first, list_chosen
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    USES,
    name_contender,
    say_largest_class,
    show_accuracy,
    show_f1,
    show_figure,
    show_with_range,
)

MOST_LABELS = 30
"""Largest number of labels that have a column each."""

_MOST_CHARACTERS = 300
"""Longest text in a list of rows (characters)."""

CUT = f"texts of more than {_MOST_CHARACTERS} characters are cut"

TEXTLESS = "a result holds no texts: the page, and lens select --report, show them"

_EFFECTS = "Effect of each example alone (the set matters more)"


class ShownExamples(NamedTuple):
    """Fixed demonstrations that are shown."""

    answer: SupportExamples
    is_other: bool  #: whether they are the fixed form of a prompt whose best form is another


def list_shown(answer: SupportExamples) -> list[ShownExamples]:
    """The fixed demonstrations of a prompt, then those of its fixed form, if they are others."""
    if answer.fixed is None:
        return [ShownExamples(answer, is_other=False)]
    fixed = ShownExamples(answer.fixed, is_other=True)
    if answer.form.kind == "nearest":
        return [fixed]
    return [ShownExamples(answer, is_other=False), *([] if answer.rows == answer.fixed.rows else [fixed])]


def tabulate_examples(answer: SupportExamples, *, is_other: bool = False) -> Table:
    """The fixed demonstrations of a prompt, in its order; or of its fixed form, where its best form is another."""
    use = f" ({USES[answer.use]})" * (answer.use != "prompt")
    title = f"Examples, in order{'; the similar ones follow' * (answer.form.nearest > 0)}{use}"
    title = title if answer.examples else "No examples"
    return Table(
        title=f"For tools that take the same examples for every text: {title}" if is_other else title,
        header=("#", "text", "label word", "row"),
        rows=tuple((str(one.position + 1), one.text, one.label_word, str(one.row + 1)) for one in answer.examples),
        words=("text", "label word"),
    )


def tabulate_effects(answer: SupportExamples) -> Table | None:
    """How much each example helps alone (InfoScore), and inputs of each of few labels; None if no example tells."""
    told = [one for one in answer.examples if one.info_score is not None]
    if not told:
        return None
    labels = dict.fromkeys(effect.label for one in told for effect in one.effects or ())
    labels = {} if len(labels) > MOST_LABELS else labels
    figures = [(one, {effect.label: f"{effect.effect:+.4f}" for effect in one.effects or ()}) for one in told]
    return Table(
        title=_EFFECTS,
        header=("#", "own label", "all", *(f"on {label}" for label in labels)),
        rows=tuple(
            (str(one.position + 1), one.label, f"{one.info_score:+.4f}", *(own.get(label, NOTHING) for label in labels))
            for one, own in figures
        ),
        words=("own label",),
        caption="InfoScore: below zero, the example alone hinders",
    )


def tabulate_biases(answer: SupportExamples) -> Table | None:
    """The label biases; None without any."""
    if not answer.label_biases:
        return None
    rows = tuple((one.label, f"{one.bias:+.4f}") for one in answer.label_biases)
    return Table("Correction for labels that the model prefers (nats)", ("label", "correction"), rows, words=("label",))


def tabulate_suspicious(result: SelectionResult, texts: Mapping[int, str]) -> Table | None:
    """Rows whose label may be wrong, the most suspicious first; None without any."""
    if not result.suspicious_labels:
        return None
    return Table(
        title="The most suspicious first",
        header=("row", *(["text"] if texts else []), "label", "its certainty", "probably", "certainty of that"),
        rows=tuple(
            (
                str(one.row + 1),
                *([show_text(texts, one.row)] if texts else []),
                one.label,
                show_share(one.probability, 100),
                one.likelier,
                show_share(one.probability_of_likelier, 100),
            )
            for one in result.suspicious_labels
        ),
        words=("label", "probably", "text"),
        caption=f"by cross-validation; {CUT if texts else TEXTLESS}",
    )


def show_text(texts: Mapping[int, str], row: int) -> str:
    """The text of a row in a list: on one line, and cut if it is long; a dash if it is not known."""
    return shorten(texts.get(row, NOTHING), _MOST_CHARACTERS)


def tabulate_facts(result: SelectionResult) -> tuple[Table, ...]:
    """The rows of each kind, and where the result comes from."""
    origin = result.provenance.model_dump(exclude={"config"}) | {"digest": result.digest}
    tables = ("Rows for each purpose", result.counts.model_dump()), ("Where it comes from", origin)
    return tuple(
        Table(title, ("", "value"), tuple((name.replace("_", " "), _show_fact(fact)) for name, fact in facts.items()))
        for title, facts in tables
    )


def _show_fact(fact: object) -> str:
    return NOTHING if fact is None else f"{fact:,}" if isinstance(fact, int) else str(fact)


_LEAST_ANSWERED = 0.45
"""Least share of the rows in the table of what is right above a threshold."""

_Column = tuple[str, Callable[[Contender], str]]


def list_figures(result: SelectionResult) -> list[Table]:
    """The contenders that were judged to the end, and the curve of the classifier to use."""
    return [*filter(None, (tabulate_contenders(result), tabulate_answered(result)))]


def tabulate_contenders(result: SelectionResult) -> Table | None:
    """Every way to answer that was not dropped: how often it is right, and what it costs; None without any."""
    listed = [one for one in result.contenders if not one.is_dropped]
    if not listed:
        return None
    columns, chosen = _list_columns(result), list_chosen(result)
    rows = [(name_contender(one), *(show(one) for _, show in columns)) for one in listed]
    first = (find_first(result) or listed[0]).judged
    if first is not None and first.largest_class is not None:
        share, nothing = show_share(first.largest_class, first.n), [NOTHING] * (len(columns) - 1)
        rows.append((ALWAYS_THE_LARGEST, share, *nothing))
    left_out = len(result.contenders) - len(listed)
    about = [f"{show_count(left_out, 'other', 'was')} judged on a part of the rows alone"] if left_out else []
    return Table(
        title="Every way to answer, on labelled rows",
        header=("", *(name for name, _ in columns)),
        rows=tuple(rows),
        marked=frozenset(place for place, one in enumerate(listed) if one in chosen),
        caption="; ".join(["in brackets: 95 % range; the best of many is a little too high", *about]),
    )


def _list_columns(result: SelectionResult) -> list[_Column]:
    """The figures that some contender has."""
    columns: list[_Column] = [("right answers", lambda one: show_with_range(one.judged))]
    if result.objective == "macro_f1":
        columns.append(("macro\nF1", lambda one: show_f1(None if one.judged is None else one.judged.macro_f1)))
    columns.append(("rows", lambda one: NOTHING if one.judged is None else f"{one.judged.n:,}"))
    if any(one.test for one in result.contenders):
        columns.append(("test texts", lambda one: show_with_range(one.test)))
    elif any(find_estimate_of(result, one) for one in result.contenders):
        columns.append(("expected of\nnew texts", lambda one: show_with_range(find_estimate_of(result, one))))
    columns.append(("tokens\na text", lambda one: f"{one.tokens:,.0f}"))
    columns.append(("tokens\nheld", lambda one: f"{one.tokens_held:,.0f}"))
    if any(one.usd is not None for one in result.contenders):
        columns.append(("1,000 texts", lambda one: NOTHING if one.usd is None else describe_usd(one.usd)))
    return columns


def tabulate_answered(result: SelectionResult) -> Table | None:
    """Accuracy of the classifier to use against the share that it answers; None without one."""
    chosen = result.chosen
    if chosen is None:
        return None
    own = chosen.test or chosen.cross_validated
    return tabulate_shares("classifier", own, show_count(own.n, "row" if chosen.test is None else "test text"))


def tabulate_shares(of: str, figure: Quality, rows: str) -> Table | None:
    """The beginning of the curve of accuracy against the share answered; None where all probabilities are equal."""
    shown = [one for one in figure.shares_answered if one.share >= _LEAST_ANSWERED]
    if len(shown) < 2:
        return None
    return Table(
        title=f"Leave doubtful texts to a person: {of}, on {rows}",
        header=("answered", "right answers\namong these", "threshold"),
        rows=tuple(
            (show_share(one.share, 100), show_right(one.accuracy, round(one.share * figure.n)), f"{one.threshold:.4f}")
            for one in shown
        ),
        caption="; ".join([*say_largest_class(figure), "answer_above (--answer-above) leaves the others empty"]),
    )


_MOST_CONFUSED = 10
"""Largest number of labels whose confusions are shown."""

_MOST_OF_A_LABEL = 16
"""Longest name of a label in the header of the confusions (characters)."""


def name_evaluation(result: EvaluationResult, judged: str) -> str:
    """What was judged, and of which model."""
    return judged if result.model is None else f"{judged}, asked of {result.model.model}"


def list_evaluation_tables(result: EvaluationResult) -> list[Table]:
    """The figures, the confusions of few labels, and what is right above a threshold."""
    confusions = [_tabulate_confusions(result)] if len(result.labels) <= _MOST_CONFUSED else []
    of = "classifier" if result.model is None else "model"
    shares = tabulate_shares(of, result.quality, show_count(result.quality.n, "row"))
    return [_tabulate_quality(result), *confusions, *filter(None, [shares])]


def _tabulate_quality(result: EvaluationResult) -> Table:
    found = result.quality
    rows = [
        ("right answers", show_accuracy(found), f"{_show_range(found.ci95, show_percent)} %"),
        ("macro-F1", show_f1(found.macro_f1), _show_range(found.macro_f1_ci95, show_f1)),
        ("log-loss", show_figure(found.log_loss), _show_range(found.log_loss_ci95, show_figure)),
        ("ECE", show_figure(found.ece), _show_range(found.ece_ci95, show_figure)),
    ]
    if found.largest_class is not None and found.largest_class_macro_f1 is not None:
        rows.insert(1, (ALWAYS_THE_LARGEST, show_share(found.largest_class, found.n), NOTHING))
        rows.insert(3, (ALWAYS_THE_LARGEST, show_f1(found.largest_class_macro_f1), NOTHING))
    return Table(
        title=f"{show_count(found.n, 'row')}, {result.unanswered:,} unanswered",
        header=("", "figure", "95 % range"),
        rows=tuple(rows),
        caption="ECE: expected calibration error",
    )


def _show_range(ends: tuple[float, float], show: Callable[[float], str]) -> str:
    low, high = ends
    return f"{show(low)}–{show(high)}"


def _tabulate_confusions(result: EvaluationResult) -> Table:
    names = [shorten(label, _MOST_OF_A_LABEL) for label in result.labels]
    return Table(
        title="Rows by label and answer",
        header=("label / answer", *names),
        rows=tuple((name, *map(str, counts)) for name, counts in zip(names, result.confusion, strict=True)),
        words=("label / answer",),
    )
