"""Writes the bundled model as a GGUF file in float32.

Its weights are the numbers that Lens computes with: Lens too reads the 4-bit file with the dequantisation of the
package gguf. So the server and Lens differ by rounding alone.
"""

from pathlib import Path

from lens_engine.disk import make_once
from lens_engine.model.local.model_files import BUNDLED_MODEL, resolve_model

_NAME = "model.gguf"


def float32_weights(cache_dir: Path | None = None) -> Path:
    """The GGUF file (540 MB). It is written if the cache folder has none; this takes ten seconds.

    Raises:
        UnknownModel: the bundled model is not installed.
    """
    source = resolve_model(BUNDLED_MODEL, cache_dir)
    return make_once(f"{source.revision}-float32", lambda entry: _widen(source.path, entry / _NAME), cache_dir) / _NAME


def _widen(source: Path, target: Path) -> None:
    """A copy of a GGUF file with all tensors in float32. Tokenizer and all else stay as they are."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, Keys, LlamaFileType, dequantize  # not a package of `unit`

    left_out = {Keys.General.ARCHITECTURE, Keys.General.FILE_TYPE, Keys.General.QUANTIZATION_VERSION}
    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields[Keys.General.ARCHITECTURE].contents(), endianess=reader.endianess)
    for name, field in reader.fields.items():
        if name not in left_out and not name.startswith("GGUF."):  # counts, which the writer makes
            element = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], element)
    writer.add_file_type(LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
