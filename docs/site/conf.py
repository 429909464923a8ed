"""Configuration of Sphinx. `docs/site/build.py` prepares its sources and runs it."""

from lens_engine import __version__

project = "Lens"
version = release = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as a Git forge makes them
smartquotes = False  # `--option` stays as it is
html_theme = "furo"
html_title = f"Lens {__version__}"
html_static_path = ["static"]
html_css_files = ["lens.css"]
html_copy_source = False
html_show_sphinx = html_show_copyright = html_use_index = False
