"""`folder`: files that render the prompt of each input, of any form, without Lens; in one archive where it is sent."""

import io
import zipfile
from collections.abc import Mapping
from typing import Final

from lens_engine.errors import InvalidConfig
from lens_engine.exports.contract import Source
from lens_engine.exports.retrieval_code import write_retrieval
from lens_engine.retrieval.pool import Pool, Retrieval

FOLDER: Final = "folder"
ZIP_TYPE = "application/zip"

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of each file of an archive, so that equal files make equal archives."""


def write_folder(source: Source, pool: Pool | None) -> dict[str, bytes]:
    """The files by their names.

    Args:
        pool: rows in which the prompt finds demonstrations; None for a fixed form.

    Raises:
        InvalidConfig: the prompt finds demonstrations, and the pool is missing; or its server takes no system message.
    """
    if source.task.chat is not None and source.task.chat.system_in_turn:
        raise InvalidConfig("the server takes no system message, and the code sends one", field="format")
    answer = source.chosen
    if answer.form.nearest and pool is None:
        raise InvalidConfig(f"the prompt has the form {answer.form.name}, and its pool is missing", field="format")
    found = Retrieval(form=answer.form, pool=Pool(rows=()) if pool is None or not answer.form.nearest else pool)
    return write_retrieval(source.task, [one.example for one in answer.examples], found)


def pack(files: Mapping[str, bytes]) -> bytes:
    """The files as a ZIP archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return packed.getvalue()
