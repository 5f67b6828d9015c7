"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const column = Object.fromEntries(data.columns.map((name, place) => [name, place]));
  const number = new Intl.NumberFormat(document.documentElement.lang, { maximumSignificantDigits: 4 });
  const shown = (value) => value === null ? "–" : typeof value === "number" ? number.format(value)
    : typeof value === "boolean" ? (value ? data.texts.yes : data.texts.no) : String(value);
  const charts = [];
  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return { fg: read("--fg"), soft: read("--soft"), line: read("--line"), series: [0, 1, 2, 3, 4, 5, 6, 7].map((n) => read("--c" + n)) };
  };
  const shapes = ["circle", "rect", "triangle", "rectRot", "cross", "star", "crossRot", "dash"];
  const marks = { circle: "●", rect: "■", triangle: "▲", rectRot: "◆", cross: "+", star: "✱", crossRot: "×", dash: "–" };
  // Beside the chart and not in it: long names wrap, and the plot keeps its room on a telephone.
  const legend = (id, datasets) => document.querySelector(`[data-chart="${id}"]`).replaceChildren(...datasets.map((entry) => {
    const item = document.createElement("li"), mark = document.createElement("span");
    mark.textContent = entry.borderDash ? "- -" : marks[entry.pointStyle] || "■";
    mark.style.color = entry.backgroundColor;
    mark.ariaHidden = "true";
    item.append(mark, " " + entry.label);
    return item;
  }));
  // 1, 2 and 5 of each power of ten: the marks that people expect on a logarithmic axis.
  const round = (value) => [1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(6)));
  const axis = (title, type, palette) => ({ type, title: { display: true, text: title, color: palette.soft },
    ticks: type === "linear" ? { color: palette.soft, maxTicksLimit: 8, callback: (value) => number.format(value) }
      : { color: palette.soft, autoSkip: false, callback: (value) => round(value) ? number.format(value) : null },
    grid: { color: palette.line } });
  const options = (x, y, palette, extra) => ({ responsive: true, maintainAspectRatio: false, animation: false,
    plugins: { legend: { display: false },
      tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${shown(item.parsed.x)} / ${shown(item.parsed.y)}` } } },
    scales: { x, y }, ...extra });
  const scatter = (id, series, xTitle, yTitle, scale, frontier) => {
    const canvas = document.getElementById(id);
    if (!canvas || !series.length) return;
    const palette = colours();
    const datasets = series.map((entry, place) => ({ label: entry.label, data: entry.points.map(([x, y]) => ({ x, y })), showLine: true,
      borderWidth: 2, pointRadius: 3, pointStyle: shapes[place % 8], borderColor: palette.series[place % 8], backgroundColor: palette.series[place % 8] }));
    if (frontier.length) datasets.unshift({ label: data.texts.frontier, data: frontier.map(([x, y]) => ({ x, y })), showLine: true,
      borderDash: [6, 4], borderWidth: 2, pointRadius: 0, borderColor: palette.fg, backgroundColor: palette.fg });
    legend(id, datasets);
    charts.push(new Chart(canvas, { type: "scatter", data: { datasets },
      options: options(axis(xTitle, scale, palette), axis(yTitle, scale, palette), palette, {}) }));
  };
  const ledger = (id) => {
    const canvas = document.getElementById(id);
    if (!canvas || !data.ledger.rows.length) return;
    const palette = colours();
    const datasets = data.ledger.terms.map((term, place) => ({ label: term.label, data: data.ledger.rows.map((row) => row.gib[place]),
      backgroundColor: term.name === "slack_bytes" ? palette.line : palette.series[place % 8] }));
    const x = { ...axis(data.texts.gib, "linear", palette), stacked: true };
    const y = { stacked: true, ticks: { color: palette.soft, autoSkip: false }, grid: { display: false } };
    const callbacks = { label: (item) => `${item.dataset.label}: ${shown(item.parsed.x)} GiB` };
    const chart = { ...options(x, y, palette, { indexAxis: "y" }) };
    chart.plugins.tooltip = { callbacks };
    legend(id, datasets);
    charts.push(new Chart(canvas, { type: "bar", data: { labels: data.ledger.rows.map((row) => row.lines), datasets }, options: chart }));
  };
  const draw = () => {
    while (charts.length) charts.pop().destroy();
    scatter("speed", data.speed, data.texts.perUser, data.texts.perGpu, "linear", data.frontier);
    scatter("cost", data.cost, data.texts.batch, data.texts.cost, "logarithmic", []);
    scatter("arrivals_cost", data.arrivals_cost, data.texts.arrivals, data.texts.cost, "logarithmic", []);
    scatter("arrivals_wait", data.arrivals_wait, data.texts.arrivals, data.texts.wait, "logarithmic", []);
    ledger("ledger");
  };
  const table = () => {
    const size = 25, body = document.querySelector("#rows tbody"), place = document.getElementById("place");
    const filters = [...document.querySelectorAll("select[data-column]")];
    const numeric = new Set(data.columns.filter((name) => data.rows.some((row) => typeof row[column[name]] === "number")));
    document.querySelectorAll("#rows th").forEach((cell, place) => cell.classList.toggle("n", numeric.has(data.columns[place])));
    let start = 0;
    for (const filter of filters) {
      const values = [...new Set(data.rows.map((row) => row[column[filter.dataset.column]]))];
      for (const value of values) filter.append(new Option(shown(value), String(value)));
    }
    const fill = () => {
      const rows = data.rows.filter((row) => filters.every((filter) => !filter.value || String(row[column[filter.dataset.column]]) === filter.value));
      start = Math.max(0, Math.min(start, Math.floor(Math.max(0, rows.length - 1) / size) * size));
      body.replaceChildren(...rows.slice(start, start + size).map((row) => {
        const line = document.createElement("tr");
        for (const name of data.columns) {
          const cell = line.insertCell(), value = row[column[name]];
          cell.textContent = shown(value);
          if (numeric.has(name)) cell.className = "n";
        }
        return line;
      }));
      place.textContent = rows.length ? `${start + 1}–${Math.min(start + size, rows.length)} / ${rows.length}` : "0";
    };
    for (const filter of filters) filter.addEventListener("change", () => { start = 0; fill(); });
    document.getElementById("back").addEventListener("click", () => { start -= size; fill(); });
    document.getElementById("on").addEventListener("click", () => { start += size; fill(); });
    fill();
  };
  draw();
  table();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
})();
