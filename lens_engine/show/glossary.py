"""The words that people read, with those of the papers and of the API: a page and docs/words.md list them."""

from typing import NamedTuple


class Word(NamedTuple):
    """A word for a thing, as a person reads it."""

    name: str
    meaning: str
    also: str = ""  #: what papers and the API call it


GLOSSARY = (
    Word("example", "A text with its label that stands in the prompt, before the text to answer.", "demonstration"),
    Word("support examples", "The examples that Lens has chosen, in their order.", "a permutation of demonstrations"),
    Word("selection", "One run that finds and judges the best examples of a file. It takes some minutes."),
    Word("way to answer", "A prompt with its examples, read as it is or corrected; or a classifier.", "contender"),
    Word("template", "How one example is written: one {text} and, after it, one {label}."),
    Word("label word", "What the model writes for a label.", "verbalizer"),
    Word("instruction", "A text that stands once before all examples."),
    Word(
        "form of the prompt",
        "fixed: the same examples for every text. nearest: for each text the labelled texts that are most like it. "
        "fixed+nearest: both.",
        "retrieval",
    ),
    Word(
        "judging rows",
        "Labelled texts by which every way to answer is judged. No prompt is judged by a text that it shows.",
    ),
    Word(
        "expect 82 to 95 of 100",
        "Right answers on new texts, in 95 of 100 cases. What the choice among many adds is taken off.",
        "bootstrap bias corrected cross-validation",
    ),
    Word(
        "test texts",
        "Labelled texts of a file of their own, which had no part in any choice. Their figures come first.",
        "test rows",
    ),
    Word("right for 105 of 120", "How many test texts got their label. Also as per cent.", "accuracy"),
    Word("95 % range", "Where the share would be, in 95 of 100 cases, with other test texts.", "confidence interval"),
    Word("no examples", "The model asked without examples.", "zero-shot"),
    Word("word counting", "A classifier that counts words and needs no language model.", "bag of words"),
    Word(
        "classifier",
        "A small file that reads the model from within, and is fitted on your labels. It needs the model's weights; a "
        "prompt needs only text.",
        "hidden states and a linear head",
    ),
    Word("most frequent label", "What you get right by always giving this one answer.", "largest class"),
    Word("macro-F1", "A figure from 0 to 1 in which a rare label counts as much as a frequent one."),
    Word(
        "corrected",
        "Some models prefer some labels, whatever the text. A number for each label takes that away; it needs the "
        "model's probabilities.",
        "label biases, calibration",
    ),
    Word(
        "can the percentages be trusted",
        "Of answers given with 80 %, 80 of 100 should be right. The figure says how far off that is.",
        "expected calibration error",
    ),
    Word("suspicious label", "A row whose label the classifier contradicts with confidence: look at it."),
    Word("effect of an example alone", "How much one example helps by itself. The set matters more.", "InfoScore"),
    Word("log-loss", "How unsure a classifier is of the right answers, in nats; the less, the better."),
    Word("pair", "One prompt with one text, scored together. The cost of a selection is counted in pairs and tokens."),
    Word("prompt in production", "A name that your program asks for, with versions behind it.", "prompt registry"),
)
