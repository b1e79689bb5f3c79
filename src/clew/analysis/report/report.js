"use strict";
// Sorting: each section of a table by itself, so that a task's rows stay together.
function value(row, column) {
  const text = row.cells[column].dataset.value;
  const number = Number(text);
  return text !== "" && Number.isFinite(number) ? number : text;
}
function compare(a, b) {
  const kinds = [typeof a, typeof b];
  if (kinds[0] !== kinds[1]) return kinds[0] === "number" ? -1 : 1;
  return kinds[0] === "number" ? a - b : a.localeCompare(b);
}
function sort(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("section"));
    rows.sort((a, b) => (down ? -1 : 1) * compare(value(a, column), value(b, column)));
    body.append(...rows);
  }
}
for (const table of document.querySelectorAll("table.data")) {
  const heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
  [...heads].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(table, head, column));
  });
}

// Printing shows every table.
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
});

// A seed: its run and the command for its film.
const card = document.getElementById("seed");
function choose(dot) {
  document.querySelectorAll("circle.chosen").forEach((d) => d.classList.remove("chosen"));
  card.hidden = !dot;
  if (!dot) return;
  dot.classList.add("chosen");
  const { seed, success, run } = dot.dataset;
  const [said, command] = card.querySelectorAll("p, code");
  said.textContent = `${dot.parentNode.dataset.arm}, seed ${seed}: success ${success}. `
    + (run ? "Its film:" : "It was read from a table, so there is no film.");
  command.textContent = run ? `clew show ${run}${card.dataset.store && ` --store ${card.dataset.store}`}` : "";
}
card.querySelector("button").addEventListener("click", () => choose(null));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });
for (const svg of document.querySelectorAll(".arms svg")) {
  svg.addEventListener("click", (event) => { if (event.target.matches("circle")) choose(event.target); });
  svg.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const dots = [...svg.querySelectorAll("circle")];
    if (!way || !dots.length) return;
    event.preventDefault();
    const now = dots.findIndex((dot) => dot.classList.contains("chosen"));
    choose(dots[now < 0 ? 0 : (now + way + dots.length) % dots.length]);
  });
}

// Curves: drawn from the data in the page, as the form says.
const source = document.getElementById("data");
if (source) {
  const data = JSON.parse(source.textContent);
  const NS = "http://www.w3.org/2000/svg";
  const L = 26, T = 8, B = 24, GAP = 18, LEAST = 250;
  const make = (tag, attributes, text) => {
    const node = document.createElementNS(NS, tag);
    for (const [name, v] of Object.entries(attributes)) node.setAttribute(name, v);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const select = document.getElementById("task");
  data.tasks.forEach((task, i) => select.append(new Option(task.label, i)));
  const choice = (box, name, label, swatch) => {
    const node = document.createElement("label");
    const input = document.createElement("input");
    input.type = "checkbox"; input.checked = true; input.value = name;
    node.append(input, " ");
    if (swatch) node.append(swatch);
    node.append(` ${label}`);
    document.getElementById(box).append(node);
  };
  for (const bonus of data.bonuses) {
    const swatch = make("svg", { viewBox: "0 0 26 8", class: "swatch" });
    swatch.append(make("path", { class: "line", d: "M0 4H26", style: `--c:${bonus.colour}`, "stroke-dasharray": bonus.dash }));
    choice("bonuses", bonus.name, bonus.label, swatch);
  }
  data.architectures.forEach((name) => choice("architectures", name, name));
  const chosen = (box) => new Set([...document.querySelectorAll(`#${box} input:checked`)].map((i) => i.value));

  const panel = (architecture, arms, last, W) => {
    const H = Math.min(300, Math.max(160, Math.round(0.55 * W))), R = 12 + 9 * data.bonuses.length;
    const figure = document.createElement("figure");
    figure.style.width = `${W}px`;
    const caption = document.createElement("figcaption");
    caption.textContent = architecture;
    const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${architecture}: success` });
    const x = (step) => L + (step / last) * (W - L - R);
    const y = (v) => T + (1 - v / 1000) * (H - T - B);
    for (const [v, label] of [[0, "0"], [500, ".5"], [1000, "1"]]) {
      svg.append(make("path", { class: "rule", d: `M${L} ${y(v)}H${W - R}` }));
      svg.append(make("text", { class: "tick", x: L - 5, y: y(v) + 4 }, label));
    }
    const [unit, of] = last < 1e6 ? ["k", 1e3] : ["M", 1e6];
    for (const part of [0, 0.5, 1]) {
      svg.append(make("text", { class: "side", x: x(part * last), y: H - 6 }, part ? `${+(part * last / of).toPrecision(3)} ${unit}` : "0"));
    }
    arms.forEach((arm) => {
      const bonus = data.bonuses.find((b) => b.name === arm.bonus);
      const group = make("g", { style: `--c:${bonus.colour}` });
      const line = (values) => arm.steps.map((s, i) => [s, values[i]]).filter((p) => p[1] !== null);
      const path = (points) => points.map(([s, v]) => `${x(s).toFixed(1)} ${y(v).toFixed(1)}`).join("L");
      const low = line(arm.low), high = line(arm.high);
      if (low.length && high.length) group.append(make("path", { class: "band", d: `M${path(high)}L${path([...low].reverse())}Z` }));
      const mean = make("path", { class: "line", d: `M${path(line(arm.mean))}`, "stroke-dasharray": bonus.dash });
      mean.append(make("title", {}, `${architecture}, ${bonus.label}`));
      group.append(mean);
      arm.seeds.forEach((v) => {
        const dot = make("circle", { class: "dot", cx: W - R + 8 + 9 * data.bonuses.indexOf(bonus), cy: y(v), r: 2.5 });
        dot.append(make("title", {}, `${architecture}, ${bonus.label}: ${(v / 1000).toFixed(3)}`));
        group.append(dot);
      });
      svg.append(group);
    });
    figure.append(caption, svg);
    return figure;
  };
  const box = document.getElementById("panels");
  const draw = () => {
    const task = data.tasks[select.value];
    const bonuses = chosen("bonuses"), architectures = chosen("architectures");
    const last = Math.max(...task.arms.flatMap((arm) => arm.steps));
    const shown = data.architectures.filter((a) => architectures.has(a))
      .map((a) => [a, task.arms.filter((arm) => arm.architecture === a && bonuses.has(arm.bonus))])
      .filter(([, arms]) => arms.length);
    const across = Math.max(1, Math.min(shown.length, Math.floor((box.clientWidth + GAP) / (LEAST + GAP))));
    const width = Math.min(640, Math.floor((box.clientWidth - GAP * (across - 1)) / across));
    box.replaceChildren(...shown.map(([a, arms]) => panel(a, arms, last, width)));
  };
  document.getElementById("filter").addEventListener("change", draw);
  let width = box.clientWidth;
  window.addEventListener("resize", () => { if (box.clientWidth !== width) { width = box.clientWidth; draw(); } });
  draw();
}
