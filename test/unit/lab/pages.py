#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the HTML pages of the experiments, from small made-up results: summaries, warnings and charts.

usage: pages.py SOURCE_DIR [drawn]
drawn: in headless Chromium, in windows of 1200 and 600 pixels, check that all charts are drawn and no text is cut off.
Exit 0 no fault, 1 a fault, 2 wrong usage, 77 no page was checked: no plotly, or no Chromium.
"""
import html
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True

import page_data

SKIPPED = 77
WIDTHS = (1200, 600)
CHART = re.compile(r'<script type="application/json">(.*?)</script><div class="chart">', re.S)
# For each page: texts that it must contain for the made-up results, and its number of charts.
EXPECTED = {
    "latency": (["unbounded by 1,088 µs of CPU time (30,000 callbacks begun late)", "daemon never",
                 "noise determines", "1 held, 1 not reproduced", "what inline does", "fifo: ordinary",
                 "505 (3 to 3)"], 12),
    "expedited": (["2,746 µs on average", "151 µs for a real-time worker", "noise"], 5),
    "blocked": (["97,719 iterations per second", "+46 %", "noise"], 5),
    "overhead": (["100 ns of CPU time with base and 60.0 ns with ltimer", "1 of 2 engines took less than base"], 4),
    "scale": (["gp_scan", "4,096 CPUs", "0.06</td><td class=\"r\">≤ 1x</td><td class=\"r\">2 of 3"], 9),
}
# Texts that the charts of a page must contain.
DRAWN = {"latency": ("unbounded: worst sample 1,500 µs late", "30,000 callbacks", "1,500 µs late", "after 0.3 s",
                     "the worst sample is due", "callbacks wait"),
         "expedited": ("2022: mean with a workqueue", "bar of p99: 1 ms"),
         "blocked": ("2026: mean hold with the node's list",),
         "overhead": ("equal to base",), "scale": ("16 read, in one leaf", "cache-line transfers per callback")}
# Runs in a window that shows every page in a frame of each width, and writes the faults as JSON into #found.
WATCH = """
const wrong = [], frames = [...document.querySelectorAll('iframe')];
function look(frame) {
  const inside = frame.contentDocument, name = frame.title;
  for (const picture of inside.querySelectorAll('svg.main-svg')) {
    const box = picture.getBoundingClientRect();
    if (box.width === 0)
      continue;
    for (const text of picture.querySelectorAll('text')) {
      const own = text.getBoundingClientRect();
      if (own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 ||
                            own.bottom > box.bottom + 1))
        wrong.push(name + ': text outside its picture: ' + text.textContent);
    }
  }
  const asked = inside.querySelectorAll('div.chart').length;
  const drawn = inside.querySelectorAll('div.js-plotly-plot').length;
  if (asked !== drawn || inside.body.dataset.drawn !== String(asked))
    wrong.push(name + ': ' + drawn + ' of ' + asked + ' charts are drawn');
}
async function watch() {
  for (const frame of frames)
    for (let i = 0; i < 200 && !(frame.contentDocument?.body?.dataset.drawn); i++)
      await new Promise((resolve) => setTimeout(resolve, 100));
  frames.forEach(look);
  document.body.innerHTML = '<pre id="found"></pre>';
  document.getElementById('found').textContent = JSON.stringify({looked: frames.length, wrong: wrong});
}
addEventListener('load', watch);
"""


def documents(root):
    return {"latency": page_data.latency(root), "expedited": page_data.expedited(root),
            "blocked": page_data.blocked(root), "overhead": page_data.overhead(root), "scale": None}


def run_script(root, folder, name, data, environment=None):
    """Run the script of the page @name on @data; return its exit code and the page's path."""
    page = folder / f"{name}.html"
    if name == "scale":
        inputs = {"bench": page_data.bench(), "lines": page_data.lines()}
        script = root / "bench/report/scale_html.py"
    else:
        inputs, script = {name: data}, root / f"lab/report/{name}_html.py"
    files = []
    for stem, content in inputs.items():
        files.append(folder / f"{stem}.json")
        files[-1].write_text(json.dumps(content), encoding="utf-8")
    done = subprocess.run([sys.executable, script, *files, page], check=False, env=environment)
    return done.returncode, page


def finite(values):
    return any(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


def chart_faults(chart):
    """Traces without a value, and invalid colours."""
    faults = [] if chart["data"] else ["a chart without traces"]
    for trace in chart["data"]:
        if not (finite(trace.get("x", [])) or finite(trace.get("y", []))) or len(trace["x"]) != len(trace["y"]):
            faults.append(f"nothing in '{trace.get('name')}'")
        for colour in re.findall(r'"color": "([^"]*)"', json.dumps(trace)):
            faults += [f"colour {colour}"] * (re.fullmatch("#[0-9a-f]{6}", colour) is None)
    return faults


def axis_faults(chart):
    """Numeric axes without a title, and logarithmic axes whose tick labels between powers of ten lose their zeros."""
    faults = []
    axes = {name: axis for name, axis in chart["layout"].items() if re.fullmatch(r"[xy]axis\d*", name)}
    for name, axis in axes.items():
        if axis.get("type") == "log" and not (axis.get("tickformat") or axis.get("tickvals")):
            faults.append(f"{name}: a tick at 2,000 reads 2")
        seen = axis.get("type") != "category" and (name[0] == "y" or axis.get("showticklabels"))
        if seen and not axis.get("title", {}).get("text"):
            faults.append(f"{name} has no title")
    return faults


def charts_of(page):
    return [json.loads(text.replace("<\\/", "</")) for text in CHART.findall(page)]


def page_faults(name, page, drawn):
    texts, count = EXPECTED[name]
    wrong = [f"no '{text}'" for text in texts if text not in html.unescape(page)]
    wrong += [word for word in ("nan", ">None<", "another <claim>", " in </td>") if word in page.split("</head>")[1]]
    charts = charts_of(page)
    if len(charts) != (count if drawn else 0):
        wrong.append(f"{len(charts)} charts")
    said = json.dumps(charts, ensure_ascii=False)
    wrong += [f"no chart has '{text}'" for text in DRAWN[name] if drawn and text not in html.unescape(said)]
    for chart in charts:
        wrong += chart_faults(chart) + axis_faults(chart)
    return [f"{name}: {what}" for what in wrong]


def tables_alone(root, folder):
    """Without plotly a page has its tables and names the missing package, and the script exits with 3."""
    hidden = folder / "hidden" / "plotly"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(hidden.parent)}
    wrong = []
    for name, data in documents(root).items():
        code, path = run_script(root, folder, name, data, environment)
        page = path.read_text(encoding="utf-8")
        wrong += page_faults(name, page, False)
        wrong += [f"{name}: exit {code} without plotly"] * (code != 3)
        wrong += [f"{name}: does not say what to install"] * ("apt-get install python3-plotly" not in page)
        wrong += [f"{name}: no table without plotly"] * ("<table>" not in page)
        wrong += [f"{name}: a heading without content"] * (re.search(r"</h2>(<h2>|</body>)", page) is not None)
    return wrong


# Keys that identify a row, and so always have a value.
SUBJECTS = {"burst", "readers", "tasks", "experiments", "threads", "rounds", "count"}


def sparse(data):
    """The same document without any measured figure."""
    def emptied(row):
        return {key: None if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in SUBJECTS
                else value for key, value in row.items()}
    lists = [name for name, rows in data.items() if rows and isinstance(rows, list) and name != "curves"]
    return data | {name: [emptied(row) for row in data[name]] for name in lists}


def with_charts(root, folder):
    wrong = []
    for name, data in documents(root).items():
        if data:
            code, _ = run_script(root, folder, name, sparse(data))
            wrong += [f"{name}: exit {code} of a document without figures"] * (code != 0)
    for name, data in documents(root).items():
        code, path = run_script(root, folder, name, data)
        wrong += [f"{name}: exit {code}"] * (code != 0)
        wrong += page_faults(name, path.read_text(encoding="utf-8"), True)
    quiet = run_script(root, folder, "latency", page_data.latency(root, noisy=False))[1].read_text(encoding="utf-8")
    wrong += ["latency: a warning on a quiet machine"] * ("noise determines" in quiet)
    wrong += fifo_alone(root, folder)
    # The checks must find these faults.
    empty = {"data": [{"name": "empty", "x": [], "y": []}, {"x": [1], "y": [2], "line": {"color": "var(--#1f77b4)"}}]}
    wrong += ["an empty trace and a wrong colour pass"] * (len(chart_faults(empty)) != 2)
    bare = {"layout": {"xaxis": {"type": "log", "showticklabels": True, "title": {"text": "µs"}}, "yaxis": {}}}
    wrong += ["a tick without its zeros and an axis without a title pass"] * (len(axis_faults(bare)) != 2)
    return wrong


def fifo_alone(root, folder):
    """Faults of the page of a run that measured the workload fifo only."""
    data = page_data.latency(root)
    data = {name: [] if isinstance(value, list) else value for name, value in data.items()} | {
        "fifo": data["fifo"], "verdicts": data["verdicts"],
        "curves": [curve for curve in data["curves"] if curve["workload"] == "fifo"]}
    code, path = run_script(root, folder, "latency", data)
    page = html.unescape(path.read_text(encoding="utf-8"))
    wrong = [f"fifo alone: exit {code}"] * (code != 0) + [f"fifo alone: {len(charts_of(page))} charts"] * (
        len(charts_of(page)) != 1)
    for text in ("peak backlog after 0.3 s is, in callbacks: rtrcu 505, ordinary 5,556.", "0.75 times the work"):
        wrong += [f"fifo alone: no '{text}'"] * (text not in page)
    for text in ("UseLinux 2004", "All figures", "Noise floor", "An event loop"):
        wrong += [f"fifo alone: '{text}' of the event loop"] * (text in page.split("</head>")[1])
    return wrong


def pictures(root, folder):
    """Faults of the pictures of README.md and docs/scale.md, in both themes."""
    wrong = []
    for name, data, text in (("flood", page_data.latency(root), "30,000 late"), ("idle", page_data.bench(), "rtrcu"),
                             ("lines", page_data.lines(), "flat, all")):
        (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
        code = subprocess.run([sys.executable, root / "lab/report/picture.py", name, folder / "data.json",
                               folder / name], check=False).returncode
        if code == 3:
            print("no python3-matplotlib: the pictures were not checked")
            return wrong
        for theme in ("light", "dark"):
            file = folder / f"{name}-{theme}.svg"
            picture = file.read_text(encoding="utf-8") if file.exists() else "<svg/>"
            xml.fromstring(picture)
            wrong += [f"picture {name}, {theme}: exit {code}, no '{text}'"] * (text not in picture)
    return wrong


def in_chromium(chromium, folder, pages):
    """Faults that Chromium finds in @pages, a list of (title, path)."""
    frames = "".join(f'<iframe title="{title} at {width}" src="{path.name}" width="{width}" height="900"></iframe>'
                     for title, path in pages for width in WIDTHS)
    watcher = folder / "watch.html"
    watcher.write_text(f"<!doctype html><meta charset='utf-8'><body>{frames}<script>{WATCH}</script>", encoding="utf-8")
    profile = folder / "profile"
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         f"--user-data-dir={profile}", "--virtual-time-budget=60000", "--dump-dom", watcher.as_uri()],
        check=False, capture_output=True, text=True, timeout=240)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    if not found:
        return [f"no result from Chromium: {done.stderr[-500:]}"]
    found = json.loads(html.unescape(found[1]))
    return found["wrong"] + ["frames are missing"] * (found["looked"] != len(pages) * len(WIDTHS))


def as_drawn(root, folder, chromium):
    pages = [(name, run_script(root, folder, name, data)[1]) for name, data in documents(root).items()]
    # A page whose first chart has a label that the right edge cuts off: the check must find it.
    broken = folder / "broken.html"
    text = pages[1][1].read_text(encoding="utf-8")
    broken.write_text(text.replace('"annotations":[{', '"annotations":[{"text":"cut off","x":1.05,"y":1,"xref":"paper",'
                                   '"yref":"paper","xanchor":"left","showarrow":false},{', 1), encoding="utf-8")
    found = in_chromium(chromium, folder, [*pages, ("broken", broken)])
    wrong = [what for what in found if not what.startswith("broken")]
    seen = [what for what in found if what.startswith("broken") and what.endswith(": cut off")]
    return wrong + ["a label that is cut off passes"] * (len(seen) != len(WIDTHS))


def has_plotly():
    return any(subprocess.run([python, "-c", "import plotly"], check=False, capture_output=True).returncode == 0
               for python in (sys.executable, "/usr/bin/python3") if shutil.which(python))


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["drawn"]):
        sys.stderr.write(f"usage: {arguments[0]} SOURCE_DIR [drawn]\n")
        return 2
    root = pathlib.Path(arguments[1])
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    drawn = len(arguments) == 3
    if drawn and not (chromium and has_plotly()):
        print("no page was checked: there is no " + ("Chromium" if not chromium else "python3-plotly"))
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if drawn:
            wrong = as_drawn(root, folder, chromium)
        else:
            wrong = tables_alone(root, folder) + (with_charts(root, folder) if has_plotly() else [])
            wrong += pictures(root, folder)
            if not has_plotly():
                print("no python3-plotly: the charts were not checked")
    print("\n".join(wrong + [f"{len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
