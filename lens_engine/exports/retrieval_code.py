"""A folder that renders the prompt of each input: the pool as JSON, and a Python module without dependencies.

The module is `prompt_module.py` of this package with `task/terms.py` in it, so that it is checked and tested like any
other.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lens_engine.retrieval.pool import Retrieval
from lens_engine.task import terms
from lens_engine.task.chat import ChatTask, lift_system, read_turns
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Task
from lens_engine.types import Example

_IMPORT = "from lens_engine.task.terms import list_terms, measure_text\n"

_README = """\
# The prompt of an input

`prompt.py` renders the prompt for a text, byte for byte as Lens evaluated it. It needs Python 3.9 or newer, and
`pool.json` beside it:

    from prompt import find, render

    render("a text")  # {rendered}
    find("a text")  # the rows that were found for it, with their similarity, the most similar last

The form of the prompt is `{form}`, over a pool of {rows:,} rows. The model answers with a label word: `label_words` in
`pool.json` has that of each label.

`pool.json` holds the labelled rows in plain text, so whoever may read it can read them.
"""


def write_retrieval(record: TaskRecord, fixed: Sequence[Example], retrieval: Retrieval) -> dict[str, bytes]:
    """The files of the folder by their names, in UTF-8.

    Args:
        fixed: the fixed demonstrations of the prompt, in their order; none for the form `nearest`.

    Raises:
        InvalidTemplate, InvalidVerbalizer: the record was changed by hand.
    """
    task, pool = record.task(), retrieval.pool
    readme = _README.format(
        rendered="the messages of a chat" if isinstance(task, ChatTask) else "the prompt, up to the label word",
        form=retrieval.form.name,
        rows=len(pool.rows),
    )
    frame = json.dumps(_describe_prompt(task, fixed, retrieval), ensure_ascii=False, indent=1).removesuffix("\n}")
    rows = ",\n".join(row.model_dump_json() for row in pool.rows)
    return {
        "prompt.py": _write_module().encode(),
        "pool.json": f'{frame},\n "rows": [\n{rows}\n]}}\n'.encode(),
        "README.md": readme.encode(),
    }


def _write_module() -> str:
    """The module with the source of what it imports from Lens."""
    own = Path(__file__).with_name("prompt_module.py").read_text("utf-8")
    return own.replace(_IMPORT, Path(terms.__file__).read_text("utf-8"))


def _describe_prompt(task: Task, fixed: Sequence[Example], retrieval: Retrieval) -> dict[str, Any]:
    """What `prompt_module` needs beside the rows."""
    prefix, query = "".join(task.render_prefix(fixed)), task.render_query("")
    ends = {label: task.render_demonstration(Example(0, "", label)).removeprefix(query) for label in task.labels}
    beginning: Any = prefix
    if isinstance(task, ChatTask):
        *beginning, _ = lift_system(read_turns(prefix + query))
        ends = dict(task.verbalizer.words)
    return {
        "form": retrieval.form.name,
        "nearest": retrieval.form.nearest,
        "fixed": [one.row for one in fixed],
        "label_words": dict(task.verbalizer.words),
        "beginning": beginning,  # a text, or the messages of a chat
        "around_text": task.template.around_text,
        "ends": ends,  # of a demonstration, by its label
    }
