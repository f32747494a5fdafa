// Draws the steps of a job as layers from top to bottom. The layout is made anew only when the steps change;
// between that, update() changes texts.
import { composites } from "./composites.js";
import { BEGINNING_US, compact, minute, number, time } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const NODE = { width: 236, height: 62 };
const GAP = { x: 22, y: 34 };
const PASS_WIDTH = 20;  // room for an edge that passes a layer
const SWEEPS = 8;
// The graph fits its card within these bounds; a deeper one makes the card taller.
const MIN_SCALE = 0.8;
const MAX_SCALE = 1.15;

function element(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// Layers of slots {step, width, x, above: [slot], below: [slot]}; step is null where an edge only passes.
function layers(steps) {
  const depth = new Map();
  for (const step of steps) {
    const inputs = step.inputs.filter((name) => depth.has(name));
    depth.set(step.name, inputs.length ? 1 + Math.max(...inputs.map((name) => depth.get(name))) : 0);
  }
  const rows = [];
  const row = (i) => (rows[i] ??= []);
  const slots = new Map();
  const slot = (i, step) => {
    const made = { step, layer: i, width: step ? NODE.width : PASS_WIDTH, x: 0, above: [], below: [] };
    row(i).push(made);
    return made;
  };
  const link = (from, to) => { from.below.push(to); to.above.push(from); };
  for (const step of steps) slots.set(step.name, slot(depth.get(step.name), step));
  const edges = [];
  for (const step of steps) {
    const to = slots.get(step.name);
    for (const name of new Set(step.inputs)) {
      let at = slots.get(name);
      if (!at || at.layer >= to.layer) continue;
      const path = [at];
      while (at.layer + 1 < to.layer) {
        const pass = slot(at.layer + 1, null);
        link(at, pass);
        path.push(pass);
        at = pass;
      }
      link(at, to);
      path.push(to);
      edges.push({ from: name, to: step.name, path });
    }
  }
  return { rows, slots, edges };
}

const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

// Pushes the slots of a row apart to their widths, as near to their wishes as order allows.
function spread(row) {
  for (const [i, slot] of row.entries()) {
    if (i === 0) continue;
    const least = row[i - 1].x + row[i - 1].width / 2 + GAP.x + slot.width / 2;
    const excess = least - slot.x;
    if (excess <= 0) continue;
    for (let j = 0; j < i; j++) row[j].x -= excess / 2;
    slot.x += excess / 2;
  }
}

function place(rows) {
  for (const row of rows) {
    row.forEach((slot, i) => { slot.x = (i - (row.length - 1) / 2) * (NODE.width + GAP.x); });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const slot of row) {
        const neighbours = down ? slot.above : slot.below;
        if (neighbours.length) slot.x = mean(neighbours.map((n) => n.x));
      }
      row.sort((a, b) => a.x - b.x);
      spread(row);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const row of rows) {
      for (const slot of row) {
        const neighbours = [...slot.above, ...slot.below];
        if (neighbours.length) slot.x = (slot.x + mean(neighbours.map((n) => n.x))) / 2;
      }
      spread(row);
    }
  }
  // Each above the middle of what follows it: chains become straight lines.
  for (const row of [...rows].reverse()) {
    for (const slot of row) {
      if (slot.below.length) slot.x = mean(slot.below.map((n) => n.x));
    }
    spread(row);
  }
}

function curve(path) {
  const y = (slot) => slot.layer * (NODE.height + GAP.y);
  let d = "";
  for (let i = 0; i + 1 < path.length; i++) {
    const [a, b] = [path[i], path[i + 1]];
    const from = y(a) + NODE.height;
    const to = y(b);
    const bend = (to - from) * 0.55;
    if (i === 0) d = `M${a.x} ${from}`;
    if (!a.step) d += `L${a.x} ${from}`;
    d += `C${a.x} ${from + bend} ${b.x} ${to - bend} ${b.x} ${to}`;
  }
  return d;
}

// A metric of user code in a line: "orders/malformed: 12".
function metricText(metric) {
  const name = `${metric.namespace}/${metric.name}`;
  if (metric.kind !== "distribution") return `${name}: ${number(metric.value)}`;
  if (!metric.count) return `${name}: no value yet`;
  return `${name}: ${number(metric.count)} values, ${number(metric.min)} to ${number(metric.max)}, ` +
    `mean ${(metric.sum / metric.count).toPrecision(4)}`;
}

const NAME_LENGTH = 21;
function clip(name) { return name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name; }

function drawStep(slot) {
  const group = element("g", {
    class: "step",
    transform: `translate(${slot.x - NODE.width / 2} ${slot.layer * (NODE.height + GAP.y)})`,
    "data-step": slot.step.name,
  });
  const parts = {
    group,
    title: element("title"),
    name: element("text", { class: "name", x: 14, y: 19 }, clip(slot.step.name)),
    count: element("text", { class: "count", x: 14, y: 36 }),
    rate: element("text", { class: "rate", x: NODE.width - 10, y: 19 }),
    watermark: element("text", { x: 14, y: 52 }),
    extra: element("text", { class: "right", x: NODE.width - 10, y: 52 }),
    badges: element("g"),
  };
  group.append(
    parts.title,
    element("rect", { class: "box", width: NODE.width, height: NODE.height, rx: 9 }),
    element("rect", { class: "band", x: 0, y: 14, width: 3.5, height: NODE.height - 28, rx: 1.75 }),
    parts.name, parts.count, parts.rate, parts.watermark, parts.extra, parts.badges);
  return parts;
}

function badge(right, label, kind) {
  const width = 14 + label.length * 6.3;
  const group = element("g", { class: `badge ${kind}`, transform: `translate(${right - width} 23)` });
  group.append(element("rect", { width, height: 17, rx: 8.5 }), element("text", { x: width / 2, y: 12.5 }, label));
  return { group, width };
}

export class Graph {
  constructor(svg) {
    this.svg = svg;
    this.shape = "";
    this.parts = new Map();
    this.edges = [];
  }

  // rates: elements per second by step name.
  show(job, rates) {
    const steps = composites(job.steps);
    const shape = JSON.stringify([job.id, steps.map((step) => [step.name, step.inputs])]);
    if (shape !== this.shape) this.draw(steps);
    this.shape = shape;
    const live = job.responding && (job.state === "JOB_STATE_RUNNING" || job.state === "JOB_STATE_DRAINING");
    for (const step of steps) this.update(step, rates.get(step.name) ?? 0, live);
    // What follows a sink is what it refused.
    const flows = new Map(steps.map((step) => [step.name, live && (rates.get(step.name) ?? 0) > 0 && step.elements_out > 0]));
    for (const edge of this.edges) edge.line.classList.toggle("flowing", flows.get(edge.from));
  }

  draw(steps) {
    const { rows, slots, edges } = layers(steps);
    place(rows);
    const all = rows.flat();
    const left = Math.min(...all.map((slot) => slot.x - slot.width / 2));
    const right = Math.max(...all.map((slot) => slot.x + slot.width / 2));
    const height = rows.length * (NODE.height + GAP.y) - GAP.y;
    this.svg.setAttribute("viewBox", `${left - 6} -14 ${right - left + 12} ${height + 20}`);
    this.svg.style.maxHeight = `${(height + 20) * MAX_SCALE}px`;
    this.svg.style.minHeight = `${(height + 20) * MIN_SCALE}px`;
    this.svg.replaceChildren();
    this.edges = edges.map((edge) => ({ from: edge.from, line: element("path", { class: "edge", d: curve(edge.path) }) }));
    this.svg.append(...this.edges.map((edge) => edge.line));
    this.parts.clear();
    for (const [name, slot] of slots) {
      const parts = drawStep(slot);
      this.parts.set(name, parts);
      this.svg.append(parts.group);
    }
  }

  update(step, rate, live) {
    const parts = this.parts.get(step.name);
    const { group } = parts;
    group.dataset.in = step.elements_in;
    group.dataset.out = step.isSink ? step.rows_delivered : step.elements_out;
    group.classList.toggle("active", live && rate > 0);
    group.classList.toggle("failing", step.failed > 0 || step.parked.count > 0);
    parts.count.textContent = step.isSource ? `${number(step.elements_out)} out`
      : step.isSink ? `${number(step.elements_in)} in`
      : `${compact(step.elements_in)} in → ${compact(step.elements_out)} out`;
    parts.rate.textContent = live ? `${compact(Math.round(rate))}/s` : "";
    parts.watermark.textContent = step.watermark_us > BEGINNING_US ? minute(step.watermark_us) : "";
    parts.extra.textContent = step.isSink ? `${compact(step.rows_delivered)} delivered`
      : step.isSource && step.backlog.elements >= 0 ? `${compact(step.backlog.elements)} waiting` : "";
    const title = `${step.name}: ${number(step.elements_in)} in, ${number(step.elements_out)} out, watermark ${time(step.watermark_us)}` +
      (step.failed ? `, ${number(step.failed)} failed` : "") +
      (step.dropped_late ? `, ${number(step.dropped_late)} dropped late` : "") +
      (step.parked.count ? `\n${number(step.parked.count)} parked since ${time(step.parked.oldest_since_us)}, holding the watermark at ` +
        `${time(step.parked.holds_us)}: ${step.parked.error}` : "") +
      step.metrics.map((metric) => `\n${metricText(metric)}`).join("") +
      (step.parts.length > 1 ? `\n${step.parts.join("\n")}` : "");
    if (parts.title.textContent !== title) parts.title.textContent = title;
    parts.badges.replaceChildren();
    let edge = NODE.width - 8;
    if (step.failed > 0) {
      const { group: made, width } = badge(edge, `${compact(step.failed)} failed`, "");
      parts.badges.append(made);
      edge -= width + 5;
    }
    if (step.parked.count > 0) {
      const { group: made, width } = badge(edge, `${compact(step.parked.count)} parked`, "");
      parts.badges.append(made);
      edge -= width + 5;
    }
    if (step.dropped_late > 0) parts.badges.append(badge(edge, `${compact(step.dropped_late)} late`, "late").group);
  }
}
