"""How Sphinx builds the documentation: ``make docs``, then open build/docs/index.html.

Nothing is fetched when a page is read: fonts and scripts come with the theme, and formulas are
MathML, which browsers draw by themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

import milepost

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Milepost"
author = "The Milepost developers"
copyright = author  # noqa: A001  # the name that Sphinx asks for
version = release = milepost.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "mathml"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_*"]
suppress_warnings = ["misc.highlighting_failure"]

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
highlight_language = "none"

# The Python interface: what its docstrings say, in the order of the page
autosummary_generate = False
autodoc_typehints = "signature"
autodoc_type_aliases = {"Games": "Games"}
autodoc_member_order = "bysource"
add_module_names = False
python_maximum_signature_line_length = 90
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

# Pages
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "Milepost"
html_static_path = ["_static"]
html_css_files = ["milepost.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "Milepost"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
