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

// Curves: drawn from the data in the page, as the form says.
const source = document.getElementById("data");
if (source) {
  const data = JSON.parse(source.textContent);
  const NS = "http://www.w3.org/2000/svg";
  const W = 250, H = 150, L = 26, R = 34, T = 6, B = 22;
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
    swatch.append(make("path", { d: "M0 4H26", stroke: bonus.colour, "stroke-width": 2.5, "stroke-dasharray": bonus.dash }));
    choice("bonuses", bonus.name, bonus.label, swatch);
  }
  data.architectures.forEach((name) => choice("architectures", name, name));
  const chosen = (box) => new Set([...document.querySelectorAll(`#${box} input:checked`)].map((i) => i.value));

  const panel = (architecture, arms, last) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = architecture;
    const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${architecture}: success` });
    const x = (step) => L + (step / last) * (W - L - R);
    const y = (v) => T + (1 - v / 1000) * (H - T - B);
    for (const [v, label] of [[0, "0"], [500, ".5"], [1000, "1"]]) {
      svg.append(make("path", { class: "rule", d: `M${L} ${y(v)}H${W - R}` }));
      svg.append(make("text", { class: "tick", x: L - 5, y: y(v) + 3 }, label));
    }
    for (const part of [0, 0.5, 1]) {
      svg.append(make("text", { class: "side", x: x(part * last), y: H - 6 }, `${+(part * last / 1e6).toPrecision(3)} M`));
    }
    arms.forEach((arm) => {
      const bonus = data.bonuses.find((b) => b.name === arm.bonus);
      const line = (values) => arm.steps.map((s, i) => [s, values[i]]).filter((p) => p[1] !== null);
      const path = (points) => points.map(([s, v]) => `${x(s).toFixed(1)} ${y(v).toFixed(1)}`).join("L");
      const low = line(arm.low), high = line(arm.high);
      if (low.length && high.length) svg.append(make("path", { d: `M${path(high)}L${path([...low].reverse())}Z`, fill: bonus.colour, opacity: 0.16 }));
      const mean = make("path", { class: "mean", d: `M${path(line(arm.mean))}`, stroke: bonus.colour, "stroke-dasharray": bonus.dash });
      mean.append(make("title", {}, `${architecture}, ${bonus.label}`));
      svg.append(mean);
      arm.seeds.forEach((v) => {
        const dot = make("circle", { class: "seed", cx: W - R + 7 + 8 * data.bonuses.indexOf(bonus), cy: y(v), r: 1.9, fill: bonus.colour });
        dot.append(make("title", {}, `${architecture}, ${bonus.label}: ${(v / 1000).toFixed(3)}`));
        svg.append(dot);
      });
    });
    figure.append(caption, svg);
    return figure;
  };
  const draw = () => {
    const task = data.tasks[select.value];
    const bonuses = chosen("bonuses"), architectures = chosen("architectures");
    const last = Math.max(...task.arms.flatMap((arm) => arm.steps));
    const shown = data.architectures.filter((a) => architectures.has(a)).map((a) => [a, task.arms.filter((arm) => arm.architecture === a && bonuses.has(arm.bonus))]);
    document.getElementById("panels").replaceChildren(...shown.filter(([, arms]) => arms.length).map(([a, arms]) => panel(a, arms, last)));
  };
  document.getElementById("filter").addEventListener("change", draw);
  draw();
}
