"""Formulas as MathML, made when the pages are built: no script is needed to read them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math-display"))
    self.body.append(convert(node.astext(), display="block"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})</span>')
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer ``mathml`` to the HTML builder."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
