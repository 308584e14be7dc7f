"use strict";
(function () {
  const scene = JSON.parse(document.getElementById("movement").textContent);
  const svg = document.getElementById("stage");
  const slider = document.getElementById("slider");
  const tip = document.getElementById("tip");
  const SVG = "http://www.w3.org/2000/svg";
  const inner = scene.cellWidth - 3;
  let position = 0;
  let lane = null;
  let timer = null;

  function add(parent, tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }

  // A text that is too long for its box is squeezed into it.
  function fitted(parent, x, y, text, width) {
    const node = add(parent, "text", { x: x, y: y }, text);
    if (text.length * 5.9 > width) {
      node.setAttribute("textLength", width);
      node.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
    return node;
  }

  svg.setAttribute("viewBox", "0 0 " + scene.width + " " + scene.height);
  const defs = add(svg, "defs", {});
  const marker = add(defs, "marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto-start-reverse" });
  add(marker, "path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" });
  add(svg, "text", { class: "label note", x: scene.labelWidth - 10, y: 16 }, "lane");
  const heads = [];
  for (let number = 0; number < scene.lanes; number++) {
    const head = add(svg, "text", { class: "lane", x: scene.labelWidth + number * scene.cellWidth + inner / 2, y: 20,
      tabindex: number === 0 ? 0 : -1, role: "button", "aria-label": "lane " + number }, number);
    head.addEventListener("click", function () { follow(number); });
    head.addEventListener("keydown", function (event) {
      const to = { ArrowLeft: number - 1, ArrowRight: number + 1, Home: 0, End: scene.lanes - 1 }[event.key];
      if (to !== undefined && heads[to]) {
        head.setAttribute("tabindex", -1);
        heads[to].setAttribute("tabindex", 0);
        heads[to].focus();
      }
      if (event.key === "Enter" || event.key === " ") follow(number);
      if (event.key !== "Tab" && event.key !== "Escape") { event.stopPropagation(); event.preventDefault(); }
    });
    heads.push(head);
  }
  for (const label of scene.labels) {
    const node = add(svg, "text", { class: "label", x: scene.labelWidth - 10, y: label.y - 1.5 }, "");
    if (label.note) add(node, "tspan", { class: "note" }, label.note + "  ");
    add(node, "tspan", {}, label.text);
  }
  const layer = add(svg, "g", {});
  const swizzles = add(svg, "g", {});
  const arrows = add(svg, "g", {});

  const nodes = scene.cells.map(function (cell, number) {
    const group = add(layer, "g", { class: "cell", transform: "translate(" + cell.x + " " + cell.y + ")" });
    group.addEventListener("mousemove", function (event) { hover(number, event); });
    group.addEventListener("mouseleave", function () { tip.hidden = true; });
    return group;
  });

  function follow(number) {
    lane = lane === number ? null : number;
    draw();
  }

  function held(until) {
    const values = new Array(scene.cells.length).fill(null);
    for (const pair of scene.start) values[pair[0]] = pair[1];
    for (let step = 0; step < until; step++) for (const write of scene.steps[step].writes) values[write[0]] = write[1];
    return values;
  }
  let values = held(0);

  function paint(number, fresh, used, dim) {
    const group = nodes[number];
    const cell = scene.cells[number];
    const value = values[number] === null ? null : scene.values[values[number]];
    group.replaceChildren();
    group.setAttribute("class", "cell" + (value ? " full" : "") + (used ? " used" : "") + (fresh ? " fresh" : "") + (dim ? " dim" : ""));
    filled(group, value, cell.w, cell.h);
  }

  function filled(group, value, width, height) {
    const fills = value ? (value.fills.length ? value.fills : ["#fff"]) : [];
    fills.forEach(function (fill, place) {
      add(group, "rect", { x: place * width / fills.length, y: 0, width: width / fills.length + 0.3, height: height, fill: fill });
    });
    add(group, "rect", { class: "frame", x: 0, y: 0, width: width, height: height, rx: 2 });
    if (value) fitted(group, width / 2, height / 2 + 0.5, value.short, width - 3);
  }

  // A row of small cells above the registers: what lanes need, or what a row held before a step that rewrites it.
  function strip(y, note, name, list) {
    const label = add(swizzles, "text", { class: "label", x: scene.labelWidth - 10, y: y + scene.stripHeight / 2 - 1.5 });
    if (note) add(label, "tspan", { class: "note" }, note + "  ");
    add(label, "tspan", {}, name);
    list.forEach(function (value, number) {
      if (value === null) return;
      const group = add(swizzles, "g", { class: "cell full" + (lane !== null && lane !== number ? " dim" : ""),
        transform: "translate(" + (scene.labelWidth + number * scene.cellWidth) + " " + y + ")" });
      filled(group, scene.values[value], inner, scene.stripHeight - 3);
      add(group, "title", {}, scene.values[value].text);
    });
  }

  // `above`: where a step rewrites its row, arrows begin in the strip that shows the row as it was.
  function arrow(from, to, colour, above) {
    const b = scene.cells[to];
    const a = above === null || scene.cells[from].y !== b.y ? scene.cells[from]
      : { x: scene.cells[from].x, y: above, w: scene.cells[from].w, h: scene.stripHeight - 3 };
    const down = a.y <= b.y;
    const x0 = a.x + a.w / 2, x1 = b.x + b.w / 2;
    const y0 = down ? a.y + a.h : a.y, y1 = down ? b.y : b.y + b.h;
    const bend = Math.max(8, Math.abs(y1 - y0) * 0.45) * (down ? 1 : -1);
    add(arrows, "path", { class: "arrow", stroke: colour, "marker-end": "url(#head)",
      d: "M" + x0 + " " + y0 + "C" + x0 + " " + (y0 + bend) + " " + x1 + " " + (y1 - bend) + " " + x1 + " " + y1 });
  }

  function strong(fill) { return fill.replace(/(\d+)%\)$/, "45%)"); }

  function draw() {
    const step = position > 0 ? scene.steps[position - 1] : null;
    const before = held(Math.max(0, position - 1));
    values = held(position);
    const fresh = new Set(), used = new Set(), chosen = new Set();
    const writes = step ? step.writes.filter(function (write) { return lane === null || write[3] === lane; }) : [];
    for (const write of writes) {
      fresh.add(write[0]);
      for (const origin of write[2]) { used.add(origin); chosen.add(origin); }
      chosen.add(write[0]);
    }
    for (let number = 0; number < nodes.length; number++) {
      const own = scene.cells[number].lane === lane || chosen.has(number);
      paint(number, fresh.has(number), used.has(number), lane !== null && !own);
    }
    arrows.replaceChildren();
    const readers = new Map();
    for (const write of writes) for (const origin of write[2]) readers.set(origin, (readers.get(origin) || 0) + 1);
    const strips = step ? step.holes.length + (step.wanted ? 1 : 0) : 0;
    const above = step && step.rewrites ? scene.holesY + strips * scene.stripHeight : null;
    for (const write of writes) {
      for (const origin of write[2]) {
        // An array element that many lanes read is framed; its arrows would hide the others.
        if (scene.cells[origin].lane < 0 && readers.get(origin) > 4) continue;
        const source = before[origin] === null ? null : scene.values[before[origin]];
        const colour = source && source.fills.length ? strong(source.fills[0]) : "#8893a2";
        if (origin !== write[0] || above !== null) arrow(origin, write[0], colour, above);
      }
    }
    swizzles.replaceChildren();
    (step ? step.holes : []).forEach(function (hole, row) {
      const y = scene.holesY + row * scene.stripHeight;
      const label = add(swizzles, "text", { class: "label", x: scene.labelWidth - 10, y: y + scene.stripHeight / 2 - 1.5 });
      add(label, "tspan", { class: "note" }, "hole  ");
      add(label, "tspan", {}, hole.name);
      add(label, "title", {}, hole.text);
      hole.values.forEach(function (value, number) {
        if (value === null) return;
        const group = add(swizzles, "g", { class: "swizzle" + (lane !== null && lane !== number ? " dim" : ""),
          transform: "translate(" + (scene.labelWidth + number * scene.cellWidth) + " " + y + ")" });
        add(group, "rect", { x: 0, y: 0, width: inner, height: scene.stripHeight - 3, rx: 7, fill: hole.colour });
        fitted(group, inner / 2, scene.stripHeight / 2 - 1, value, inner - 6);
        add(group, "title", {}, hole.name + " = " + hole.text);
      });
    });
    if (step && step.wanted) strip(scene.holesY + step.holes.length * scene.stripHeight, "", "wanted", step.wanted);
    if (above !== null) {
      const row = new Array(scene.lanes).fill(null);
      let name = "";
      for (const write of step.writes) for (const origin of write[2]) {
        const cell = scene.cells[origin];
        if (cell.lane >= 0 && cell.y === scene.cells[write[0]].y) { row[cell.lane] = before[origin]; name = cell.name.split(", ")[1]; }
      }
      strip(above, "before", name, row);
    }
    heads.forEach(function (head, number) {
      head.setAttribute("class", "lane" + (lane === number ? " on" : ""));
      head.setAttribute("aria-pressed", lane === number);
    });
    slider.value = position;
    document.getElementById("count").textContent = position + " / " + scene.steps.length;
    document.getElementById("title").textContent = step ? step.title : "before the first step";
    document.getElementById("loops").textContent = step ? step.loops.join(", ") : "";
    document.getElementById("loops").hidden = !step || step.loops.length === 0;
    document.getElementById("swizzle").textContent = step ? step.holes.map(function (hole) { return hole.name + " = " + hole.text; }).join("   ") : "";
    document.getElementById("why").textContent = step ? step.why : "";
    slider.setAttribute("aria-valuetext", step ? "step " + position + " of " + scene.steps.length + ": " + step.title +
      (step.loops.length ? ", " + step.loops.join(", ") : "") : "before the first step");
    light(step ? step.file + ":" + step.line : "", "on", true);
    if (table.open) tabulate(step);
  }

  // Lines of the sketch, of CUDA, PTX and machine code that belong together have one key.
  const rows = new Map();
  document.querySelectorAll(".row[data-line]").forEach(function (row) {
    const key = row.dataset.file + ":" + row.dataset.line;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(row);
    row.addEventListener("mouseenter", function () { light(key, "near", false); });
    row.addEventListener("mouseleave", function () { light("", "near", false); });
  });

  function light(key, name, scrolls) {
    document.querySelectorAll(".row." + name).forEach(function (row) { row.classList.remove(name); });
    const seen = new Set();
    for (const row of rows.get(key) || []) {
      row.classList.add(name);
      const box = row.parentNode;
      if (!scrolls || seen.has(box)) continue;
      seen.add(box);
      const top = row.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) box.scrollTop = top - box.clientHeight / 2;
    }
  }

  // The step in words, for those who do not see the drawing.
  const table = document.getElementById("table");
  table.addEventListener("toggle", draw);
  function tabulate(step) {
    function line(tag, cells) {
      const row = document.createElement("tr");
      cells.forEach(function (text, place) {
        const cell = document.createElement(place === 0 ? "th" : tag);
        cell.setAttribute("scope", tag === "th" ? "col" : "row");
        if (tag === "td" && place > 0) cell.removeAttribute("scope");
        cell.textContent = text;
        row.appendChild(cell);
      });
      return row;
    }
    const holes = step ? step.holes : [];
    table.querySelector("thead").replaceChildren(line("th", ["lane"].concat(holes.map(function (hole) { return hole.name; }), ["writes", "value", "from"])));
    table.querySelector("tbody").replaceChildren(...(step ? step.writes : []).filter(function (write) { return write[3] >= 0; }).map(function (write) {
      return line("td", [write[3]].concat(holes.map(function (hole) { return hole.values[write[3]] === null ? "" : hole.values[write[3]]; }),
        [scene.cells[write[0]].name, scene.values[write[1]].text, write[2].map(function (origin) { return scene.cells[origin].name; }).join("; ")]));
    }));
  }

  function hover(number, event) {
    const value = values[number] === null ? "nothing yet" : scene.values[values[number]].text;
    tip.textContent = scene.cells[number].name === value ? value : scene.cells[number].name + " = " + value;
    tip.hidden = false;
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
  }

  function go(target) {
    position = Math.max(0, Math.min(scene.steps.length, target));
    draw();
  }

  function play() {
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
    } else {
      if (position === scene.steps.length) go(0);
      timer = setInterval(function () {
        go(position + 1);
        if (position === scene.steps.length) play();
      }, 900);
    }
    document.getElementById("play").textContent = timer === null ? "play" : "pause";
  }

  slider.max = scene.steps.length;
  slider.addEventListener("input", function () { go(Number(slider.value)); });
  document.getElementById("back").addEventListener("click", function () { go(position - 1); });
  document.getElementById("next").addEventListener("click", function () { go(position + 1); });
  document.getElementById("play").addEventListener("click", play);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { lane = null; draw(); return; }
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("pre, summary, .scrolled")) return;  // they scroll
    const moves = { ArrowLeft: position - 1, ArrowRight: position + 1, Home: 0, End: scene.steps.length };
    if (event.key in moves) { go(moves[event.key]); event.preventDefault(); }
    if (event.key === " " && event.target.tagName !== "BUTTON") { play(); event.preventDefault(); }
  });
  const asked = Number(new URLSearchParams(window.location.hash.slice(1)).get("step"));
  go(Number.isInteger(asked) ? asked : 0);
})();
