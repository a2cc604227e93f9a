# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the pages of all experiments share: the frame, tables, the look of plots, and the command line."""
import html
import io
import json
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

NO_PLOTS = 3  # exit code: there is no matplotlib; the page has the tables and says what to install

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1240px; margin: 2em auto; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font-size: 12px; margin: 0.6em 0; display: block; overflow-x: auto; }
th { text-align: right; font-weight: 600; border-bottom: 1px solid #888; padding: 3px 6px; vertical-align: bottom; }
th.l { text-align: left; } td { padding: 2px 6px; border-bottom: 1px solid #eee; white-space: nowrap; }
td.r { text-align: right; font-variant-numeric: tabular-nums; } .held { color: #1a7f37; } .FAILED { color: #c1121f; }
svg { max-width: 100%; height: auto; } p.note { color: #555; }
"""


def verdict_list(data):
    items = []
    for verdict in data["verdicts"]:
        kind = html.escape(verdict["outcome"])
        items.append(f'<li><b class="{kind}">{kind}</b>: {html.escape(verdict["claim"])}. '
                     f'{html.escape(verdict["figures"])}</li>')
    return "<ul>" + "".join(items) + "</ul>"


def svg_of(figure):
    """The figure as inline SVG; text stays text."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight")
    pyplot.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]


def plain_axis(axis, title, x, y):
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def figure_text(value):
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) < 100:
        return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"
    return f"{value:,.0f}"


def table(titles, rows, text_columns=1):
    cells = ["<table><thead><tr>"]
    cells += [f'<th class="{"l" if i < text_columns else "r"}">{html.escape(t)}</th>' for i, t in enumerate(titles)]
    cells.append("</tr></thead><tbody>")
    for row in rows:
        cells.append("<tr>")
        for column, value in enumerate(row):
            kind = "l" if column < text_columns else "r"
            cells.append(f'<td class="{kind}">{html.escape(str(value))}</td>')
        cells.append("</tr>")
    cells.append("</tbody></table>")
    return "".join(cells)


def rows_of(data, name):
    return [row for row in data["rows"] if row["table"] == name]


def plots_or_hint(data, plots):
    if pyplot is None:
        return "<p>No plots: matplotlib is not installed (Debian package python3-matplotlib).</p>"
    return plots(data)


def machine_text(data):
    machine = data["machine"]
    return (f"{html.escape(machine['cpu_model'])}, {machine['cpus']} CPUs, Linux {html.escape(machine['kernel'])}, "
            f"rtrcu {html.escape(data['version'])}, seed {data['args']['seed']}.")


def page_text(name, heading, parts):
    return "".join([
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>rtrcu {name}</title><style>", STYLE,
        f"</style></head><body><h1>{heading}</h1>", *parts, "</body></html>\n"])


def main(page, arguments):
    if len(arguments) != 3:
        sys.stderr.write(f"usage: {arguments[0]} DATA.json PAGE.html\n")
        return 2
    with open(arguments[1], encoding="utf-8") as file:
        data = json.load(file)
    with open(arguments[2], "w", encoding="utf-8") as file:
        file.write(page(data))
    return 0 if pyplot else NO_PLOTS
