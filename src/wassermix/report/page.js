"use strict";
// On paper nothing can be opened, so everything is.
(() => {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
})();
// A table that does not fit becomes a card for each row; on paper all are tables again.
(() => {
  const fit = () => {
    for (const table of document.querySelectorAll("table.wide")) {
      table.classList.remove("stacked");
      const box = table.parentElement;
      if (box.scrollWidth > box.clientWidth + 1) table.classList.add("stacked");
    }
  };
  addEventListener("resize", () => requestAnimationFrame(fit));
  addEventListener("afterprint", fit);
  addEventListener("beforeprint", () => document.querySelectorAll(".stacked").forEach((one) => one.classList.remove("stacked")));
  document.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", fit));
  fit();
})();
// Every table can be taken along: as Markdown by the clipboard, as a CSV file.
(() => {
  const words = (cell) => [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(" ").replace(/\s+/g, " ");
  const lines = (table) => [...table.rows].map((row) => [...row.cells].map(words));
  const markdown = (table) => {
    const safe = (text) => text.replace(/[\\|<]/g, (found) => (found === "<" ? "&lt;" : `\\${found}`));
    const [head, ...rest] = lines(table).map((cells) => `| ${cells.map(safe).join(" | ")} |`);
    return [head, `|${" --- |".repeat(table.rows[0].cells.length)}`, ...rest].join("\n") + "\n";
  };
  const csv = (table) => {
    const plain = (text) => (/^[=@]/.test(text) || (/^[+-]/.test(text) && Number.isNaN(Number(text))) ? `'${text}` : text);  // no formula
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return lines(table).map((cells) => cells.map((text) => quoted(plain(text))).join(",")).join("\r\n") + "\r\n";
  };
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60)}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const name = (node, label, about) => {
    node.textContent = label;
    node.setAttribute("aria-label", `${label}: ${about}`);
  };
  const button = (label, about, act) => {
    const node = document.createElement("button");
    node.type = "button";
    node.setAttribute("aria-live", "polite");  // what became of a click is said aloud
    name(node, label, about);
    node.addEventListener("click", () => act(node));
    return node;
  };
  for (const table of document.querySelectorAll(".scroll > table")) {
    const about = table.getAttribute("aria-label");
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      button("Copy as Markdown", about, (node) => copy(markdown(table)).then(
        () => name(node, "Copied", about), () => name(node, "Copying is not allowed here", about))),
      button("CSV", about, () => save(csv(table), about)),
    );
    table.parentElement.after(tools);
  }
})();
// The slider: one place on a geodesic, shown as pictures, as a point on the model's curve, and as what it predicts.
(() => {
  const block = document.getElementById("explorer-data");
  const mount = document.getElementById("explorer");
  if (!block || !mount) return;
  const data = JSON.parse(block.textContent);
  const MEASURES = { kl: "KL to the mixed label (nats)", loss: "Cross-entropy (nats)", accuracy: "Accuracy" };
  const SHARES = [["as_source", "--s5"], ["as_target", "--s3"], ["as_other", "--s7"]];
  const BOX = { left: 52, right: 12, top: 14, bottom: 40, width: 460, height: 270 };
  const images = data.sheets.map(() => null);
  let timer = null;

  const make = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const draw = (name, attributes = {}, text = null) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    return node;
  };
  const choice = (id, words, options) => {
    const select = make("select", { id });
    options.forEach(([value, text]) => select.append(make("option", { value }, text)));
    return [make("label", { for: id }, words, select), select];
  };

  const [runLabel, run] = choice("explorer-run", "Run", data.series.map((one, i) => [i, one.run]));
  const [pairLabel, pair] = choice("explorer-pair", "From one class to another", []);
  const [measureLabel, measure] = choice("explorer-measure", "Show", Object.entries(MEASURES));
  const canvas = make("canvas", { class: "stage", role: "img", id: "explorer-stage" });
  const nothing = make("p", { class: "nothing" }, "No pictures are stored for this pair; the curve shows it all the same.");
  const chart = draw("svg", { class: "chart", viewBox: `0 0 ${BOX.width} ${BOX.height}`, role: "img", id: "explorer-chart" });
  const key = make("p", { class: "key" }, ...data.series.map((one) =>
    make("span", {}, make("span", { class: `swatch series${one.colour}`, "aria-hidden": "true" }), one.run)));
  const reading = make("p", { class: "reading", id: "explorer-reading" });
  const says = make("div", { class: "says" });
  const slider = make("input", { type: "range", id: "explorer-time", min: 0, step: 1, value: 0, "aria-label": "Place on the geodesic" });
  const from = make("span", { class: "end" });
  const to = make("span", { class: "end" });
  const play = make("button", { type: "button", id: "explorer-play" }, "Play");
  mount.append(
    make("div", { class: "controls" }, runLabel, pairLabel, measureLabel),
    make("div", { class: "travel" }, from, slider, to, play),
    make("div", {}, canvas, nothing),
    make("div", {}, reading, chart, key, says),
  );

  const series = () => data.series[Number(run.value)];
  const chosen = () => series().pairs[Number(pair.value)];
  const times = () => (chosen().pictures ? chosen().pictures.times : chosen().t);
  const now = () => times()[Number(slider.value)];
  const same = (one, other) => one.source === other.source && one.target === other.target;
  const at = (one, key, t) => {
    const x = one.t, y = one[key];
    let i = x.findIndex((value) => value >= t);
    if (i < 0) return y[y.length - 1];
    if (i === 0) return y[0];
    const share = (t - x[i - 1]) / (x[i] - x[i - 1]);
    return y[i - 1] + share * (y[i] - y[i - 1]);
  };
  const shown = (value) => (measure.value === "accuracy" ? `${(100 * value).toFixed(1)}%` : value.toFixed(3));
  const percent = (value) => `${(100 * value).toFixed(0)}%`;

  const steps = (top) => {
    const rough = top / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= rough);
    return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step);
  };
  let scale = null;
  const place = (t, value) => [
    BOX.left + t * (BOX.width - BOX.left - BOX.right),
    BOX.height - BOX.bottom - (value / scale) * (BOX.height - BOX.top - BOX.bottom),
  ];
  const path = (one) => one.t.map((t, i) => `${i ? "L" : "M"}${place(t, one[measure.value][i]).map((v) => v.toFixed(1)).join(" ")}`).join("");

  const drawChart = () => {
    const rivals = data.series.map((one) => one.pairs.find((other) => same(other, chosen())));
    const highest = Math.max(...rivals.filter(Boolean).flatMap((one) => one[measure.value]), 1e-6);
    scale = measure.value === "accuracy" ? 1 : highest * 1.08;
    chart.replaceChildren();
    for (const value of steps(scale)) {
      const [, y] = place(0, value);
      chart.append(draw("line", { class: "axis", x1: BOX.left, x2: BOX.width - BOX.right, y1: y, y2: y }));
      const text = measure.value === "accuracy" ? percent(value) : String(Number(value.toPrecision(3)));
      chart.append(draw("text", { x: BOX.left - 8, y: y + 4, "text-anchor": "end" }, text));
    }
    for (const t of [0, 0.25, 0.5, 0.75, 1]) {
      const [x] = place(t, 0);
      chart.append(draw("text", { x, y: BOX.height - BOX.bottom + 17, "text-anchor": "middle" }, t));
    }
    chart.append(draw("text", { x: (BOX.left + BOX.width) / 2, y: BOX.height - 5, "text-anchor": "middle" }, "t"));
    rivals.forEach((one, i) => {
      if (one && i !== Number(run.value)) chart.append(line(one, i, "other"));
    });
    chart.append(line(chosen(), Number(run.value), "chosen"));
    chart.append(draw("line", { class: "now", id: "explorer-now" }));
    chart.append(draw("circle", { class: "marker", id: "explorer-marker", r: 7, style: `fill: var(--s${series().colour})` }));
  };
  const line = (one, i, kind) => {
    const node = draw("path", { class: kind, d: path(one), style: `stroke: var(--s${data.series[i].colour})` });
    node.append(draw("title", {}, data.series[i].run));
    return node;
  };

  const image = (number) => {
    if (!images[number]) {
      images[number] = new Image();
      images[number].addEventListener("load", drawStage);
      images[number].src = data.sheets[number];
    }
    return images[number];
  };
  const drawStage = () => {
    const look = chosen().pictures;
    canvas.hidden = !look;
    nothing.hidden = Boolean(look);
    if (!look) return;
    const picture = image(look.sheet);
    const [height, width] = look.size, count = look.samples;
    const columns = count < 2 ? 1 : count < 5 ? 2 : 3, rows = Math.ceil(count / columns);
    const grow = Math.max(1, Math.round(200 / width));
    const gap = 6, stepX = width * grow + gap, stepY = height * grow + gap;
    canvas.width = columns * stepX - gap;
    canvas.height = rows * stepY - gap;
    canvas.setAttribute("aria-label", `${count} samples at t = ${now().toFixed(2)} from class ${chosen().source} to class ${chosen().target}`);
    if (!picture.complete) return;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    const column = Number(slider.value);
    for (let i = 0; i < count; i += 1) {
      pen.drawImage(picture, column * width, i * height, width, height,
        (i % columns) * stepX, Math.floor(i / columns) * stepY, width * grow, height * grow);
    }
  };

  const move = () => {
    const t = now(), one = chosen(), value = at(one, measure.value, t);
    const [x, y] = place(t, value), [, floor] = place(t, 0);
    const marker = document.getElementById("explorer-marker"), upright = document.getElementById("explorer-now");
    marker.setAttribute("cx", x.toFixed(2));
    marker.setAttribute("cy", y.toFixed(2));
    for (const [key, v] of [["x1", x], ["x2", x], ["y1", BOX.top], ["y2", floor]]) upright.setAttribute(key, v.toFixed(2));
    reading.replaceChildren(MEASURES[measure.value], " of ", make("b", {}, series().run), " at t = ", make("b", {}, t.toFixed(2)), ": ", make("b", {}, shown(value)));
    const words = { as_source: `says ${one.source}`, as_target: `says ${one.target}`, as_other: "says another" };
    says.replaceChildren(...SHARES.map(([key, colour]) => {
      const share = at(one, key, t);
      const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", { style: `width: ${(100 * share).toFixed(1)}%; background: var(${colour})` }));
      return make("div", {}, make("span", {}, words[key]), bar, make("span", { class: "amount" }, percent(share)));
    }));
    const spoken = SHARES.map(([key]) => `${words[key]} ${percent(at(one, key, t))}`).join(", ");
    slider.setAttribute("aria-valuetext", `t ${t.toFixed(2)}, ${measure.value} ${shown(value)}; ${spoken}`);
    chart.setAttribute("aria-label", `${MEASURES[measure.value]} from ${one.source} to ${one.target}; at t = ${t.toFixed(2)} it is ${shown(value)}`);
    drawStage();
  };
  const choosePair = () => {
    const old = slider.max > 0 ? slider.value / slider.max : 0;
    slider.max = times().length - 1;
    slider.value = Math.round(old * slider.max);
    from.textContent = chosen().source;
    to.textContent = chosen().target;
    drawChart();
    move();
  };
  const peak = (one) => (one.pictures ? 1e9 : 0) + Math.max(...one.kl);
  const worst = (pairs) => pairs.reduce((best, one, i) => (peak(one) > peak(pairs[best]) ? i : best), 0);
  const group = (label, names, wanted) => {
    const node = make("optgroup", { label });
    names.forEach((name, i) => { if (wanted(series().pairs[i])) node.append(make("option", { value: i }, name)); });
    return node;
  };
  const chooseRun = () => {
    const before = pair.options.length ? pair.options[pair.selectedIndex].textContent : null;
    const names = series().pairs.map((one) => `${one.source} → ${one.target}`);
    const groups = [group("with pictures", names, (one) => one.pictures), group("curves only", names, (one) => !one.pictures)];
    pair.replaceChildren(...groups.filter((node) => node.children.length));
    pair.value = names.includes(before) ? names.indexOf(before) : worst(series().pairs);
    choosePair();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (Number(slider.value) >= Number(slider.max)) return stop();
      slider.value = Number(slider.value) + 1;
      move();
    }, 2500 / Math.max(1, Number(slider.max)));
  });
  slider.addEventListener("input", () => { stop(); move(); });
  run.addEventListener("change", chooseRun);
  pair.addEventListener("change", choosePair);
  measure.addEventListener("change", () => { drawChart(); move(); });
  slider.max = 0;
  mount.classList.add("ready");
  chooseRun();
  slider.value = Math.round(Number(slider.max) / 2);
  move();
})();
// The way to new data: its pictures at one time, chosen by a slider; without a script the whole strip stands there.
(() => {
  for (const figure of document.querySelectorAll("figure.way")) {
    const way = JSON.parse(figure.dataset.way), strip = figure.querySelector("img");
    const [height, width] = way.size, grow = Math.max(1, Math.round(90 / width)), gap = 6;
    const canvas = document.createElement("canvas"), slider = document.createElement("input");
    const reading = document.createElement("p"), travel = document.createElement("div");
    const end = (text) => Object.assign(document.createElement("span"), { className: "end", textContent: text });
    canvas.className = "stage";
    canvas.setAttribute("role", "img");
    canvas.width = way.samples * (width * grow + gap) - gap;
    canvas.height = height * grow;
    Object.assign(slider, { type: "range", min: 0, max: way.t.length - 1, step: 1, value: way.t.length - 1 });
    slider.setAttribute("aria-label", "Place between the reference and the new data");
    reading.className = "reading";
    travel.className = "travel";
    travel.append(end("reference"), slider, end("new"));
    const percent = (share) => `${(100 * share).toFixed(1)}%`;
    const move = () => {
      const step = Number(slider.value), pen = canvas.getContext("2d");
      pen.imageSmoothingEnabled = false;
      for (let i = 0; i < way.samples; i += 1) {
        pen.drawImage(strip, step * width, i * height, width, height, i * (width * grow + gap), 0, width * grow, height * grow);
      }
      const shares = way.accuracy ? `: carried labels agree on ${percent(way.accuracy[step])}, confidence ${percent(way.confidence[step])}` : "";
      reading.textContent = `At t = ${way.t[step].toFixed(2)}${shares}.`;
      slider.setAttribute("aria-valuetext", reading.textContent);
      canvas.setAttribute("aria-label", `${way.samples} samples at t = ${way.t[step].toFixed(2)} between the reference and the new data`);
    };
    slider.addEventListener("input", move);
    strip.before(travel, canvas, reading);
    if (strip.complete) move(); else strip.addEventListener("load", move);
  }
})();
