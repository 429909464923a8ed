"""The words that people read, with those of the papers and of the API: a page and docs/words.md list them."""

from typing import NamedTuple


class Word(NamedTuple):
    """A word for a thing, as a person reads it."""

    name: str
    meaning: str
    also: str = ""  #: what papers and the API call it


GLOSSARY = (
    Word("example", "A labelled text that stands in the prompt, before the text to answer.", "demonstration"),
    Word("support examples", "The examples that Lens has chosen, in their order.", "a permutation of demonstrations"),
    Word("selection", "One run that compares ways to answer on your file. It takes some minutes.", "experiment"),
    Word("way to answer", "A classifier, or a prompt with its examples, corrected or not.", "contender, candidate"),
    Word("template", "How one example is written: one {text} and, after it, one {label}.", "prompt template"),
    Word("label word", "What the model writes for a label.", "verbalizer"),
    Word("instruction", "A text that stands once before all examples.", "instruction, system prompt"),
    Word(
        "fixed, similar examples",
        "Fixed: the same for every text. Similar: for each text the labelled texts most like it.",
        "few-shot prompt; retrieval, kNN prompting",
    ),
    Word(
        "judging rows",
        "Labelled texts on which all are compared. No prompt is judged by a text that it shows.",
        "validation set",
    ),
    Word(
        "test texts",
        "Labelled texts of a second file, which had no part in any choice. Their figures come first.",
        "test set",
    ),
    Word(
        "expect 82 to 95 of 100",
        "Right answers on new texts, in 95 of 100 cases. The optimism of choosing is taken off.",
        "confidence interval; bootstrap bias corrected cross-validation",
    ),
    Word("right for 105 of 120", "How many test texts got their label. Also as per cent.", "accuracy"),
    Word(
        "may be as good",
        "In more than 5 of 100 samples of the rows it was as often right.",
        "not significant (bootstrap)",
    ),
    Word("weak on a label", "Far more of its texts are wrong than of all texts.", "recall of a class"),
    Word("no examples", "The model is asked without examples.", "zero-shot"),
    Word("counting words", "A classifier that counts words and needs no language model.", "bag of words, TF-IDF"),
    Word(
        "classifier",
        "A small file that is fitted on your labels. It reads words, sentence embeddings, or the model from within.",
        "logistic regression on hidden states or embeddings",
    ),
    Word("most frequent label", "What you get right by always giving this one answer.", "majority class"),
    Word("macro-F1", "From 0 to 1; a rare label counts as much as a frequent one.", "macro-averaged F1"),
    Word(
        "corrected",
        "Some models prefer some labels, whatever the text. A number for each label takes that away.",
        "label biases, contextual calibration",
    ),
    Word(
        "can the percentages be trusted",
        "Of answers given with 80 %, 80 of 100 should be right.",
        "calibration, expected calibration error",
    ),
    Word(
        "least sure", "Answers of a low probability, which a person can take.", "abstention, selective classification"
    ),
    Word("suspicious label", "A row whose label the classifier clearly contradicts. Look at it.", "label error"),
    Word("effect of an example alone", "How much one example helps by itself. The set matters more.", "InfoScore"),
    Word("log-loss", "How unsure the right answers are, in nats. Less is better.", "cross-entropy"),
    Word("pair", "One prompt with one text, scored together. Cost is counted in pairs and tokens."),
    Word("prompt in production", "A name that your program asks for, with versions behind it.", "prompt registry"),
)
