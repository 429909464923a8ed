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
ClassifierKind = Literal["auto", "none", "bag_of_words", "states", "label_probabilities"]
ComparisonsOption = Literal["none", "usual"]
PresetName = Literal["quick", "standard", "paper"]
MethodName = Literal["lens", "zero_shot", "random", "random_and_validation"]
METHOD_NAMES: tuple[MethodName, ...] = get_args(MethodName)


class Options(BaseModel):
    """Base of every group of options. Groups are frozen; an unknown option name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class SplitOptions(Options):
    """How the rows of the dataset are split. No row is in two splits."""

    validation: int = Field(
        100, ge=4, le=10_000, description="Number of validation rows, on which the search ranks permutations (V)."
    )
    confirmation: int = Field(
        100, ge=0, le=10_000, description="Number of further rows on which the last beam is judged again; 0 for none."
    )
    test: int | None = Field(
        1000, ge=4, le=100_000, description="Maximum number of test rows (stratified sample); null for all."
    )
    held_out_share: float = Field(
        0.25, gt=0.0, lt=0.9, description="Share of the dataset held out as test rows when no test rows are given."
    )


class LabelOptions(Options):
    """How the labels of rows are read, and what becomes of labels with too few rows."""

    join_spellings: bool = Field(
        True, description="Reading of labels that differ only in case, spaces or Unicode form as one label."
    )
    rare: Literal["reject", "drop"] = Field(
        "reject",
        description="Treatment of labels with too few rows for the splits: reject the dataset, or drop their rows and "
        "their label words.",
    )


class RowOptions(Options):
    """What becomes of rows."""

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
        "ties decided by the margin instead of the log-loss.",
    )
    halvings: int = Field(
        0,
        ge=0,
        le=10,
        description="Number of halvings: each drops the worse half of new permutations and doubles the rows. "
        "0: judge each on every validation row.",
    )
    forms: tuple[FormKind, ...] = Field(
        ("fixed",),
        min_length=1,
        strict=False,  # JSON has lists
        description="Forms of the prompt that are tried. fixed: the permutation that is found. nearest: for each input "
        "the labelled rows that are most like it. fixed+nearest: the permutation, then the nearest rows. Another form "
        "takes the place of fixed if it leads by more than a standard error, or if fixed is not among them.",
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
    def tries_fixed(self) -> bool:
        """Whether a form must lead the fixed demonstrations."""
        return "fixed" in self.forms

    @property
    def num_first_permutations(self) -> int:
        return self.first_permutations or self.beam_width

    @property
    def num_finalists(self) -> int:
        """Largest number of permutations that are judged again: the beam, and the best for the other use."""
        return self.beam_width + max(self.beam_width // 2, 1)

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
        "or else the label probabilities. bag_of_words: the words of a text, no language model. states: the model's "
        "hidden states. label_probabilities: the label words' probabilities after a prompt. none: no classifier.",
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
        description="Number of rows on which a head is fitted: all validation and confirmation rows, then other rows "
        "that are no demonstration of a prompt. A bag of words is fitted on all rows; where rows times labels are more "
        "than four million, on as many as make four million.",
    )


class RandomSearchOptions(Options):
    """Options of the method random_and_validation."""

    permutations: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Number of random permutations judged on the validation rows; null for as many as are charged "
        "with the (permutation, row) pairs of LENS, confirmation included.",
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

    method: MethodName = Field("lens", description="Method that chooses the demonstrations.")
    use: Use = Field(
        "prompt",
        description="How production reads the prompt, which is how the search ranks. prompt: the likeliest label word "
        "is the answer. probabilities: label biases are added to the log-probabilities first.",
    )
    objective: Objective = Field(
        "accuracy",
        description="Figure by which prompts, wordings, forms and the classifier are chosen. accuracy: the share of "
        "right rows, and for the classifier the log-loss. macro_f1: the mean F1 of the labels that have rows, so that "
        "a rare label counts as much as a frequent one.",
    )
    num_demonstrations: int = Field(8, ge=1, le=256, description="Number of demonstrations in the prompt (n).")
    balanced: bool = Field(True, description="Equal number of demonstrations for each label.")
    comparisons: ComparisonsOption = Field(
        "usual",
        description="What the support examples are compared with. usual: zero-shot, and random-and-validation (the "
        "best of random permutations, for as many pairs and tokens). none: zero-shot only, if the splits have "
        "confirmation rows.",
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of every random choice.")
    rows: RowOptions = Field(RowOptions(), description="Options of how rows are read.")
    labels: LabelOptions = Field(LabelOptions(), description="Options of how labels are read.")
    splits: SplitOptions = Field(SplitOptions(), description="Options of the splits of the dataset.")
    filtering: FilteringOptions = Field(FilteringOptions(), description="Options of the filtering of candidates.")
    search: SearchOptions = Field(SearchOptions(), description="Options of the search over permutations.")
    classifier: ClassifierOptions = Field(ClassifierOptions(), description="Options of the classifier.")
    random_search: RandomSearchOptions = Field(
        RandomSearchOptions(), description="Options of the method random_and_validation."
    )
    budget: BudgetOptions = Field(BudgetOptions(), description="Limits of the run; null for no limit.")
