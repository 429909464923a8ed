"""What a selection returns: the support examples and how good they are, every figure with its n.

Pydantic models, because the same JSON is stored by the service, served by the API and written by
`lens select --output`.
"""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lens_engine.types import StopReason


class Record(BaseModel):
    """A piece of a result: frozen, unknown fields refused, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SupportExample(Record):
    """One demonstration of the chosen permutation."""

    position: int = Field(description="Place in the prompt, from 0.")
    row: int = Field(description="Index of the example among the data rows of the upload, from 0.")
    text: str
    label: str
    label_word: str
    info_score: float | None = Field(description="I(e, S): mean contribution on the score set.")
    tokens: int = Field(description="Tokens of the rendered demonstration.")


class Accuracy(Record):
    """Share of rows whose highest-scored label is the gold one."""

    accuracy: float
    n: int = Field(description="Rows judged.")
    ci95: tuple[float, float] = Field(description="Wilson interval.")
    macro_f1: float | None = Field(None, description="Null for the rows the search ranked by.")
    calibrated_accuracy: float | None = Field(None, description="After contextual calibration (Zhao et al., 2021).")


class Spread(Record):
    """Accuracy over several permutations, each on the same n rows."""

    mean: float
    sd: float
    min: float
    max: float
    permutations: int
    n: int
    calibrated_mean: float | None = None


class RandomAndValidation(Record):
    """The best of random permutations by validation accuracy, at the budget LENS had."""

    validation_accuracy: float = Field(description="Calibrated under `calibrated_search`.")
    test: Accuracy
    permutations: int = Field(
        description="Random permutations evaluated, in whole or in part: as many as make the (permutation, row) pairs "
        "that LENS was charged with, its confirmation counted."
    )
    rows: tuple[int, ...] = Field(description="The permutation it chose.")


class Baselines(Record):
    """What one would do otherwise. Null: not asked for, or the budget ran out before it."""

    zero_shot: Accuracy | None = None
    random: Spread | None = None
    random_and_validation: RandomAndValidation | None = None


class Verdict(Record):
    """Paired comparison with random-and-validation on the same test rows.

    Both are judged as the search ranked: by calibrated predictions under `calibrated_search`.
    """

    better_than_random_and_validation: bool
    only_lens_right: int
    only_rival_right: int
    p_value: float = Field(description="Two-sided exact McNemar test.")
    test: str = "mcnemar-exact"


class Lead(Record):
    """How far the chosen permutation is ahead of the runner-up of the last beam, on the rows that decided:
    validation and confirmation rows together, or validation alone where nothing was confirmed."""

    rows: int = Field(description="Rows the chosen one is right on, less those the runner-up is right on.")
    n: int = Field(description="Rows both were ranked by.")
    close_rows: int = Field(description="Rows that rounding could turn against the chosen one or for the runner-up.")
    within_noise: bool = Field(description="Whether rounding alone could turn the order of the two.")


class Provenance(Record):
    """Everything needed to repeat the run."""

    lens: str
    model: str
    revision: str
    dtype: str
    device: str
    executor: str
    seed: int
    dataset_sha256: str
    test_sha256: str | None
    config: dict[str, Any]


class Splits(Record):
    """How many rows went where; no row is in two of them."""

    candidates: int
    score_set: int
    validation: int
    confirmation: int
    test: int
    unused: int
    duplicates_dropped: int
    conflicting_texts: int = Field(description="Texts that occurred with more than one label; all of them set aside.")
    leaked_from_test: int = Field(description="Train rows dropped because the test rows hold the same text.")
    skipped_too_long: int = 0
    trimmed_too_long: int = 0


class Spending(Record):
    """What the run spent. `seconds` leaves out loading the model; earlier attempts of a resumed run count."""

    pairs: int = Field(description="Prefixes scored with queries: one prefix and one query are a pair.")
    tokens: int = Field(description="Each prefix once a call, with each of its queries; held or cached ones count too.")
    seconds: float
    pairs_from_cache: int = Field(0, description="Of the pairs, those that an earlier run had computed.")
    permutations_judged: int = Field(description="By the search, in whole or in part.")
    permutations_dropped: int = Field(0, description="Of these, dropped before the last validation row.")
    token_budget: int | None = Field(
        None, description="Tokens a forward could feed at the end; halved each time memory ran out."
    )


class SelectionResult(Record):
    """The support examples of a task, and the evidence for them."""

    partial: bool
    stop_reason: StopReason
    examples: tuple[SupportExample, ...]
    validation: Accuracy | None = Field(
        description="Rows the search ranked by (calibrated under `calibrated_search`): overrates, as the best of many."
    )
    confirmation: Accuracy | None = Field(description="Fresh rows that chose among the last beam.")
    test: Accuracy | None = Field(description="Rows nothing before has seen.")
    baselines: Baselines
    verdict: Verdict | None
    order: Spread | None = Field(description="The same examples in other orders.")
    lead: Lead | None = Field(
        None, description="Null where the last beam holds one permutation, or none was evaluated."
    )
    truncated_prompts: int = Field(description="Texts that were trimmed to fit the context, in any split.")
    splits: Splits
    cost: Spending
    warnings: tuple[str, ...] = ()
    provenance: Provenance
    digest: str = Field("", description="SHA-256 of everything above but the cost.")

    @property
    def rows(self) -> tuple[int, ...]:
        """The chosen permutation."""
        return tuple(example.row for example in self.examples)

    def with_digest(self) -> "SelectionResult":
        """A copy whose `digest` is the SHA-256 of its canonical JSON, cost and digest left out.

        A run resumed from any checkpoint gives the same digest as one that never stopped.
        """
        content = self.model_dump(mode="json", exclude={"cost", "digest"})
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return self.model_copy(update={"digest": hashlib.sha256(canonical.encode()).hexdigest()})
