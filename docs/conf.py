"""How Sphinx builds this documentation; `make docs` treats every warning as an error."""

import cqrf

project = "cqrf"
release = cqrf.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "cqrf"
html_show_sphinx = False
exclude_patterns = ["_templates", "images"]
templates_path = ["_templates"]
# The pages of docs/api.md are written into docs/api while the documentation is built.
autosummary_generate = True
autosummary_imported_members = True

# `name` in a docstring links to what it names, and is code where there is nothing to link to.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Members are listed by autodoc itself.
numpydoc_show_class_members = False
