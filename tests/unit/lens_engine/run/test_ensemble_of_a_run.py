from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import ArgmaxHead
from lens_engine.classifier.tested import TestedClassifier
from lens_engine.config import SelectionConfig
from lens_engine.errors import ModelMismatch
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import overlay_options, resolve_config
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.preparation import prepare_run
from lens_engine.run.session import Session
from lens_engine.run.wording import CLASSIFIERS
from lens_engine.scoring.base import Prefix
from lens_engine.testing import TableScorer
from lens_engine.types import Phase

pytestmark = pytest.mark.slow

Make = Callable[..., Any]
Select = Callable[..., SelectionResult]
BIAS = {"NEGATIVE": 1.5, "POSITIVE": 0.0}
OPTIONS: dict[str, Any] = {
    "filtering": {"keep": 12, "rounds": 2},
    "search": {
        "beam_width": 2,
        "children": 3,
        "iterations": 1,
        "first_permutations": 4,
        "halvings": 1,
        "objective": "head",
    },
    "classifier": {"max_prompts": 2, "head": "prior", "fit_rows": 300},
    "comparisons": "all",
}
"""As the preset quick, but smaller, and with a head that is fitted in no time."""


@pytest.fixture(scope="module")
def make_biased_scorer(make_planted_scorer: Make) -> Callable[..., TableScorer]:
    """As the planted scorer, but every prompt favours one label."""
    planted = make_planted_scorer()

    def favour(prefix: Prefix, query: str, span: str) -> float:
        return float(planted.score([prefix], [query], [span])[0, 0, 0]) + BIAS[span.strip()]

    def make(**given: Any) -> TableScorer:
        return TableScorer(favour, **given)

    return make


@pytest.fixture(scope="module")
def configure(make_config: Make) -> Callable[..., SelectionConfig]:
    """The small options, with groups laid over them."""

    def make(**options: Any) -> SelectionConfig:
        return make_config(**overlay_options(OPTIONS, options))

    return make


@pytest.fixture(scope="module")
def select(make_planted_problem: Make, make_planted_scorer: Make, configure: Make) -> Select:
    def run(*, scorer: Any = None, listener: Any = None, checkpoints: Any = None, **options: Any) -> SelectionResult:
        return select_support_examples(
            make_planted_problem(),
            scorer or make_planted_scorer(),
            configure(**options),
            listener=listener,
            checkpoints=checkpoints,
        )

    return run


@pytest.fixture(scope="module")
def store(make_store: Make) -> Any:
    """Every checkpoint of the whole run."""
    return make_store()


@pytest.fixture(scope="module")
def heard(make_listener: Make) -> Any:
    """The progress of the whole run."""
    return make_listener()


@pytest.fixture(scope="module")
def whole(select: Select, store: Any, heard: Any) -> SelectionResult:
    return select(checkpoints=store, listener=heard)


def ensemble_of(result: SelectionResult) -> TestedClassifier:
    return next(one for one in result.tested if one.name == "ensemble")


def classifiers_of(store: Any) -> dict[str, Classifier]:
    """Every classifier that a run made, from its last checkpoint."""
    found = Checkpoint.from_bytes(store.saved[-1]).values["evaluation"]["classifiers"]
    return {name: Classifier.model_validate(one) for name, one in found.items()}


def count_right(classifier: Classifier, problem: Problem, config: SelectionConfig, scorer: TableScorer) -> int:
    """Number of test rows that the classifier has right."""
    test = split_examples(problem, config).test
    found = classifier.predict([example.text for example in test], scorer)
    return sum(label == example.label for label, example in zip(found.labels, test, strict=True))


@pytest.mark.parametrize("head", ["auto", "argmax", "prior", "linear", "words"])
def test_ensemble_gives_its_accuracy_to_the_row(
    head: str, select: Select, configure: Make, make_planted_problem: Make, make_biased_scorer: Make, make_store: Make
) -> None:
    options = {"classifier": {"head": head}, "comparisons": "none"}
    store = make_store()
    tested = ensemble_of(select(scorer=make_biased_scorer(), checkpoints=store, **options))
    classifier = classifiers_of(store)["ensemble"]

    right = count_right(classifier, make_planted_problem(), configure(**options), make_biased_scorer())

    assert right == round(tested.test.accuracy * tested.test.n)
    assert classifier.test == tested.test
    assert head in (tested.head, "auto")


def test_every_classifier_gives_its_accuracy_to_the_row(
    whole: SelectionResult, store: Any, configure: Make, make_planted_problem: Make, make_planted_scorer: Make
) -> None:
    made = classifiers_of(store)
    assert {one.name for one in whole.tested} == set(made)
    assert set(made) == set(CLASSIFIERS)
    for one in whole.tested:
        right = count_right(made[one.name], make_planted_problem(), configure(), make_planted_scorer())
        assert right == round(one.test.accuracy * one.test.n), one.name


def test_classifier_of_a_biased_model_takes_the_bias_out(select: Select, make_biased_scorer: Make) -> None:
    result = select(scorer=make_biased_scorer(), comparisons="none")

    assert result.test is not None
    assert ensemble_of(result).test.accuracy > result.test.accuracy


def test_frontier_holds_a_point_for_each_size(select: Select) -> None:
    result = select(classifier={"head": "auto"}, comparisons="none")
    ensemble = ensemble_of(result)

    assert [point.size for point in result.frontier] == [1, 2]
    chosen = result.frontier[ensemble.size - 1]
    assert (chosen.head, chosen.test) == (ensemble.head, ensemble.test)
    assert chosen.tokens_per_input == ensemble.tokens_per_input
    assert [head.head for head in chosen.heads] == ["argmax", "prior", "linear", "words"]


def test_tokens_are_those_of_all_prompts_and_the_input(
    whole: SelectionResult, store: Any, configure: Make, make_planted_problem: Make, make_planted_scorer: Make
) -> None:
    ensemble, problem = ensemble_of(whole), make_planted_problem()
    count = make_planted_scorer().count_tokens
    queries = [problem.task.render_query(example.text) for example in split_examples(problem, configure()).test]
    mean_query = sum(count(queries)) / len(queries)

    prompts = sum(sum(count(prompt.demonstrations)) for prompt in classifiers_of(store)["ensemble"].prompts)
    assert ensemble.tokens_per_input == pytest.approx(prompts + ensemble.size * mean_query)


@pytest.mark.usefixtures("whole")
def test_members_are_rows_of_the_dataset(store: Any, make_planted_problem: Make) -> None:
    problem = make_planted_problem()

    for prompt in classifiers_of(store)["ensemble"].prompts:
        examples = [problem.examples[row] for row in prompt.rows]
        assert prompt.demonstrations == problem.task.render_prefix(examples)
        assert sorted(example.label for example in examples) == ["negative"] * 2 + ["positive"] * 2


def test_verdict_counts_the_rows_of_the_reported_accuracies(whole: SelectionResult) -> None:
    verdict, ensemble = whole.verdict, ensemble_of(whole)
    assert verdict is not None

    for one in verdict.comparisons:
        rival = whole.quality_of(one.rival)
        assert rival is not None
        gained = one.only_ensemble_right - one.only_rival_right
        assert gained == round(rival.n * (ensemble.test.accuracy - rival.accuracy)), one.rival
    assert {verdict.use} | {one.rival for one in verdict.comparisons} <= {one.name for one in whole.tested}


def test_classifier_of_the_result_is_the_one_to_use(whole: SelectionResult, store: Any) -> None:
    assert whole.verdict is not None
    assert whole.classifier == classifiers_of(store)[whole.verdict.use]


@pytest.mark.usefixtures("whole")
def test_classifier_of_a_bag_of_words_asks_no_model(store: Any) -> None:
    bag = classifiers_of(store)["bag_of_words"]

    found = bag.predict(["one text", "another"])

    assert bag.model is None
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)
    with pytest.raises(ModelMismatch, match="asks prompts"):
        classifiers_of(store)["ensemble"].predict(["one text"])


def last_after(step: str, store: Any) -> bytes:
    """The checkpoint that follows this step of the evaluation."""
    done = [Checkpoint.from_bytes(data).values["evaluation"]["done"] for data in store.saved]
    return store.saved[next(place for place, steps in enumerate(done) if steps and steps[-1] == step)]


@pytest.mark.parametrize("step", ["confirmation", "ensemble", "random_and_validation", "random_ensemble", "order"])
def test_resuming_after_a_step_gives_the_same_digest(
    step: str, whole: SelectionResult, store: Any, select: Select, make_store: Make
) -> None:
    assert select(checkpoints=make_store(last_after(step, store))).digest == whole.digest


def pairs_of_search(store: Any) -> int:
    """Pairs spent before the evaluation."""
    checkpoints = [Checkpoint.from_bytes(data) for data in store.saved]
    return max(one.values["spent"][0] for one in checkpoints if one.phase is not Phase.EVALUATE)


def test_budget_without_fit_rows_still_gives_a_classifier(store: Any, whole: SelectionResult, select: Select) -> None:
    assert ensemble_of(whole).fit_rows > 20
    prompts, test, confirmation = 2, 60, 16
    limit = pairs_of_search(store) + 2 * confirmation + (test + 1) + prompts * test + 10

    result = select(budget={"max_pairs": limit})

    report = ensemble_of(result)
    assert result.cost.pairs <= limit
    assert result.partial
    assert report.fit_rows == 20  # the validation rows, which the search judged
    assert any("did not cover the ensemble's fit rows" in warning for warning in result.warnings)
    assert report.test.n == 60


def test_least_budget_still_gives_a_classifier(
    select: Select, make_planted_problem: Make, make_planted_scorer: Make, configure: Make, make_store: Make
) -> None:
    """Nothing is judged but the test rows, so there is one prompt, as it is."""
    prepared = prepare_run(make_planted_problem(), make_planted_scorer(), configure())
    limit = (prepared.method.first_step().cost + prepared.meter.reserve).pairs

    store = make_store()
    result = select(budget={"max_pairs": limit}, checkpoints=store)

    report, own = ensemble_of(result), classifiers_of(store)["ensemble"]
    assert result.cost.pairs <= limit
    assert (report.size, report.fit_rows) == (1, 0)
    assert own.head == ArgmaxHead()
    assert own.prompts[0].rows == result.rows
    assert result.test is not None
    assert report.test.accuracy == result.test.accuracy


def test_classifier_of_preset_paper_is_the_support_examples(
    make_planted_problem: Make, make_planted_scorer: Make
) -> None:
    options = {
        "num_demonstrations": 4,
        "splits": {"validation": 20, "test": 60},
        "filtering": {"keep": 12, "rho": 8.0, "initial_score_size": 4},
        "search": {"beam_width": 2, "children": 3, "iterations": 2},
    }

    result = select_support_examples(make_planted_problem(), make_planted_scorer(), resolve_config("paper", options))

    report = ensemble_of(result)
    assert result.test is not None
    assert report.head == "argmax"
    assert (report.size, report.fit_rows, report.test.accuracy) == (1, 0, result.test.accuracy)
    assert result.verdict is not None
    assert {one.rival for one in result.verdict.comparisons} == {"zero_shot", "random_and_validation", "bag_of_words"}


@pytest.mark.parametrize("share", [0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
def test_budget_is_never_exceeded_by_a_rival(
    share: float, whole: SelectionResult, select: Select, make_planted_scorer: Make
) -> None:
    scorer, limit = make_planted_scorer(), round(share * whole.cost.pairs)

    result = select(scorer=scorer, budget={"max_pairs": limit})

    assert scorer.num_pairs == result.cost.pairs <= limit
    assert ensemble_of(result).test.n == 60
    assert result.partial


def test_choice_is_the_best_finalist(
    configure: Make, make_planted_problem: Make, make_planted_scorer: Make, make_store: Make
) -> None:
    planted = make_planted_scorer()

    def favour(prefix: Prefix, query: str, span: str) -> float:
        """Every prompt has a bias of its own, so the best with a head is seldom the best without."""
        bias = sum(map(ord, "".join(prefix))) % 5 - 2 if span.strip() == "NEGATIVE" else 0
        return float(planted.score([prefix], [query], [span])[0, 0, 0]) + bias

    for seed in range(4):
        prepared = prepare_run(make_planted_problem(), TableScorer(favour), configure(seed=seed))
        session = Session(prepared, make_store())
        session.choose()

        assert session.state.chosen == prepared.method.findings(session.state.method).finalists[0]


@pytest.mark.parametrize("method", ["random", "random_and_validation", "zero_shot"])
def test_other_methods_give_a_classifier_too(
    method: str,
    select: Select,
    configure: Make,
    make_planted_problem: Make,
    make_planted_scorer: Make,
    make_store: Make,
) -> None:
    options: dict[str, Any] = {"method": method}
    store = make_store()
    result = select(checkpoints=store, **options)
    report = ensemble_of(result)

    assert len(result.frontier) == (1 if method == "zero_shot" else 2)
    right = count_right(
        classifiers_of(store)["ensemble"], make_planted_problem(), configure(**options), make_planted_scorer()
    )
    assert right == round(report.test.accuracy * report.test.n)


@pytest.mark.parametrize(
    ("too_long", "lengthened"),
    [
        ("reject", ("validation",)),
        ("skip_example", ("candidates", "spare", "validation")),
        ("trim_input", ("candidates", "spare", "validation")),
    ],
)
def test_long_rows_never_exceed_the_context(
    too_long: str,
    lengthened: tuple[str, ...],
    make_planted_problem: Make,
    make_planted_scorer: Make,
    configure: Make,
) -> None:
    problem, config = make_planted_problem(), configure(too_long=too_long, filtering={"candidates": 60})
    rows = split_examples(problem, config)
    long = {example.row for name in lengthened for example in getattr(rows, name)[:4]}
    examples = [replace(one, text=one.text + " word" * 40) if one.row in long else one for one in problem.examples]

    result = select_support_examples(
        replace(problem, examples=examples), make_planted_scorer(max_prompt_tokens=100), config
    )

    assert result.quality_of("long_prompt") is not None
    assert ensemble_of(result).fit_rows > len(rows.validation) + len(rows.confirmation)
