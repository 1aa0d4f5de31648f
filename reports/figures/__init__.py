"""Figures of a report: ``draw_figures`` makes them from an ``Exhibit``, ``to_inline_svg`` puts one into a page."""

from .exhibit import Drawn, Exhibit
from .registry import FIGURES, draw_figures, write_figures
from .render import to_inline_svg, to_png, to_svg

__all__ = ["FIGURES", "Drawn", "Exhibit", "draw_figures", "to_inline_svg", "to_png", "to_svg", "write_figures"]
