# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plots as SVG, made of text alone: panels with lines, dots and bars; no legend hides data, the pointer shows values.

Colours are names of the style sheet (THEMES), so that a page follows the reader's choice of light or dark.
"""
import html
import math

THEMES = {
    "light": {"ink": "#222222", "dim": "#666666", "grid": "#dddddd", "back": "#ffffff", "floor": "#9a9a9a",
              "red": "#c9354a", "blue": "#1f6fb4", "green": "#1f8a7d", "orange": "#c9821a", "violet": "#7d58b3",
              "slate": "#5d737e", "good": "#1a7f37", "bad": "#b3121f", "warn": "#fff3d6"},
    "dark": {"ink": "#e6e6e6", "dim": "#a8a8a8", "grid": "#3a3f44", "back": "#16191c", "floor": "#8a8a8a",
             "red": "#f2788a", "blue": "#6cb2ee", "green": "#55c9b9", "orange": "#efb05a", "violet": "#b99be8",
             "slate": "#9db4c0", "good": "#5ccf7d", "bad": "#ff8a93", "warn": "#40351a"},
}
STYLE = """
svg.plot { font: 11px system-ui, sans-serif; } svg.plot text { fill: var(--ink); }
svg.plot text.dim { fill: var(--dim); }
svg.plot .grid { stroke: var(--grid); } svg.plot .level { stroke: var(--dim); stroke-dasharray: 2 3; }
svg.plot .tip { fill: transparent; } svg.plot .tip:hover { fill: var(--ink); }
"""
DASHES = {"solid": "", "wide": "", "dash": "6 4", "dot": "2 3"}
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 26, 40
MOST_TIPS = 60


def variables(theme):
    return "".join(f"--{name}: {value};" for name, value in THEMES[theme].items())


def number(value):
    """Three digits; whole numbers stay whole."""
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


class Scale:
    """Where a value lies between the ends of an axis, from 0 to 1."""

    def __init__(self, values, log, least=None, most=None):
        values = [value for value in values if value is not None and (value > 0 or not log)] or [1]
        low, high = (min(values) if least is None else least), (max(values) if most is None else most)
        self.log = log
        if log:
            self.low, self.high = math.log10(low), math.log10(high)
            if self.high - self.low < 0.3:
                self.low, self.high = self.low - 0.2, self.high + 0.2
        else:
            self.low, self.high = (low, high) if high > low else (low, low + 1)

    def place(self, value):
        if self.log:
            value = math.log10(value) if value > 0 else self.low
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self):
        if self.log:
            powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            if len(powers) >= 2:
                return [10.0 ** power for power in powers[::math.ceil(len(powers) / 7)]]
            ends = 10 ** self.low, 10 ** self.high
            return [float(f"{ends[0] * (ends[1] / ends[0]) ** (i / 3):.1g}") for i in range(4)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 3))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= 6)
        return [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def tick_text(value):
    if value == 0:
        return "0"
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if value >= 1 else f"{value:.6f}".rstrip("0")


class Panel:
    """One pair of axes.  line() and dots() take points (x, y) and the name that the legend has for the colour."""

    def __init__(self, title, x, y, *, log=(False, False), size=(400, 300), x_range=(None, None), y_range=(None, None)):
        self.title, self.x, self.y, self.log, self.size = title, x, y, log, size
        self.ranges = x_range, y_range
        self.series, self.levels = [], []

    def line(self, points, colour, name, style="solid"):
        if points:
            self.series.append((list(points), colour, name, style))

    def dots(self, points, colour, name):
        self.line(points, colour, name, "dots")

    def level(self, value, text):
        """A horizontal line for comparison."""
        self.levels.append((value, text))

    def names(self):
        return [(name, colour, style) for _, colour, name, style in self.series if name]

    def scales(self):
        points = [point for series in self.series for point in series[0]]
        ys = [point[1] for point in points] + [value for value, _ in self.levels]
        return (Scale([point[0] for point in points], self.log[0], *self.ranges[0]),
                Scale(ys, self.log[1], *self.ranges[1]))

    def frame(self, across, down, at):
        """Grid, ticks and titles."""
        width, height = self.size
        bottom = height - BOTTOM
        parts = [f'<text x="{LEFT}" y="14" font-weight="600">{html.escape(self.title)}</text>']
        for value in across.ticks():
            x = at(value, None)[0]
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
                         f'<text class="dim" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">'
                         f'{tick_text(value)}</text>')
        for value in down.ticks():
            y = at(None, value)[1]
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                         f'<text class="dim" x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">'
                         f'{tick_text(value)}</text>')
        middle = (TOP + bottom) / 2
        parts.append(f'<text x="{(LEFT + width - RIGHT) / 2}" y="{height - 8}" text-anchor="middle">'
                     f'{html.escape(self.x)}</text><text transform="translate(12 {middle}) rotate(-90)" '
                     f'text-anchor="middle">{html.escape(self.y)}</text>')
        return parts

    def drawn(self, series, at):
        points, colour, name, style = series
        places = [at(*point) for point in points]
        parts = []
        if style != "dots":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            dash = f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""
            width, opacity = (6, 0.45) if style == "wide" else (1.8, 1)
            parts.append(f'<polyline points="{path}" fill="none" stroke="var(--{colour})" stroke-width="{width}" '
                         f'stroke-opacity="{opacity}" stroke-linejoin="round"{dash}/>')
        else:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="var(--{colour})"/>' for x, y in places]
        step = max(1, len(points) // MOST_TIPS)
        for (x, y), (left, top) in list(zip(points, places))[::step]:
            text = html.escape(f"{name}: {number(x)} {self.x} → {number(y)} {self.y}".strip())
            parts.append(f'<circle class="tip" cx="{left:.1f}" cy="{top:.1f}" r="5"><title>{text}</title></circle>')
        return parts

    def svg(self):
        width, height = self.size
        across, down = self.scales()

        def at(x, y):
            return (LEFT + (0 if x is None else across.place(x)) * (width - LEFT - RIGHT),
                    height - BOTTOM - (0 if y is None else down.place(y)) * (height - TOP - BOTTOM))

        parts = self.frame(across, down, at)
        for series in sorted(self.series, key=lambda one: one[3] != "wide"):
            parts += self.drawn(series, at)
        for value, text in self.levels:
            y = at(None, value)[1]
            parts.append(f'<line class="level" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                         f'<text class="dim" x="{width - RIGHT}" y="{y - 3:.1f}" text-anchor="end">'
                         f'{html.escape(text)}</text>')
        return wrapped(width, height, parts)


class Bars:
    """Horizontal bars on a logarithmic axis or a plain one; rows are (label, value or None, text, colour)."""

    def __init__(self, title, x, rows, *, log=False, width=400, label_width=84, least=None, mark=None):
        self.title, self.x, self.rows, self.log, self.width = title, x, rows, log, width
        self.left, self.least, self.mark = label_width, least, mark

    def names(self):
        return []

    def svg(self):
        height = TOP + 22 * len(self.rows) + BOTTOM
        values = [row[1] for row in self.rows if row[1]] or [1]
        scale = Scale(values, self.log, self.least if self.log else 0)
        span = (self.width - self.left) * 0.6  # the right part is for the texts
        parts = [f'<text x="{self.left}" y="14" font-weight="600">{html.escape(self.title)}</text>']
        bottom = height - BOTTOM
        for value in scale.ticks():
            x = self.left + scale.place(value) * span
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/><text class="dim" '
                         f'x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick_text(value)}</text>')
        if self.mark:
            x = self.left + scale.place(self.mark[0]) * span
            parts.append(f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}">'
                         f'<title>{html.escape(self.mark[1])}</title></line>')
        for place, (label, value, text, colour) in enumerate(self.rows):
            y = TOP + 22 * place
            length = scale.place(value) * span if value else 0
            parts.append(f'<text x="{self.left - 6}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>')
            if length:
                parts.append(f'<rect x="{self.left}" y="{y + 3}" width="{length:.1f}" height="15" '
                             f'fill="var(--{colour})"><title>{html.escape(label)}: {html.escape(text)}</title></rect>')
            parts.append(f'<text x="{self.left + length + 6:.1f}" y="{y + 14}">{html.escape(text)}</text>')
        parts.append(f'<text class="dim" x="{self.left}" y="{height - 8}">{html.escape(self.x)}</text>')
        return wrapped(self.width, height, parts)


def wrapped(width, height, parts):
    return (f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">' + "".join(parts) + "</svg>")


def alone(svg, theme):
    """The same as a file of its own, in one of the themes; readers of such files know no variables."""
    head = svg.index(">") + 1
    text = svg[:head] + f"<style>{STYLE}</style>" + svg[head:] + "\n"
    for name, value in THEMES[theme].items():
        text = text.replace(f"var(--{name})", value)
    return text


def legend(panels):
    """One for all panels, above them: nothing hides the data."""
    seen, items = set(), []
    for name, colour, style in (entry for panel in panels for entry in panel.names()):
        if name in seen:
            continue
        seen.add(name)
        thick = {"wide": "6px solid", "dash": "2px dashed", "dot": "2px dotted", "dots": "6px dotted"}
        items.append(f'<span><i style="border-top: {thick.get(style, "2px solid")} var(--{colour})"></i>'
                     f'{html.escape(name)}</span>')
    return f'<div class="legend">{"".join(items)}</div>' if items else ""


def figure(panels, caption):
    """Panels side by side with their legend and a caption in HTML."""
    drawn = "".join(panel.svg() for panel in panels)
    return f'<figure>{legend(panels)}<div class="panels">{drawn}</div><figcaption>{caption}</figcaption></figure>'
