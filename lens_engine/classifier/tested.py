"""Classifiers as they were tested: their figures, their comparison, and the verdict on which to use."""

from typing import Literal

from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import AnyHeadKind, HeadKind
from lens_engine.classifier.quality import Quality
from lens_engine.types import Record


class HeadFigures(Record):
    """One head on the prompts of one size."""

    head: HeadKind = Field(description="Kind of the head.")
    cv_log_loss: float | None = Field(
        description="Cross-validated log-loss on the fit rows (nats), which decides; null without fit rows."
    )
    accuracy: float = Field(description="Accuracy on the test rows.")
    log_loss: float = Field(description="Log-loss on the test rows (nats).")


class FrontierPoint(Record):
    """The ensemble of one size: the first `size` prompts with the head proposed for them."""

    size: int = Field(description="Number of prompts asked for one input.")
    head: HeadKind = Field(description="Simplest head within one standard error of the best.")
    tokens_per_input: float = Field(description="Mean number of tokens of all prompts for one input.")
    test: Quality = Field(description="Quality on the test rows.")
    heads: tuple[HeadFigures, ...] = Field(description="Every head on these prompts, the simplest first.")


ClassifierName = Literal[
    "ensemble",
    "support_examples",
    "zero_shot",
    "zero_shot_head",
    "random_and_validation",
    "random_ensemble",
    "random_prompts",
    "long_prompt",
    "bag_of_words",
]
"""Classifiers that a run may test. `ensemble` is made of the prompts that the search found; the others are its rivals.

support_examples, zero_shot, random_and_validation: one prompt, `argmax`. zero_shot_head: the prompt without
demonstrations, with a head. random_ensemble: prompts of random-and-validation, with the same choice of members, size
and head. random_prompts: random prompts without any search, whose budget was spent on more fit rows. long_prompt: one
random prompt with as many demonstrations as the ensemble. bag_of_words: the words of all labelled rows, no model.
"""


class TestedClassifier(Record):
    """A classifier and its quality on the test rows, which had no part in making it."""

    __test__ = False  # pytest would collect the class

    name: ClassifierName = Field(description="Which classifier; `ensemble` is made of the prompts found by the search.")
    test: Quality = Field(description="Quality on the test rows.")
    size: int = Field(description="Number of prompts asked for one input.")
    head: AnyHeadKind = Field(description="Kind of the head.")
    demonstrations: int = Field(description="Number of demonstrations in one prompt.")
    fit_rows: int = Field(description="Number of rows on which the head was fitted.")
    tokens_per_input: float = Field(description="Mean number of tokens of all prompts for one input.")

    @classmethod
    def of(cls, name: ClassifierName, classifier: Classifier) -> "TestedClassifier":
        """
        Raises:
            ValueError: the classifier was not tested.
        """
        if classifier.test is None:
            raise ValueError(f"{name} was not tested")
        return cls(
            name=name,
            test=classifier.test,
            size=len(classifier.prompts),
            head=classifier.head.kind,
            demonstrations=len(classifier.prompts[0].demonstrations) if classifier.prompts else 0,
            fit_rows=classifier.fit_rows,
            tokens_per_input=classifier.tokens_per_input,
        )


class Comparison(Record):
    """Paired comparison of the ensemble with a rival on the same test rows."""

    rival: ClassifierName = Field(description="What the ensemble is compared with.")
    only_ensemble_right: int = Field(description="Number of test rows that only the ensemble has right.")
    only_rival_right: int = Field(description="Number of test rows that only the rival has right.")
    ensemble_is_ahead: bool = Field(description="True if `only_ensemble_right` exceeds `only_rival_right`.")
    p_value: float = Field(description="p-value of the two-sided exact McNemar test.")
    is_significant: bool = Field(description="True if `p_value` is below 0.05, whoever is ahead.")


class Verdict(Record):
    """What to use, and the paired comparisons behind it."""

    use: ClassifierName = Field(
        description="What to use: the cheapest within one standard error of the highest accuracy on the test rows. A "
        "rival replaces an ensemble that is within it only if the rival costs less than 80 % of its tokens."
    )
    sentence: str = Field(description="What to use and why; if the run ended early, after the reason.")
    comparisons: tuple[Comparison, ...] = Field(description="The ensemble against each rival that was tested.")
    statistical_test: str = Field("mcnemar-exact", description="Name of the test behind `p_value`.")

    def against(self, rival: ClassifierName) -> Comparison | None:
        """The comparison with this rival; None if it was not tested."""
        return next((one for one in self.comparisons if one.rival == rival), None)
