"use strict";
/* A report's charts by workload, and its table. The same script is in the file and on the page; nothing is asked of the network. */
(() => {
  const source = document.getElementById("report-data");
  if (!source) return;
  const data = JSON.parse(source.textContent), T = data.texts;
  const DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3], [12, 5], [2, 6]];
  const [LOAD, USER_LOW, USER, USER_HIGH, GPU_LOW, GPU, GPU_HIGH, COST_LOW, COST, COST_HIGH, WAIT, MEETS] = Array(12).keys();
  const lang = document.documentElement.lang;
  const four = new Intl.NumberFormat(lang, { maximumSignificantDigits: 4 });
  const two = new Intl.NumberFormat(lang, { maximumSignificantDigits: 2 });
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const make = (tag, set = {}, ...inside) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(set)) name.startsWith("on") ? node.addEventListener(name.slice(2), value) : name === "class" ? node.className = value : node[name] = value;
    node.append(...inside);
    return node;
  };
  const fade = (colour, alpha) => colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
  const drawn = [];

  /* Lines with words across a chart: targets and prices of APIs. */
  const marks = { id: "marks", afterDatasetsDraw(chart, _args, options) {
    const { ctx, chartArea: box, scales } = chart;
    ctx.save();
    ctx.font = "600 12px system-ui, sans-serif";
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 3]);
    (options.list || []).forEach((mark, place) => {
      const scale = scales[mark.axis], at = scale.getPixelForValue(mark.at);
      if (!(at >= (mark.axis === "x" ? box.left : box.top) - 1 && at <= (mark.axis === "x" ? box.right : box.bottom) + 1)) return;
      ctx.strokeStyle = ctx.fillStyle = mark.colour;
      ctx.beginPath();
      if (mark.axis === "x") { ctx.moveTo(at, box.top); ctx.lineTo(at, box.bottom); } else { ctx.moveTo(box.left, at); ctx.lineTo(box.right, at); }
      ctx.stroke();
      const width = ctx.measureText(mark.words).width;
      const x = mark.axis === "x" ? Math.min(at + 4, box.right - width) : place % 2 ? box.right - width - 2 : box.left + 4;
      const y = mark.axis === "x" ? box.top + 12 : at - 4;
      ctx.fillStyle = css("--bg");
      ctx.fillRect(x - 2, y - 11, width + 4, 14);
      ctx.fillStyle = mark.colour;
      ctx.fillText(mark.words, x, y);
    });
    ctx.restore();
  } };
  const round = (value) => [1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(6)));
  const axis = (title, type, extra = {}) => ({ type, title: { display: true, text: title, color: css("--soft") }, grid: { color: css("--line") },
    ticks: type === "linear" ? { color: css("--soft"), maxTicksLimit: 8, callback: (value) => four.format(value) }
      : { color: css("--soft"), autoSkip: false, callback: (value) => round(value) ? four.format(value) : null }, ...extra });
  const put = (canvas, x, y, datasets, list, words, indexAxis = "x", stacked = false) => {
    if (stacked) { x.stacked = true; y.stacked = true; }
    drawn.push(new Chart(canvas, { type: stacked ? "bar" : "scatter", plugins: [marks], data: datasets, options: {
      responsive: true, maintainAspectRatio: false, animation: false, indexAxis, scales: { x, y },
      plugins: { marks: { list }, legend: { display: stacked, position: "bottom", labels: { color: css("--soft"), boxWidth: 12, boxHeight: 12 } },
        tooltip: { filter: (item) => !item.dataset.quiet, callbacks: { label: words } } } } }));
  };

  const chosen = data.groups.map((group) => ({ gpus: new Set(group.gpus.keys()), variants: new Set(group.variants.keys()), band: group.series[0]?.gpu ?? -1 }));
  const shown = (place) => data.groups[place].series.filter((one) => chosen[place].gpus.has(one.gpu) && chosen[place].variants.has(one.variant));
  const datasetsOf = (place, x, y, low, high, xLow, xHigh) => {
    const group = data.groups[place], list = [];
    let banded = false;
    for (const one of shown(place)) {
      const colour = css("--c" + group.gpus[one.gpu].colour), points = one.points.filter((point) => point[x] !== null && point[y] !== null);
      if (!points.length) continue;
      const label = group.gpus[one.gpu].name + (group.variants.length > 1 ? ", " + group.variants[one.variant] : "");
      list.push({ label, showLine: true, borderColor: colour, borderWidth: 2, borderDash: DASHES[one.variant % DASHES.length], pointRadius: 3, pointBorderWidth: 1.5,
        pointBorderColor: colour, pointBackgroundColor: points.map((point) => point[MEETS] === false ? css("--bg") : colour),
        data: points.map((point) => ({ x: point[x], y: point[y], load: point[LOAD] })) });
      if (one.gpu !== chosen[place].band || banded) continue;
      banded = true;
      const area = { quiet: true, showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 0, backgroundColor: fade(colour, .16), label: T.band };
      const ends = points.filter((point) => point[low] !== null && point[high] !== null);
      list.push({ ...area, order: 9, fill: "shape", data: [...ends.map((point) => ({ x: point[xLow], y: point[low] })), ...[...ends].reverse().map((point) => ({ x: point[xHigh], y: point[high] }))] });
    }
    return list;
  };
  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    data.groups.forEach((group, place) => {
      const panel = document.getElementById("p" + place), canvas = (name) => panel.querySelector(`[data-chart=${name}]`);
      const words = (item) => `${item.dataset.label}, ${four.format(item.raw.load)}: ${two.format(item.parsed.x)} / ${two.format(item.parsed.y)}`;
      const speed = datasetsOf(place, USER, GPU, GPU_LOW, GPU_HIGH, USER_LOW, USER_HIGH);
      if (group.frontier.length) speed.push({ label: T.frontier, quiet: true, order: 8, showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 12, borderCapStyle: "round",
        borderJoinStyle: "round", borderColor: fade(css("--fg"), .16), data: group.frontier.map(([x, y]) => ({ x, y })) });
      const target = group.target ? [{ axis: "x", at: group.target, words: group.targetWords, colour: css("--c4") }] : [];
      put(canvas("speed"), axis(T.perUser, "linear", { min: 0 }), axis(T.perGpu, "linear", { min: 0 }), { datasets: speed }, target, words);
      const apis = group.apis.map((api) => ({ axis: "y", at: api.cost, words: `${api.name} API ${two.format(api.cost)}`, colour: css("--fg") }));
      const load = group.arrivals ? T.arrivals : T.users, cost = datasetsOf(place, LOAD, COST, COST_LOW, COST_HIGH, LOAD, LOAD);
      const every = cost.flatMap((set) => set.data.map((point) => point.y)).concat(group.apis.map((api) => api.cost)).filter((value) => value > 0);
      const span = every.length ? { min: Math.min(...every) * .8, max: Math.max(...every) * 1.25 } : {};
      put(canvas("cost"), axis(load, "logarithmic"), axis(`${group.currency || ""} ${T.cost}`, "logarithmic", span), { datasets: cost }, apis, words);
      if (canvas("wait")) put(canvas("wait"), axis(T.arrivals, "logarithmic"), axis(T.wait, "logarithmic"), { datasets: datasetsOf(place, LOAD, WAIT, WAIT, WAIT, LOAD, LOAD).filter((set) => !set.quiet) }, [], words);
      if (canvas("memory")) put(canvas("memory"), axis(T.gib, "linear"), { stacked: true, ticks: { color: css("--soft"), autoSkip: false }, grid: { display: false } },
        { labels: group.memory.map((one) => one.name), datasets: data.terms.map((term, number) => ({ label: term, data: group.memory.map((one) => one.gib[number]),
          backgroundColor: number === data.terms.length - 1 ? css("--line") : css("--c" + number) })) }, [], (item) => `${item.dataset.label}: ${four.format(item.parsed.x)} GiB`, "y", true);
      const hidden = [...group.gpus.filter((_one, number) => !chosen[place].gpus.has(number)).map((one) => one.name), ...group.variants.filter((_one, number) => !chosen[place].variants.has(number))];
      document.querySelector(`[data-left="${place}"]`).textContent = [hidden.length ? `${T.hidden} ${hidden.join(", ")}.` : "", group.left].filter(Boolean).join(" ");
    });
  };

  /* Lists to choose what is drawn: colour is the GPU, dash is what differs of engine, precision and split. */
  data.groups.forEach((group, place) => {
    const box = document.querySelector(`[data-pick="${place}"]`);
    const list = (title, names, set, mark) => make("fieldset", {}, make("legend", {}, title), ...names.map((name, number) => make("label", {},
      make("input", { type: "checkbox", checked: true, onchange: (event) => { event.target.checked ? set.add(number) : set.delete(number); draw(); } }), mark(number), name)));
    const dash = (number) => {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [name, value] of Object.entries({ x1: 0, y1: 5, x2: 26, y2: 5, "stroke-dasharray": DASHES[number % DASHES.length].join(" ") })) line.setAttribute(name, value);
      svg.setAttribute("aria-hidden", "true");
      svg.append(line);
      return svg;
    };
    box.append(list(T.colour, group.gpus.map((one) => one.name), chosen[place].gpus, (number) => make("span", { class: `dot c${group.gpus[number].colour}`, ariaHidden: "true" })));
    if (group.variants.length > 1) box.append(list(T.dash, group.variants, chosen[place].variants, dash));
    const select = make("select", { onchange: (event) => { chosen[place].band = Number(event.target.value); draw(); } },
      ...group.gpus.map((one, number) => new Option(one.name, number, false, number === chosen[place].band)), new Option(T.none, -1));
    box.append(make("label", {}, T.band + " ", select));
  });

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const open = (tab) => {
    for (const one of tabs) {
      const on = one === tab;
      one.setAttribute("aria-selected", on);
      one.tabIndex = on ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = !on;
    }
    drawn.forEach((chart) => chart.resize());
  };
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length];
      open(next);
      next.focus();
    });
  });

  const table = data.table, columns = table.columns, at = (name) => columns.findIndex((column) => column.name === name);
  const head = document.querySelector("#rows thead tr"), body = document.querySelector("#rows tbody"), place = document.getElementById("place"), more = document.getElementById("more");
  const filters = [...document.querySelectorAll("select[data-column]")];
  const SIZE = 20;
  let size = SIZE, by = at("cost_per_mtok_output_mid") >= 0 ? at("cost_per_mtok_output_mid") : at("row_index"), up = true;
  const written = (value) => value === null ? "–" : typeof value === "number" ? four.format(value) : String(value);
  columns.forEach((column, number) => head.append(make("th", { scope: "col", class: column.text ? "" : "n", title: column.name, ariaSort: "none" },
    make("button", { type: "button", onclick: () => { up = by === number ? !up : true; by = number; fill(); } }, column.label))));
  for (const filter of filters) {
    const values = [...new Set(table.rows.map((row) => row[at(filter.dataset.column)]))];
    for (const value of values) filter.append(new Option(written(value), written(value)));
    filter.addEventListener("change", () => { size = SIZE; fill(); });
  }
  const compare = (a, b) => {
    const x = a[by], y = b[by];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = (x > y) - (x < y);
    return up ? order : -order;
  };
  const fill = () => {
    const rows = table.rows.filter((row) => filters.every((filter) => !filter.value || written(row[at(filter.dataset.column)]) === filter.value)).sort(compare);
    [...head.children].forEach((cell, number) => cell.setAttribute("aria-sort", number === by ? (up ? "ascending" : "descending") : "none"));
    body.replaceChildren(...rows.slice(0, size).map((row) => make("tr", {}, ...columns.map((column, number) => make("td", { class: column.text ? "" : "n" }, written(row[number]))))));
    place.textContent = `${Math.min(size, rows.length)} ${T.of} ${rows.length} ${T.shown}`;
    more.hidden = size >= rows.length;
  };
  more.addEventListener("click", () => { size += SIZE * 5; fill(); });

  /* On paper: the charts of every workload, and every row. */
  const closed = () => document.querySelectorAll("[role=tabpanel]");
  addEventListener("beforeprint", () => {
    for (const panel of closed()) { panel.dataset.was = panel.hidden; panel.hidden = false; }
    size = Infinity;
    fill();
    draw();
  });
  addEventListener("afterprint", () => {
    for (const panel of closed()) panel.hidden = panel.dataset.was === "true";
    size = SIZE;
    fill();
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  fill();
})();
