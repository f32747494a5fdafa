// A pipeline's steps as a person named them: "Write/Answers" and "Write/Unmade" are parts of "Write".

import { BEGINNING_US } from "./format.js";

const ANSWERS = "hornbeam:transform:answers:v1";
const sum = (values) => values.reduce((total, v) => total + v, 0);

// Elements come from outside: it has no input and is not what a sink answers.
export function isSource(step) { return step.inputs.length === 0 && step.urn !== ANSWERS; }

const nameOf = (step) => step.name.split("/")[0];

// How far event time has come at a composite. What a sink answers, and what hangs on that alone, has none.
function watermark(source, sink, parts) {
  if (source) return source.output_watermark_us;
  if (sink) return sink.input_watermark_us;
  return least(parts.map((part) => part.input_watermark_us));
}

// The least of the watermarks that have begun; the beginning when none has.
export function least(watermarks_us) {
  const begun = watermarks_us.filter((us) => us > BEGINNING_US);
  return begun.length ? Math.min(...begun) : BEGINNING_US;
}

// What waits to be tried again in any of the parts: how many, since when, and what the first of them holds and says.
function parkedIn(parts) {
  const all = parts.map((part) => part.parked).filter((parked) => parked?.count > 0);
  if (!all.length) return { count: 0 };
  const holder = all.reduce((a, b) => (b.holds_us < a.holds_us ? b : a));
  return { ...holder, count: sum(all.map((parked) => parked.count)), oldest_since_us: Math.min(...all.map((parked) => parked.oldest_since_us)) };
}

// One step out of the parts of a composite; inputs are names of composites.
function merge(name, parts) {
  const own = new Set(parts.map((part) => part.name));
  const used = new Set(parts.flatMap((part) => part.inputs));
  const fromOutside = (part) => part.inputs.some((input) => !own.has(input));
  const sink = parts.find((part) => part.rows_delivered >= 0);
  const source = parts.find(isSource);
  // What leaves: the outputs of the parts that no other part reads.
  const leaves = parts.filter((part) => !used.has(part.name));
  return {
    name,
    parts: parts.map((part) => part.name),
    inputs: [...new Set(parts.flatMap((part) => part.inputs).map((input) => input.split("/")[0]))].filter((input) => input !== name),
    isSource: source !== undefined,
    isSink: sink !== undefined,
    elements_in: source ? sum(source.elements_out) : sum(parts.filter(fromOutside).map((part) => part.elements_in)),
    elements_out: sum(leaves.flatMap((part) => part.elements_out)),
    rows_delivered: sum(parts.map((part) => Math.max(0, part.rows_delivered))),
    failed: sum(parts.map((part) => part.failed)),
    dropped_late: sum(parts.map((part) => part.dropped_late)),
    parked: parkedIn(parts),
    metrics: parts.flatMap((part) => part.metrics ?? []),
    backlog: (source ?? parts[0]).backlog,
    watermark_us: watermark(source, sink, parts),
  };
}

// In an order in which every step comes after its inputs; null when parts of composites feed each other in a circle.
function ordered(steps) {
  const waiting = new Map(steps.map((step) => [step.name, step]));
  const done = [];
  while (waiting.size) {
    const ready = [...waiting.values()].filter((step) => step.inputs.every((input) => !waiting.has(input)));
    if (!ready.length) return null;
    for (const step of ready) { done.push(step); waiting.delete(step.name); }
  }
  return done;
}

export function composites(steps) {
  const groups = new Map();
  for (const step of steps) {
    const name = nameOf(step);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(step);
  }
  return ordered([...groups].map(([name, parts]) => merge(name, parts))) ??
    steps.map((step) => ({ ...merge(step.name, [step]), inputs: step.inputs }));
}
