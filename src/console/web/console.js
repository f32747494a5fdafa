// Asks the console for the jobs once a second and shows the chosen one.
import { composites, isSource, least } from "./composites.js";
import { bytes, compact, duration, number, time } from "./format.js";
import { Graph } from "./graph.js";
import { QueryBox } from "./query.js";

const POLL_MS = 1000;
const TABLES_EVERY = 5;    // polls
const RATE_WINDOW_MS = 4000;
const SPARK_POINTS = 60;

const $ = (id) => document.getElementById(id);
const graph = new Graph($("graph"));
const queryBox = new QueryBox({
  form: $("query-form"), sql: $("sql"), run: $("run"), note: $("query-note"), result: $("result"), tables: $("tables"),
});

let chosen = null;       // id of the job on show
let pinned = false;      // chosen by hand: a newer job does not replace it
let samples = [];        // {at_ms, counts: Map(step -> elements)} of the job on show, oldest first
let subscriptions = [];  // of the local Pub/Sub
let spark = [];          // elements per second, oldest first

const STATES = {
  JOB_STATE_PENDING: ["starting", ""],
  JOB_STATE_RUNNING: ["running", "live"],
  JOB_STATE_DRAINING: ["draining", "live"],
  JOB_STATE_DONE: ["done", ""],
  JOB_STATE_DRAINED: ["drained", ""],
  JOB_STATE_CANCELLED: ["cancelled", "warn"],
  JOB_STATE_FAILED: ["failed", "bad"],
};
const TERMINAL = new Set(["JOB_STATE_DONE", "JOB_STATE_DRAINED", "JOB_STATE_CANCELLED", "JOB_STATE_FAILED"]);

const sum = (values) => values.reduce((total, v) => total + v, 0);
const produced = (step) => sum(step.elements_out);

async function get(path) {
  const reply = await fetch(path, { cache: "no-store" });
  if (!reply.ok) throw new Error(`${path}: HTTP ${reply.status}`);
  return reply.json();
}

function showState(element, job) {
  const silent = job.lost ? ["lost", "bad"] : ["not responding", "warn"];
  const [label, kind] = job.responding ? STATES[job.state] ?? [job.state, ""] : silent;
  if (element.textContent !== label) element.textContent = label;
  element.className = `state ${kind}`;
}

function choose(id, byHand) {
  if (byHand) pinned = true;
  if (id === chosen) return;
  chosen = id;
  samples = [];
  spark = [];
}

function showJobs(jobs) {
  if (!jobs.length) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "None yet.";
    $("jobs").replaceChildren(none);
    return;
  }
  const focused = document.activeElement?.dataset?.job;
  $("jobs").replaceChildren(...jobs.map((job) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.job = job.id;
    button.setAttribute("aria-current", String(job.id === chosen));
    const part = (kind, text) => {
      const made = document.createElement("span");
      made.className = kind;
      made.textContent = text;
      button.append(made);
      return made;
    };
    part("name", job.name);
    showState(part("state", ""), job);
    part("when", `${time(job.started_at_us)} UTC · ${compact(job.elements_read)} read` +
      (job.failed ? ` · ${compact(job.failed)} failed` : ""));
    button.addEventListener("click", () => { choose(job.id, true); poll(); });
    item.append(button);
    return item;
  }));
  if (focused) document.querySelector(`#jobs [data-job="${CSS.escape(focused)}"]`)?.focus();
}

// Elements per second of each step over the last few seconds.
function ratesOf(job) {
  const now = { at_ms: performance.now(), counts: new Map(composites(job.steps).map((step) => [step.name, step.elements_in])) };
  samples.push(now);
  while (samples.length > 2 && now.at_ms - samples[0].at_ms > RATE_WINDOW_MS) samples.shift();
  const first = samples[0];
  const seconds = (now.at_ms - first.at_ms) / 1000;
  const rates = new Map();
  for (const [name, count] of now.counts) {
    rates.set(name, seconds > 0.2 ? Math.max(0, (count - (first.counts.get(name) ?? count)) / seconds) : 0);
  }
  return rates;
}

function drawSpark() {
  const most = Math.max(1, ...spark);
  const points = spark.map((v, i) => [120 - (spark.length - 1 - i) * (120 / (SPARK_POINTS - 1)), 34 - (v / most) * 30]);
  const line = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  $("spark").querySelector(".line").setAttribute("d", points.length > 1 ? `M${line}` : "");
  $("spark").querySelector(".area").setAttribute(
    "d", points.length > 1 ? `M${points[0][0].toFixed(1)} 36L${line}L120 36Z` : "");
}

// What waits before the job: as its sources say, or, where they cannot, what its subscription holds. Which one that is can be
// told only while a single one is read.
function backlogOf(job) {
  const sources = job.steps.filter(isSource);
  const known = sources.filter((step) => step.backlog.elements >= 0).map((step) => step.backlog);
  if (known.length) {
    return {
      elements: sum(known.map((backlog) => backlog.elements)),
      bytes: sum(known.map((backlog) => Math.max(0, backlog.bytes))),
      oldest_age_ms: Math.max(...known.map((backlog) => backlog.oldest_age_ms)),
    };
  }
  const read = subscriptions.filter((subscription) => subscription.readers > 0);
  if (TERMINAL.has(job.state) || read.length !== 1 || sources.length !== 1) return { elements: -1, bytes: -1, oldest_age_ms: -1 };
  return { elements: read[0].messages, bytes: read[0].bytes, oldest_age_ms: read[0].oldest_age_ms };
}

function showTiles(job, rates, now_us) {
  const sources = job.steps.filter(isSource);
  const sinks = job.steps.filter((step) => step.rows_delivered >= 0);
  const ended = TERMINAL.has(job.state);
  const rate = ended ? 0 : sum(sources.map((step) => rates.get(step.name.split("/")[0]) ?? 0));
  $("elements-read").textContent = number(sum(sources.map(produced)));
  $("elapsed").textContent = job.started_at_us
    ? `in ${duration((ended || !job.responding ? job.updated_at_us : now_us) - job.started_at_us)}` : "not started";
  $("rate").textContent = ended ? "–" : number(rate);
  if (!ended) {
    spark.push(rate);
    if (spark.length > SPARK_POINTS) spark.shift();
  }
  drawSpark();
  $("watermark").textContent = job.steps.length ? time(least(job.steps.map((step) => step.output_watermark_us))) : "–";
  const backlog = backlogOf(job);
  $("backlog").textContent = backlog.elements >= 0 ? number(backlog.elements) : "–";
  $("backlog-age").textContent = backlog.elements > 0
    ? `${bytes(Math.max(0, backlog.bytes))}, oldest ${duration(backlog.oldest_age_ms * 1000)}`
    : backlog.elements === 0 ? "nothing waits" : "not known";
  $("rows-delivered").textContent = sinks.length ? number(sum(sinks.map((step) => step.rows_delivered))) : "–";
  $("epoch").textContent = `epoch ${compact(job.sealed_epoch)}, log ${bytes(job.log_bytes)}`
    + (job.cold_cells > 0 ? `, ${compact(job.cold_cells)} keys on disk` : "");
  const failed = sum(job.steps.map((step) => step.failed));
  $("dead-letters").textContent = number(failed);
  $("dropped-late").textContent = number(sum(job.steps.map((step) => step.dropped_late)));
  $("dead-tile").classList.toggle("bad", failed > 0);
}

function showJob(job, now_us) {
  $("empty").hidden = true;
  $("job-name").textContent = job.name;
  document.title = `${job.name} · Hornbeam`;
  showState($("job-state"), job);
  $("job-note").textContent = `${job.workers} ${job.workers === 1 ? "worker" : "workers"}, ` +
    (job.exactly_once ? "exactly once" : "at least once");
  $("failure").hidden = !job.error;
  $("failure").textContent = job.error;
  const ended = TERMINAL.has(job.state);
  $("cancel").hidden = ended;
  $("drain").hidden = ended || job.state === "JOB_STATE_DRAINING";
  const rates = ratesOf(job);
  showTiles(job, rates, now_us);
  const source = job.steps.find(isSource);
  if (source && source.backlog.elements < 0) source.backlog = backlogOf(job);
  graph.show(job, rates);
}

async function command(verb) {
  if (!chosen) return;
  await fetch(`/api/v1/jobs/${encodeURIComponent(chosen)}:${verb}`, { method: "POST" });
  poll();
}
$("drain").addEventListener("click", () => command("drain"));
$("cancel").addEventListener("click", () => {
  if (confirm("Stop this job where it is?")) command("cancel");
});

let turn = 0;
let polling = false;
async function poll() {
  if (polling) return;
  polling = true;
  try {
    const { jobs, now_us } = await get("/api/v1/jobs");
    if (!pinned || !jobs.some((job) => job.id === chosen)) choose(jobs[0]?.id ?? null, false);
    showJobs(jobs);
    subscriptions = (await get("/api/v1/subscriptions")).subscriptions;
    if (chosen) showJob(await get(`/api/v1/jobs/${encodeURIComponent(chosen)}`), now_us);
    if (turn++ % TABLES_EVERY === 0) await queryBox.refreshTables();
    $("lost").hidden = true;
  } catch {
    $("lost").hidden = false;
  } finally {
    polling = false;
  }
}
poll();
setInterval(poll, POLL_MS);
