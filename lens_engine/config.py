"""Every option of a selection: its paper symbol, its default, its range.

The models are the wire format too: the service embeds them in a selection's spec, so an option's
description here is what OpenAPI shows. Whole configurations are in presets.py.
"""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Contribution = Literal["label", "vocabulary", "loss_ratio"]
Reordering = Literal["swap", "shuffle"]
TooLongPolicy = Literal["reject", "skip_example", "trim_input"]
PresetName = Literal["quick", "standard", "paper"]
CoresetMethod = Literal[
    "herding",
    "k_center",
    "least_confidence",
    "entropy",
    "margin",
    "cal",
    "forgetting",
    "grand",
    "craig",
    "grad_match",
    "facility_location",
    "graph_cut",
    "glister",
]
MethodName = Literal["lens", "zero_shot", "random", "random_and_validation", CoresetMethod]

CORESET_METHODS: tuple[CoresetMethod, ...] = get_args(CoresetMethod)
"""In the order of the paper's table: geometry, uncertainty, training dynamics, gradients, submodular, bilevel."""
METHOD_NAMES: tuple[MethodName, ...] = get_args(MethodName)


class Options(BaseModel):
    """A group of options: frozen, and an unknown name is an error, not a surprise."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SplitOptions(Options):
    """How the upload is cut into rows that never meet."""

    validation: int = Field(100, ge=4, le=10_000, description="V: rows the search ranks permutations on.")
    confirmation: int = Field(100, ge=0, le=10_000, description="Fresh rows on which the last beam is judged again.")
    test: int | None = Field(
        1000, ge=4, le=100_000, description="At most so many test rows, stratified; null for every one."
    )
    held_out_share: float = Field(
        0.25, gt=0.0, lt=0.9, description="Share of the upload held out for test when no test file is given."
    )
    leaked_rows: Literal["drop", "reject"] = Field(
        "drop", description="Texts that are in the dataset and in the test rows: leave out of the dataset, or refuse."
    )


class FilteringOptions(Options):
    """Stage 1, Algorithm 1: progressive example filtering."""

    contribution: Contribution = Field("label", description="c(e, e'): how one demonstration helps one query.")
    candidates: int | None = Field(None, ge=2, description="N: at most so many candidates, stratified; null for all.")
    keep: int = Field(500, ge=2, le=5_000, description="m: examples left after filtering; stage 2 takes m x m memory.")
    rho: float | None = Field(
        None, ge=1.1, le=100.0, description="Progressive factor; null for (N/m)^(1/rounds), so that `rounds` rounds do."
    )
    rounds: int = Field(4, ge=1, le=20, description="Rounds of filtering when rho is null.")
    initial_score_size: int = Field(14, ge=1, le=10_000, description="l: score examples of the first round.")
    max_score_size: int = Field(256, ge=1, le=100_000, description="The score set stops growing here.")
    calibrated: bool = Field(
        False, description="Contributions after contextual calibration; for `label`, at one query more a candidate."
    )

    @model_validator(mode="after")
    def calibrates_label_probabilities(self) -> "FilteringOptions":
        if self.calibrated and self.contribution != "label":
            raise ValueError(f"calibrated goes with contribution label, not {self.contribution}")
        return self


class SearchOptions(Options):
    """Stage 2, Algorithm 2: diversity-guided search."""

    beam_width: int = Field(8, ge=1, le=256, description="B: permutations kept after each iteration.")
    substitutions: int = Field(6, ge=0, le=256, description="B': children by substitution, for each in the beam.")
    reorderings: int = Field(2, ge=0, le=256, description="B - B': children by reordering, for each in the beam.")
    reorder_by: Reordering = Field("swap", description="Two members change places, or all are shuffled.")
    iterations: int = Field(10, ge=0, le=1000, description="I: rounds of the search.")
    first_permutations: int | None = Field(
        None, ge=1, le=10_000, description="Evaluated before the first iteration, the best B go on; null for B."
    )
    halvings: int = Field(
        0,
        ge=0,
        le=10,
        description="Times the worse half of new permutations is dropped, the others judged on twice as many rows.",
    )
    random_starts: float = Field(
        0.0, ge=0.0, le=1.0, description="Share of the first permutations drawn at random from the survivors."
    )
    diversity_weight: float = Field(1.0, ge=0.0, le=100.0, description="lambda: weight of similarity in s(e, E').")
    temperature: float = Field(
        0.3, ge=0.0, le=100.0, description="Softmax over the best replacements, in units of s; 0 takes the best."
    )

    @property
    def num_first_permutations(self) -> int:
        return self.first_permutations or self.beam_width

    @property
    def num_children(self) -> int:
        """Of the whole beam in one iteration, at most."""
        return self.beam_width * (self.substitutions + self.reorderings)

    @model_validator(mode="after")
    def has_children(self) -> "SearchOptions":
        if self.iterations and not (self.substitutions or self.reorderings):
            raise ValueError("substitutions and reorderings are both 0: an iteration would make no children")
        return self

    @model_validator(mode="after")
    def fills_the_beam(self) -> "SearchOptions":
        if self.first_permutations is not None and self.first_permutations < self.beam_width:
            raise ValueError(
                f"first_permutations is {self.first_permutations}, fewer than beam_width ({self.beam_width})"
            )
        return self


class RandomSearchOptions(Options):
    """The method random_and_validation."""

    permutations: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Random permutations judged on the validation rows; null for as many as make the (permutation, "
        "row) pairs LENS would be charged with, its confirmation counted.",
    )


class ReportOptions(Options):
    """What the chosen permutation is compared with."""

    calibrated: bool = Field(True, description="Also report accuracies after contextual calibration.")
    random_permutations: int = Field(10, ge=0, le=1000, description="Random permutations on the test rows.")
    random_and_validation: bool = Field(True, description="The best of random permutations at equal budget.")
    order_shuffles: int = Field(8, ge=0, le=1000, description="Orders of the support examples, on the test rows.")
    comparison_rows: int | None = Field(
        None, ge=4, description="At most so many test rows for random permutations and orders; null for all."
    )


class BudgetOptions(Options):
    """Where a run stops with the best it has. Null means no limit."""

    max_pairs: int | None = Field(
        None, ge=1, description="Maximum number of pairs (one prefix and one query) scored, over all phases."
    )
    max_seconds: float | None = Field(
        None, gt=0.0, le=31_536_000.0, description="Wall-clock seconds, at most a year; model loading not counted."
    )


class SelectionConfig(Options):
    """All hyper-parameters of one selection."""

    method: MethodName = Field("lens", description="How demonstrations are chosen.")
    num_demonstrations: int = Field(8, ge=1, le=256, description="n: demonstrations in the prompt.")
    balanced: bool = Field(True, description="The same quota of demonstrations for each label.")
    calibrated_search: bool = Field(False, description="Rank permutations by contextually calibrated accuracy.")
    too_long: TooLongPolicy = Field("reject", description="What to do with prompts longer than the context.")
    seed: int = Field(0, ge=0, lt=2**63, description="The one source of randomness.")
    splits: SplitOptions = SplitOptions()
    filtering: FilteringOptions = FilteringOptions()
    search: SearchOptions = SearchOptions()
    random_search: RandomSearchOptions = RandomSearchOptions()
    report: ReportOptions = ReportOptions()
    budget: BudgetOptions = BudgetOptions()

    @model_validator(mode="after")
    def reports_what_it_ranks_by(self) -> "SelectionConfig":
        if self.calibrated_search and not self.report.calibrated:
            raise ValueError("calibrated_search ranks by calibrated accuracy; set report.calibrated to true as well")
        return self
