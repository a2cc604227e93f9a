# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts of the pages of all experiments: the frame, the conclusion, tables, and the command line."""
import html
import json
import os
import sys

import charts
from charts import number as figure_text

EXIT_NO_CHARTS = 3  # the page has been written, with its tables alone
INSTALL = "apt-get install python3-plotly"
# Debian's packages are visible to Debian's interpreter only; another interpreter may precede it in PATH.
SYSTEM_PYTHON = "/usr/bin/python3"
THEMES = {
    "light": {"ink": "#222222", "dim": "#666666", "grid": "#dddddd", "back": "#ffffff", "blue": "#1f6fb4",
              "good": "#1a7f37", "bad": "#b3121f", "warn": "#fff3d6"},
    "dark": {"ink": "#e6e6e6", "dim": "#a8a8a8", "grid": "#3a3f44", "back": "#16191c", "blue": "#6cb2ee",
             "good": "#5ccf7d", "bad": "#ff8a93", "warn": "#40351a"},
}
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
figure { margin: 0.6em 0; } figcaption, p.note { color: var(--dim); }
p.conclusion { font-size: 1.15em; border-left: 4px solid var(--blue); padding-left: 0.8em; }
a { color: var(--blue); }
p.warning { background: var(--warn); padding: 0.5em 0.8em; }
"""


def themes():
    def colours(theme):
        return "".join(f"--{name}: {value};" for name, value in THEMES[theme].items())
    return (f":root {{ color-scheme: light dark; {colours('light')} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {colours('dark')} }} }}\n")


def section(heading, *parts):
    """Returns a section of the page as HTML; empty if no part has content."""
    text = "".join(parts)
    return f"<h2>{html.escape(heading)}</h2>{text}" if text else ""


def verdict_list(data):
    items = []
    for verdict in data["verdicts"]:
        kind = html.escape(verdict["outcome"])
        items.append(f'<li><b class="{kind}">{kind}</b>: {html.escape(verdict["claim"])}. '
                     f'{html.escape(verdict["figures"])}</li>')
    return "<ul>" + "".join(items) + "</ul>" if items else ""


def conclusion(data, sentence):
    """Returns the first line of the page: the result on this machine, and the number of verdicts of each kind."""
    counts = {}
    for verdict in data["verdicts"]:
        counts[verdict["outcome"]] = counts.get(verdict["outcome"], 0) + 1
    verdicts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    fell = f" Verdicts: {verdicts}." if verdicts else ""
    return f"<p class='conclusion'>{html.escape(sentence)}{html.escape(fell)}</p>"


def warning(text):
    return f"<p class='warning'>{html.escape(text)}</p>" if text else ""


def table(titles, rows, text_columns=1):
    if not rows:
        return ""
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
    """Returns the page. The first part comes before the note about charts; the last part explains the names."""
    drawn = charts.available()
    about = ("<p class='note'>Point at a chart to read its values, drag in it to enlarge a part, click a name in its "
             "legend to hide it. <a href='#names'>The meaning of the names</a> is at the end.</p>"
             if drawn else warning(f"The charts need python3-plotly: {INSTALL}"))
    return "".join([
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>rtrcu {name}</title>"
        "<meta name='viewport' content='width=device-width'><style>", themes(), STYLE, charts.STYLE, "</style>",
        charts.library() if drawn else "", f"</head><body><h1>{heading}</h1>", parts[0], about, *parts[1:-1],
        "<div id='names'></div>", parts[-1],
        f"<script>{charts.SCRIPT}</script>" if drawn else "", "</body></html>\n"])


def find_library(available):
    """Starts the script again under Debian's interpreter if this interpreter does not find plotly."""
    if not available and sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])


def written(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0 if charts.available() else EXIT_NO_CHARTS


def main(page, arguments):
    if len(arguments) != 3:
        sys.stderr.write(f"usage: {arguments[0]} DATA.json PAGE.html\n")
        return 2
    find_library(charts.available())
    with open(arguments[1], encoding="utf-8") as file:
        data = json.load(file)
    return written(arguments[2], page(data))
