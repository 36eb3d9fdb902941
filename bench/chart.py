"""chart.py - a grouped bar chart of query times as SVG, without any library.

Logarithmic time axis, a group a query, a bar an engine.
Used by: bench/reports.py.
"""

import math
from xml.sax.saxutils import escape

COLOURS = ("#9aa0a6", "#5f6368", "#1a73e8", "#188038", "#e8710a", "#a142f4")
WIDTH_BAR, GAP, HEIGHT, LEFT, TOP, BOTTOM = 12, 14, 320, 60, 60, 40


def svg(title, queries, series):
    """`series`: [(label, {query: ms})]. Returns the document's text."""
    times = [ms for _, values in series for ms in values.values()]
    low = 10 ** math.floor(math.log10(min(times)))
    high = 10 ** math.ceil(math.log10(max(times)))
    group = len(series) * WIDTH_BAR + GAP
    width = LEFT + group * len(queries) + 20

    def y(ms):
        return TOP + HEIGHT * (1 - (math.log10(ms) - math.log10(low)) / (math.log10(high) - math.log10(low) or 1))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HEIGHT + BOTTOM}" '
           'font-family="sans-serif" font-size="11">', f'<text x="{LEFT}" y="18" font-size="14">{escape(title)}</text>']
    x = LEFT
    for i, (label, _) in enumerate(series):
        out.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
                   f'<text x="{x + 14}" y="37">{escape(label)}</text>')
        x += 24 + 7 * len(label)
    decade = low
    while decade <= high * 1.0001:
        out.append(f'<line x1="{LEFT}" x2="{width - 10}" y1="{y(decade):.1f}" y2="{y(decade):.1f}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y(decade) + 4:.1f}" text-anchor="end">{decade:g} ms</text>')
        decade *= 10
    for q, query in enumerate(queries):
        at = LEFT + q * group + GAP / 2
        for i, (_, values) in enumerate(series):
            if query in values:
                top = y(values[query])
                out.append(f'<rect x="{at + i * WIDTH_BAR:.1f}" y="{top:.1f}" width="{WIDTH_BAR - 1}" '
                           f'height="{TOP + HEIGHT - top:.1f}" fill="{COLOURS[i % len(COLOURS)]}"/>')
        out.append(f'<text x="{at + len(series) * WIDTH_BAR / 2:.1f}" y="{TOP + HEIGHT + 16}" '
                   f'text-anchor="middle">{escape(query)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
