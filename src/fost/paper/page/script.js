"use strict";
(() => {
  // A table that is cut off says so, until its end is seen.
  const tables = [...document.querySelectorAll(".wide")];
  const measure = () => {
    for (const place of tables) {
      const inner = place.querySelector(".scroll");
      const hidden = inner.scrollWidth - inner.clientWidth;
      place.classList.toggle("cut", hidden > 2);
      place.classList.toggle("end", inner.scrollLeft >= hidden - 2);
    }
  };
  for (const place of tables) {
    place.querySelector(".scroll").addEventListener("scroll", measure, {passive: true});
  }
  window.addEventListener("resize", measure);
  measure();

  const weighted = document.getElementById("weighted");
  if (weighted) {
    const update = () => document.body.classList.toggle("weighted-on", weighted.checked);
    weighted.addEventListener("change", update);
    update();
  }

  const filter = document.getElementById("claims-filter");
  if (filter) {
    filter.addEventListener("input", () => {
      const wanted = filter.elements.verdict.value;
      for (const row of document.querySelectorAll(".claims tbody tr")) {
        row.hidden = wanted !== "" && !row.querySelector(".badge." + wanted);
      }
    });
  }

  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const form = document.getElementById("explorer-controls");
  if (!form || !data.pictures) return;
  const at = (name) => document.getElementById("explorer-" + name);
  const names = Object.keys(data.pictures);
  const sizes = Object.values(data.pictures[names[0]])
    .map((entry) => entry.m).filter((m, i, all) => m !== null && all.indexOf(m) === i);

  const choose = (select, options, chosen) => {
    for (const name of options) select.add(new Option(name, name, name === chosen, name === chosen));
  };
  choose(at("picture"), names, names[0]);
  choose(at("other"), data.fixed, "2-D DCT");
  at("slider").max = sizes.length - 1;
  at("slider").value = Math.max(sizes.indexOf(12), 0);

  const count = (value) => value.toLocaleString("en");
  const percent = (value) => Math.abs(100 * value).toFixed(Math.abs(value) < 0.1 ? 1 : 0) + " %";

  function sentence(left, leftName, right, rightName) {
    const change = left.rmse / right.rmse - 1;
    const error = Math.abs(change) < 0.0005
      ? "the same error as" : percent(change) + (change < 0 ? " less error than " : " more error than ");
    const ratio = left.operations / right.operations;
    const cost = ratio >= 1
      ? ratio.toFixed(1) + " times its operations" : percent(ratio) + " of its operations";
    return leftName + " has " + error + (error.endsWith(" ") ? "" : " ") + rightName + ", at " + cost + ".";
  }

  function svg(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Error against the number of reflectors, with what stands beside it as a line.
  function chart(entries, kind, m, other) {
    const width = 400, height = 210, left = 50, right = 10, top = 16, bottom = 38;
    const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "error against the number of reflectors"});
    const errors = Object.entries(entries).filter(([name]) => name !== "original").map(([, e]) => e.rmse);
    const high = 1.04 * Math.max(...errors), low = 0.9 * Math.min(...errors);
    const most = Math.max(...sizes);
    const x = (value) => left + (width - left - right) * value / most;
    const y = (value) => top + (height - top - bottom) * (high - value) / (high - low);
    for (let k = 0; k <= 4; k++) {
      const value = low + (high - low) * k / 4;
      root.append(svg("line", {x1: left, x2: width - right, y1: y(value), y2: y(value),
        stroke: "var(--rule)"}));
      root.append(svg("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, value.toFixed(3)));
    }
    for (const value of sizes.filter((size) => size >= 4 || size === 1)) {
      root.append(svg("text", {x: x(value), y: height - bottom + 16, "text-anchor": "middle"}, value));
    }
    root.append(svg("text", {x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle"},
      "number of reflectors m"));
    root.append(svg("text", {x: left, y: 9}, "RMSE"));
    const level = entries[other].rmse;
    root.append(svg("line", {x1: left, x2: width - right, y1: y(level), y2: y(level),
      stroke: "var(--line-3)", "stroke-width": 2, "stroke-dasharray": "6 4"}));
    root.append(svg("text", {x: width - right, y: y(level) - 5, "text-anchor": "end",
      style: "fill: var(--line-3)"}, other));
    for (const [name, colour] of [["QH", "var(--line-2)"], ["H", "var(--line-1)"]]) {
      const points = sizes.map((size) => x(size) + "," + y(entries[name + size].rmse)).join(" ");
      root.append(svg("polyline", {points, fill: "none", stroke: colour, "stroke-width": 2,
        opacity: name === kind ? 1 : 0.45}));
      const last = sizes[1];
      root.append(svg("text", {x: x(last) + (name === "H" ? -4 : 8), "text-anchor": name === "H" ? "end" : "start",
        y: y(entries[name + last].rmse) + (name === "H" ? 12 : -2), style: "fill: " + colour}, name));
    }
    root.append(svg("circle", {cx: x(m), cy: y(entries[kind + m].rmse), r: 6,
      fill: kind === "H" ? "var(--line-1)" : "var(--line-2)", stroke: "var(--card)", "stroke-width": 2}));
    at("chart").replaceChildren(root);
  }

  function update() {
    const picture = at("picture").value, other = at("other").value;
    const kind = form.elements.kind.value, m = sizes[at("slider").value];
    const entries = data.pictures[picture], name = kind + m;
    const show = (place, entry, title) => {
      at(place).src = entry.image;
      at(place).alt = picture + ", " + title;
    };
    show("left", entries[name], name);
    show("right", entries[other], other);
    show("original", entries.original, "original");
    for (const [place, entry, title] of [["left-text", entries[name], name], ["right-text", entries[other], other]]) {
      const bold = document.createElement("b");
      bold.textContent = title;
      at(place).replaceChildren(bold, ": RMSE " + entry.rmse.toFixed(4) + ", "
        + count(entry.operations) + " operations per patch");
    }
    at("m").textContent = "m = " + m;
    at("sentence").textContent = sentence(entries[name], name, entries[other], other);
    chart(entries, kind, m, other);
  }
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
