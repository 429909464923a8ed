"""Options of a selection: defaults, ranges, and the paper's letters in brackets.

These models are also the wire format. The service embeds them in a selection's spec, so OpenAPI shows
the descriptions written here. `presets.py` holds complete configurations.
"""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Contribution = Literal["label", "vocabulary"]
Use = Literal["prompt", "probabilities"]
USES: tuple[Use, ...] = get_args(Use)
Objective = Literal["accuracy", "macro_f1"]
FormKind = Literal["fixed", "nearest", "fixed+nearest"]
FORM_KINDS: tuple[FormKind, ...] = get_args(FormKind)
ClassifierKind = Literal["auto", "none", "bag_of_words", "embeddings", "states", "label_probabilities"]
PresetName = Literal["quick", "standard", "paper"]


class Options(BaseModel):
    """Base of every group of options. Groups are frozen; an unknown option name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class LabelOptions(Options):
    """How the labels of rows are read, and what becomes of labels with too few rows."""

    join_spellings: bool = Field(
        True, description="Reading of labels that differ only in case, spaces or Unicode form as one label."
    )
    rare: Literal["reject", "drop"] = Field(
        "reject",
        description="Treatment of labels with fewer than two rows: reject the dataset, or drop their rows and their "
        "label words.",
    )


class RowOptions(Options):
    """Which rows do what, and what becomes of rows without a label."""

    search: int = Field(
        400,
        ge=0,
        le=100_000,
        description="Maximum number of search rows, on which LENS finds demonstrations; 0 for no search. They judge no "
        "prompt. There are none with fewer than 100 labelled rows.",
    )
    judging: int = Field(
        400,
        ge=10,
        le=100_000,
        description="Maximum number of judging rows, on which every contender is judged; at least half of the labelled "
        "rows, if there are fewer.",
    )
    test: int | None = Field(
        1000, ge=4, le=100_000, description="Maximum number of rows of the test rows that are asked; null for all."
    )
    unlabelled: Literal["reject", "skip"] = Field(
        "reject",
        description="Treatment of rows with a text and no label: reject the dataset if more than a tenth of its rows "
        "lack one, or skip these rows at any share.",
    )


class FilteringOptions(Options):
    """Stage 1: progressive filtering of the candidates (Algorithm 1)."""

    contribution: Contribution = Field(
        "label",
        description="Measure of how much one demonstration helps one query (c): label, or vocabulary: "
        "Eq. 3 by the letter, and the search takes the best replacement instead of drawing one.",
    )
    candidates: int | None = Field(
        None, ge=2, description="Maximum number of candidates (stratified sample); null for all (N)."
    )
    keep: int = Field(
        500,
        ge=2,
        le=5_000,
        description="Number of examples left after filtering; memory of stage 2 grows with its square (m).",
    )
    rho: float | None = Field(
        None,
        ge=1.1,
        le=100.0,
        description="Factor by which candidates shrink and the score set grows; null: derived from `rounds` (rho).",
    )
    rounds: int = Field(4, ge=1, le=20, description="Number of filtering rounds; used only when rho is null.")
    initial_score_size: int = Field(14, ge=1, le=10_000, description="Number of score examples in the first round (l).")
    max_score_size: int = Field(256, ge=1, le=100_000, description="Maximum number of score examples in any round.")


class SearchOptions(Options):
    """Stage 2: diversity-guided search for a permutation (Algorithm 2)."""

    validation: int = Field(
        100, ge=4, le=10_000, description="Maximum number of search rows on which permutations are ranked (V)."
    )
    is_apart: bool = Field(
        False,
        description="Whether the rows on which permutations are ranked are no candidates, as in the paper. Otherwise "
        "every search row is both, and a permutation is ranked on the rows that it does not show.",
    )
    sets: int = Field(
        48,
        ge=2,
        le=200,
        description="Number of sets of demonstrations that are tried without a search: half of them random, half "
        "spread over the words of the texts. After a search, a quarter of them.",
    )
    beam_width: int = Field(8, ge=1, le=256, description="Number of permutations kept after each iteration (B).")
    children: int = Field(
        8,
        ge=1,
        le=512,
        description="Number of children per permutation in the beam: three quarters by substitution (B'), the others "
        "by reordering.",
    )
    iterations: int = Field(10, ge=0, le=1000, description="Number of iterations of the search (I).")
    first_permutations: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Number of permutations judged before the first iteration, which keeps the best B; half of them "
        "are drawn at random. Null as in the paper: B of high InfoScore and diversity, reordering by shuffling, and "
        "ranking for the use of the run alone; for prompt by accuracy, then by the margin.",
    )
    halvings: int = Field(
        0,
        ge=0,
        le=10,
        description="Number of halvings: each drops the worse half of new permutations and doubles the rows. "
        "0: judge each on every validation row.",
    )
    forms: tuple[FormKind, ...] = Field(
        FORM_KINDS,
        min_length=1,
        strict=False,  # JSON has lists
        description="Forms of the prompt that are tried. fixed: the same demonstrations for every input. nearest: for "
        "each input the labelled rows that are most like it. fixed+nearest: fixed demonstrations, then the nearest "
        "rows.",
    )
    diversity_weight: float = Field(
        1.0, ge=0.0, le=100.0, description="Weight of similarity in the score of a replacement, s(e, E') (lambda)."
    )

    @field_validator("forms", mode="before")
    @classmethod
    def _split_words(cls, forms: Any) -> Any:
        """A command line gives a list as words with commas."""
        return forms.split(",") if isinstance(forms, str) else forms

    @property
    def num_first_permutations(self) -> int:
        return self.first_permutations or self.beam_width

    @property
    def num_children(self) -> int:
        """Maximum number of children of the whole beam in one iteration."""
        return self.beam_width * self.children

    @property
    def num_substitutions(self) -> int:
        """Number of children by substitution per permutation in the beam; the others are reorderings."""
        return max(3 * self.children // 4, 1)

    @property
    def starts_narrow(self) -> bool:
        """Whether the search starts with one beam of optimised permutations, as Algorithm 2 does."""
        return self.first_permutations is None

    @model_validator(mode="after")
    def fills_the_beam(self) -> "SearchOptions":
        if self.first_permutations is not None and self.first_permutations < self.beam_width:
            raise ValueError(
                f"first_permutations is {self.first_permutations}, fewer than beam_width ({self.beam_width})"
            )
        return self


class ClassifierOptions(Options):
    """The classifier: chosen among a few candidates by cross-validation."""

    kind: ClassifierKind = Field(
        "auto",
        description="Candidates for the classifier. auto: the words, and the hidden states of a model that shows them, "
        "or else the label probabilities. bag_of_words: the words of a text, no language model. embeddings: sentence "
        "embeddings, no language model. states: the model's hidden states. label_probabilities: the label words' "
        "probabilities after a prompt. none: no classifier.",
    )
    embeddings: str | None = Field(
        None,
        max_length=4096,
        description="Embedder, whose sentence embeddings stand beside the words of a text, as a candidate and in the "
        "search for nearest rows: a folder in the layout of sentence-transformers, or auto, the one of the variable "
        "LENS_EMBEDDINGS, or else the bundled one if it is installed; null for none. A service takes auto or null.",
    )
    fit_rows: int = Field(
        800,
        ge=0,
        le=100_000,
        description="Number of rows on which a head is fitted: all judging rows, then other rows. A bag of words is "
        "fitted on all rows; where rows times labels are more than four million, on as many as make four million.",
    )


class BudgetOptions(Options):
    """When a run stops and keeps the best permutation found so far. Null means no limit."""

    max_pairs: int | None = Field(
        None, ge=1, description="Maximum number of pairs scored over all phases; a pair is one prefix and one query."
    )
    max_seconds: float | None = Field(
        None,
        gt=0.0,
        le=31_536_000.0,
        description="Maximum wall-clock time without loading the model (seconds; at most one year).",
    )
    max_cost: float | None = Field(
        None,
        gt=0.0,
        description="Maximum cost of the requests to a server, by the prices of its endpoint (USD); scores on disk "
        "cost nothing.",
    )


class SelectionConfig(Options):
    """All options of one selection. A letter in brackets is the symbol of the paper (Li & Qiu, 2023)."""

    use: Use = Field(
        "prompt",
        description="How production reads the prompt. prompt: the likeliest label word is the answer. probabilities: "
        "label biases are added to the log-probabilities first. A result has the best prompt for each.",
    )
    objective: Objective = Field(
        "accuracy",
        description="Figure by which contenders are chosen. accuracy: the share of right rows. macro_f1: the mean F1 "
        "of the labels that have rows, so that a rare label counts as much as a frequent one.",
    )
    num_demonstrations: int = Field(8, ge=1, le=256, description="Number of demonstrations in the prompt (n).")
    balanced: bool = Field(True, description="Equal number of demonstrations for each label.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of every random choice.")
    rows: RowOptions = Field(RowOptions(), description="Options of what rows do.")
    labels: LabelOptions = Field(LabelOptions(), description="Options of how labels are read.")
    filtering: FilteringOptions = Field(FilteringOptions(), description="Options of the filtering of candidates.")
    search: SearchOptions = Field(SearchOptions(), description="Options of the search over permutations.")
    classifier: ClassifierOptions = Field(ClassifierOptions(), description="Options of the classifier.")
    budget: BudgetOptions = Field(BudgetOptions(), description="Limits of the run; null for no limit.")
