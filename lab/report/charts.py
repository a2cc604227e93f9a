# SPDX-License-Identifier: MIT OR Apache-2.0
"""Charts of the pages, drawn by plotly: each answers one question, in one row of axes or in several rows.

A chart is JSON in the page; SCRIPT draws it in the reader's choice of light or dark.  Without plotly a chart is empty.
"""
import html
import json
import math

try:
    import plotly.offline
    from plotly import graph_objects
    from plotly.subplots import make_subplots
except ImportError:
    graph_objects = None

# Colours that are visible on the light and on the dark page.
COLOURS = {"floor": "#999999", "red": "#d6455b", "blue": "#2f86d0", "green": "#219e8c", "orange": "#d98a1f",
           "violet": "#9266cf", "slate": "#6d8796", "brown": "#9c6b4a", "pink": "#d66fb0", "olive": "#8a9a2b",
           "teal": "#38b0c4", "navy": "#5c68c9"}
LONG_TITLE = 24  # letters; beside it there is no room for the buttons in a window of 600 pixels
MARK = {"color": "#888888", "dash": "dot", "width": 1.5}  # a reference line
MARGINS = {"l": 70, "r": 24, "t": 8, "b": 50}
LABEL, LABEL_LETTER = 15, 6  # height of a label over a reference line, width of its letters
LOW = 80  # a row of less height has a small title at its vertical axis
LETTER, NARROW = 6.6, 400  # widths: of a letter of a bar's text, and of the axes in a window of 600 pixels


def look(ink, grid, back):
    axis = {"gridcolor": grid, "linecolor": grid, "zerolinecolor": grid, "tickcolor": grid, "ticks": "outside",
            "exponentformat": "none", "separatethousands": True}
    return {"layout": {"font": {"color": ink, "size": 12, "family": "system-ui, sans-serif"}, "xaxis": axis,
                       "yaxis": axis, "paper_bgcolor": back, "plot_bgcolor": back,
                       "hoverlabel": {"bgcolor": back, "font": {"color": ink}}}}


LOOKS = {"light": look("#222222", "#dddddd", "#ffffff"), "dark": look("#e6e6e6", "#3a3f44", "#16191c")}
STYLE = "div.chart { width: 100%; }\n"
SCRIPT = """
(function () {
  const dark = matchMedia('(prefers-color-scheme: dark)'), looks = LOOKS;
  const places = () => document.querySelectorAll('div.chart');
  const chart = (place) => JSON.parse(place.previousElementSibling.textContent);
  // On a narrow page the legend has more lines. The chart grows by these lines, so that its axes keep their height.
  async function fit(place) {
    const legend = place.querySelector('.legend'), wanted = chart(place).layout;
    if (!legend)
      return;
    const lines = Math.ceil(legend.getBBox().height);
    await Plotly.relayout(place, {height: wanted.height + lines, 'margin.b': wanted.margin.b + lines});
  }
  async function draw() {
    for (const place of places()) {
      const drawn = chart(place);
      drawn.layout.template = looks[dark.matches ? 'dark' : 'light'];
      await Plotly.react(place, drawn.data, drawn.layout, {responsive: true, displaylogo: false});
      await fit(place);
    }
    document.body.dataset.drawn = places().length;
  }
  dark.addEventListener('change', draw);
  addEventListener('resize', () => places().forEach(fit));
  draw();
})();
""".replace("LOOKS", json.dumps(LOOKS))


def available():
    return graph_objects is not None


def library():
    """Returns the scripts of a page with charts."""
    return f"<script>{plotly.offline.get_plotlyjs()}</script>"


def number(value):
    """Formats a figure: an integer, or a value of at least 100, without decimals; a value of at least 1 with one
    decimal; a value below 1 with two significant digits. A missing value is a dash."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


class Axis:
    """An axis: its title, whether it is logarithmic, the unit of its values, and its ends and ticks if they are
    fixed."""

    def __init__(self, title, *, log=False, unit="", least=None, most=None, ticks=None):
        self.title, self.log, self.unit, self.least, self.most, self.ticks = title, log, unit, least, most, ticks

    def ends(self, values, head=0.0):
        """Returns the two ends of the axis. The range contains all values, and leaves the fraction `head` of the axis
        free at the upper end."""
        values = [value for value in values if value is not None and (value > 0 or not self.log)] or [1]
        place = math.log10 if self.log else float
        low = place(min(values) if self.least is None else self.least)
        high = place(max(values) if self.most is None else self.most)
        if not self.log and self.least is None and low > 0:
            low = 0.0
        room = max(high - low, 0.3 if self.log else abs(high) * 0.1 or 1.0)
        below = 0.03 * room if self.least is None and (self.log or low < 0) else 0
        return [low - below, low + room / (1 - head) + (0.04 * room if head == 0 else 0)]

    def layout(self, ends):
        shown = {"type": "log" if self.log else "linear", "title": {"text": self.title, "standoff": 8},
                 "automargin": True, "range": ends}
        if self.ticks:
            return shown | {"tickvals": self.ticks, "ticktext": [number(tick) for tick in self.ticks]}
        # Labels of ticks are whole numbers. By default plotly labels some ticks with their first digit, 2,000 with a 2.
        return shown | ({"tickformat": ",.4~r", "nticks": max(3, math.ceil(ends[1] - ends[0]))} if self.log else {})


class Chart:
    """A chart: rows of axes that share one horizontal axis. Series of the same name share one entry in the legend."""

    def __init__(self, rows, x, y, *, height=300, gap=46, legend=True):
        self.rows = list(rows)  # titles of the rows; [""]: one row without a title
        self.x, self.y = x, y
        self.height, self.gap = height, gap  # height of a row; gap between rows, for the title of the lower row
        self.traces, self.names, self.legend = [], set(), legend
        self.values = {row: [] for row in self.rows}
        self.labels = {row: [] for row in self.rows}  # labels of bars, from the top
        self.sums = {}                                # sums of stacked parts, by row and label
        self.marks = []                               # (value, text), reference lines from top to bottom
        self.levels = []                              # (row, value, text), reference lines from left to right

    def trace(self, row, xs, ys, name, **look):
        if not xs:
            return
        shown = bool(name) and name not in self.names
        self.names.add(name)
        self.traces.append((row, {"x": list(xs), "y": list(ys), "name": name, "legendgroup": name,
                                  "showlegend": shown, **look}))

    def hover(self, name):
        return (f"{html.escape(name)}<br>%{{x:,.4~g}} {self.x.unit}<br>%{{y:,.4~g}} {self.y.unit}<extra></extra>")

    def line(self, row, points, name, colour, *, dash="solid", width=2, mode="lines", symbol="circle", **more):
        points = [point for point in points if None not in point]
        self.values[row] += points
        self.trace(row, [x for x, _ in points], [y for _, y in points], name, type="scatter", mode=mode,
                   line={"color": COLOURS[colour], "dash": dash, "width": width},
                   marker={"color": COLOURS[colour], "size": 6 if symbol == "circle" else 8, "symbol": symbol},
                   hovertemplate=self.hover(name), **more)

    def dots(self, row, points, name, colour, **more):
        self.line(row, points, name, colour, mode="markers", **more)

    def bars(self, row, bars, name=""):
        """Adds bars (label, value, text, colour) from the top; a bar without a value shows its text only."""
        for label, value, _, _ in bars:
            if label not in self.labels[row]:
                self.labels[row].append(label)
            self.values[row].append((value, None))
        self.trace(row, [value or self.x.least or 0 for _, value, _, _ in bars], [label for label, _, _, _ in bars],
                   name, type="bar", orientation="h", marker={"color": [COLOURS[bar[3]] for bar in bars]},
                   text=[text for _, _, text, _ in bars], hovertemplate="%{y}<br>%{text}<extra></extra>",
                   cliponaxis=False, textposition="outside", textangle=0)

    def parts(self, row, parts, name, colour):
        """Adds parts (label, value), stacked on the parts of earlier calls with the same label."""
        for label, value in parts:
            if label not in self.labels[row]:
                self.labels[row].append(label)
            self.sums[row, label] = self.sums.get((row, label), 0) + (value or 0)
            self.values[row].append((self.sums[row, label], None))
        self.trace(row, [value or 0 for _, value in parts], [label for label, _ in parts], name, type="bar",
                   orientation="h", marker={"color": COLOURS[colour]}, text=["" for _ in parts],
                   hovertemplate=f"%{{y}}: {html.escape(name)}<br>%{{x:,.4~g}} {self.x.unit}<extra></extra>")

    def spans(self, row, label, spans, texts, colour):
        """Draws spans (begin, end) on the row of the label; a tick marks the begin, so that short spans are visible."""
        if label not in self.labels[row]:
            self.labels[row].append(label)
        xs, shown = [], []
        for (begin, end), text in zip(spans, texts):
            self.values[row] += [(begin, None), (end, None)]
            xs += [begin, end, None]
            shown += [text, text, ""]
        self.trace(row, xs, [label] * len(xs), "", type="scatter", mode="lines+markers", connectgaps=False, text=shown,
                   line={"color": COLOURS[colour], "width": 9},
                   marker={"color": COLOURS[colour], "symbol": "line-ns", "size": 9,
                           "line": {"color": COLOURS[colour], "width": 1}},
                   hovertemplate="%{y}, %{x:.3f} ms<br>%{text}<extra></extra>")

    def points(self, row, points, name, colour, *, symbol="circle", spread=None, size=10, opacity=1):
        """Adds points (label, value), each on the row of its label; spread: (below, above) for each point."""
        pairs = [(point, ends) for point, ends in zip(points, spread or [None] * len(points)) if point[1] is not None]
        for (label, value), _ in pairs:
            if label not in self.labels[row]:
                self.labels[row].append(label)
            self.values[row].append((value, None))
        more = {}
        if spread:
            self.values[row] += [(value + ends[1], None) for (_, value), ends in pairs]
            more = {"error_x": {"type": "data", "symmetric": False, "color": COLOURS[colour], "thickness": 1.5,
                                "array": [ends[1] for _, ends in pairs], "arrayminus": [ends[0] for _, ends in pairs]}}
        self.trace(row, [point[1] for point, _ in pairs], [point[0] for point, _ in pairs], name, type="scatter",
                   mode="markers", opacity=opacity,
                   marker={"color": COLOURS[colour], "symbol": symbol, "size": size,
                           "line": {"color": COLOURS[colour], "width": 2 if "open" in symbol else 0}},
                   hovertemplate=f"%{{y}}: {html.escape(name)}<br>%{{x:,.4~g}} {self.x.unit}<extra></extra>", **more)

    def mark(self, value, text):
        """Adds a vertical line with a label, for a published figure or a limit."""
        self.marks.append((value, text))

    def level(self, row, value, text):
        """Adds a horizontal line with a label, in one row."""
        self.levels.append((row, value, text))

    def x_ends(self, head):
        values = [x for points in self.values.values() for x, _ in points]
        return self.x.ends(values + [value for value, _ in self.marks], head)

    def add_marks(self, figure, ends, heights):
        """Draws the vertical lines up to their labels. The labels are on one side, in an order in which no line crosses
        a label."""
        placed = [(math.log10(value) if self.x.log else value, value, text) for value, text in sorted(self.marks)]
        width = NARROW / (ends[1] - ends[0])
        left = all((at - ends[0]) * width > LABEL_LETTER * len(text) for at, _, text in placed)
        for place, (at, value, text) in enumerate(placed if left else placed[::-1]):
            for row, height in enumerate(heights, 1):
                figure.add_shape(type="line", x0=value, x1=value, y0=0, xref="x", line=MARK, layer="below",
                                 y1=1 + LABEL * (place + 1) / height if row == 1 else 1,
                                 yref=f"y{row if row > 1 else ''} domain")
            figure.add_annotation(x=at, y=1, xref="x", yref="paper", yanchor="bottom", showarrow=False, text=text,
                                  xanchor="right" if left else "left", font={"size": 11}, yshift=LABEL * place)

    def add_levels(self, figure):
        for row, value, text in self.levels:
            axis = "" if row == self.rows[0] else str(self.rows.index(row) + 1)
            figure.add_shape(type="line", x0=0, x1=1, y0=value, y1=value, xref="paper", yref=f"y{axis}",
                             line=MARK, layer="below")
            figure.add_annotation(x=1, y=math.log10(value) if self.y.log else value, xref="paper", yref=f"y{axis}",
                                  xanchor="right", yanchor="bottom", showarrow=False, text=text, font={"size": 11})

    def add_axes(self, figure, ends):
        for place, row in enumerate(self.rows, 1):
            last = place == len(self.rows)
            shown = self.x.layout(ends)
            if not last:
                shown["title"] = {"text": ""}
            figure.update_xaxes(row=place, col=1, showticklabels=last, **shown)
            if self.labels[row]:
                figure.update_yaxes(row=place, col=1, type="category", automargin=True, categoryorder="array",
                                    categoryarray=self.labels[row][::-1], dtick=1, title={"text": ""},
                                    range=[-0.5, len(self.labels[row]) - 0.5])
                continue
            values = [y for _, y in self.values[row]] + [value for which, value, _ in self.levels if which == row]
            shown = {"nticks": max(3, self.height // 40)} | self.y.layout(self.y.ends(values))
            if self.height < LOW:
                shown["title"] = shown["title"] | {"font": {"size": 10}}
            figure.update_yaxes(row=place, col=1, **shown)

    def figure(self, head):
        heights = [max(24 * len(self.labels[row]), 40) if self.labels[row] else self.height for row in self.rows]
        # plotly's buttons are beside a short title, and above a long title, which needs more space at the top.
        top = MARGINS["t"] + LABEL * len(self.marks) + (24 if len(self.rows[0]) <= LONG_TITLE else 48)
        inner = sum(heights) + self.gap * (len(heights) - 1)
        figure = make_subplots(rows=len(heights), cols=1, shared_xaxes=True, row_heights=heights,
                               vertical_spacing=self.gap / inner if len(heights) > 1 else 0)
        for row, shown in self.traces:
            figure.add_trace(shown, row=self.rows.index(row) + 1, col=1)
        ends = self.x_ends(head)
        self.add_axes(figure, ends)
        self.add_marks(figure, ends, heights)
        self.add_levels(figure)
        for place, row in enumerate(self.rows):
            axis = "yaxis" if place == 0 else f"yaxis{place + 1}"
            figure.add_annotation(x=0, y=figure.layout[axis].domain[1], xref="paper", yref="paper", xanchor="left",
                                  yanchor="bottom", showarrow=False, text=f"<b>{html.escape(row)}</b>",
                                  yshift=2 + (LABEL * len(self.marks) if place == 0 else 0))
        figure.update_layout(template=None, height=inner + top + MARGINS["b"], bargap=0.25,
                             barmode="stack" if self.sums else "overlay",
                             showlegend=self.legend and bool(self.names - {""}),
                             margin=MARGINS | {"t": top}, hovermode="closest",
                             legend={"orientation": "h", "x": 0, "xanchor": "left", "yanchor": "top",
                                     "y": (4 - MARGINS["b"]) / inner, "font": {"size": 12}})
        return figure

    def head(self):
        """Returns the fraction of a narrow chart's horizontal axis that the texts at the ends of bars need."""
        texts = [len(text) for _, shown in self.traces if shown["type"] == "bar" for text in shown["text"]]
        return min(0.6, (LETTER * max(texts) + 10) / NARROW) if texts else 0.0

    def html(self, caption=""):
        """Returns the chart as HTML; empty if there is nothing to draw."""
        if not self.traces or not available():
            return ""
        data = self.figure(self.head()).to_json().replace("</", "<\\/")
        shown = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
        return (f'<figure><script type="application/json">{data}</script><div class="chart"></div>{shown}</figure>')
