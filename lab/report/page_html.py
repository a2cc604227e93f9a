# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the pages of all experiments share: the frame, the conclusion on top, tables, and the command line."""
import html
import json
import sys

import plot
from plot import number as figure_text

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1260px; margin: 2em auto; padding: 0 1em; color: var(--ink);
       background: var(--back); }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font-size: 12px; margin: 0.6em 0; display: block; overflow-x: auto; }
th { text-align: right; font-weight: 600; border-bottom: 1px solid var(--dim); padding: 3px 6px;
     vertical-align: bottom; }
th.l { text-align: left; } td { padding: 2px 6px; border-bottom: 1px solid var(--grid); white-space: nowrap; }
td.r { text-align: right; font-variant-numeric: tabular-nums; }
.held { color: var(--good); } .FAILED { color: var(--bad); }
figure { margin: 0.6em 0; } figcaption, p.note { color: var(--dim); } svg { max-width: 100%; height: auto; }
.panels { display: flex; flex-wrap: wrap; gap: 8px; } .legend { display: flex; flex-wrap: wrap; gap: 4px 16px; }
.legend i { display: inline-block; width: 22px; margin-right: 6px; vertical-align: middle; }
p.conclusion { font-size: 1.15em; border-left: 4px solid var(--blue); padding-left: 0.8em; }
p.warning { background: var(--warn); padding: 0.5em 0.8em; }
"""


def themes():
    return (f":root {{ color-scheme: light dark; {plot.variables('light')} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {plot.variables('dark')} }} }}\n")


def verdict_list(data):
    items = []
    for verdict in data["verdicts"]:
        kind = html.escape(verdict["outcome"])
        items.append(f'<li><b class="{kind}">{kind}</b>: {html.escape(verdict["claim"])}. '
                     f'{html.escape(verdict["figures"])}</li>')
    return "<ul>" + "".join(items) + "</ul>"


def conclusion(data, sentence):
    """The line on top: what this run shows on this machine, and how the verdicts fell."""
    counts = {}
    for verdict in data["verdicts"]:
        counts[verdict["outcome"]] = counts.get(verdict["outcome"], 0) + 1
    verdicts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    fell = f" Of what it must show: {verdicts}." if verdicts else ""
    return f"<p class='conclusion'>{html.escape(sentence)}{html.escape(fell)}</p>"


def warning(text):
    return f"<p class='warning'>{html.escape(text)}</p>" if text else ""


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


def largest(rows, key):
    values = [row[key] for row in rows if row.get(key) is not None]
    return max(values) if values else None


def machine_text(data):
    machine = data["machine"]
    return (f"{html.escape(machine['cpu_model'])}, {machine['cpus']} CPUs, Linux {html.escape(machine['kernel'])}, "
            f"rtrcu {html.escape(data['version'])}, seed {data['args']['seed']}.")


def page_text(name, heading, parts):
    return "".join([
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>rtrcu {name}</title>"
        "<meta name='viewport' content='width=device-width'><style>", themes(), STYLE, plot.STYLE,
        f"</style></head><body><h1>{heading}</h1>", *parts,
        "<p class='note'>Point at a line or a bar to read its values.</p></body></html>\n"])


def main(page, arguments, figures=None):
    """figures(data): SVG by name, written in both themes beside the page."""
    if len(arguments) != 3:
        sys.stderr.write(f"usage: {arguments[0]} DATA.json PAGE.html\n")
        return 2
    with open(arguments[1], encoding="utf-8") as file:
        data = json.load(file)
    with open(arguments[2], "w", encoding="utf-8") as file:
        file.write(page(data))
    stem = arguments[2].removesuffix(".html")
    for name, svg in (figures(data) if figures else {}).items():
        for theme in plot.THEMES:
            with open(f"{stem}-{name}-{theme}.svg", "w", encoding="utf-8") as file:
                file.write(plot.alone(svg, theme))
    return 0
