"""How the documentation is built."""

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Blazar"
copyright = "the Blazar developers"
extensions = [
    "myst_parser",
    "oslo_config.sphinxext",
    "reno.sphinxext",
    "sphinx.ext.autodoc",
    "generated",
    "api_reference",
]
myst_enable_extensions = [
    "colon_fence",
    "deflist",
]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_extensions", "examples"]
html_theme = "furo"
html_title = "Blazar"
autodoc_typehints = "description"
logging.getLogger("reno").setLevel(logging.WARNING)
suppress_warnings = ["myst.xref_missing"]
