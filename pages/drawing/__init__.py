"""Drawings as SVG with positions in percent: no script, no inline style, and text that does not shrink."""
