"""Instructions: the check of a given one, and three to choose from for any labels."""

from collections.abc import Iterable

from lens_engine.errors import InvalidInstruction
from lens_engine.task.text_checks import UNSTORABLE, is_blank
from lens_engine.task.unicode_form import MAX_MARKS, has_long_run

MAX_INSTRUCTION_CHARACTERS = 20_000
_MOST_LISTED = 20  #: largest number of label words that an instruction lists


def read_instruction(text: str) -> str:
    """An instruction as a prompt holds it; "" means that there is none.

    Raises:
        InvalidInstruction: it has too many characters, is blank, holds what no store keeps, or has more than 30
            combining marks in a row.
    """
    if len(text) > MAX_INSTRUCTION_CHARACTERS:
        fault = f"has {len(text):,} characters; at most {MAX_INSTRUCTION_CHARACTERS:,} are allowed"
    elif UNSTORABLE.search(text):
        fault = "holds NUL or half a surrogate pair; take it out"
    elif has_long_run(text):
        fault = f"has more than {MAX_MARKS} combining marks (accents) in a row, which no script needs; remove them"
    elif text and is_blank(text):
        fault = "has only spaces; write a text, or leave it out"
    else:
        return text
    raise InvalidInstruction(f"the instruction {fault}", field="instruction")


def suggest_instructions(words: Iterable[str], *, names_them: bool = True) -> tuple[str, ...]:
    """Three instructions for a task with these label words: one names them, one asks, one describes the job.

    More than 20 label words are not listed.

    Args:
        names_them: whether the label words may be listed; codes that a person replaces by words are not.
    """
    found = list(words)
    if len(found) > _MOST_LISTED or not names_them:
        return (
            f"Each text has one of {len(found)} labels.",
            f"Which of {len(found)} labels fits each text?",
            f"You sort texts into {len(found)} classes. Read each text, and answer with the label of its class.",
        )
    *first, last = found
    named, either = (f"{', '.join(first)} {joint} {last}" for joint in ("and", "or"))
    return (
        f"The labels are {named}.",
        f"Which label fits each text: {either}?",
        f"You sort texts into {len(found)} classes. Read each text, and answer with the label of its class: {either}.",
    )
