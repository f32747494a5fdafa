// The query box: asks the local BigQuery through the console and shows what it answers.
import { number } from "./format.js";

const NUMBERS = new Set(["INTEGER", "INT64", "FLOAT", "FLOAT64", "NUMERIC", "BIGNUMERIC"]);

// A value as jobs.query sends it, for people.
function text(value, field) {
  if (value === null || value === undefined) return null;
  if (field.mode === "REPEATED") return `[${value.map((item) => text(item.v, { ...field, mode: "NULLABLE" })).join(", ")}]`;
  if (field.type === "RECORD" || field.type === "STRUCT") {
    return `{${value.f.map((item, i) => `${field.fields[i].name}: ${text(item.v, field.fields[i])}`).join(", ")}}`;
  }
  if (field.type === "TIMESTAMP") {
    // Seconds since 1970, with a fraction or an exponent.
    return new Date(Number(value) * 1000).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
  }
  return String(value);
}

function table(answer) {
  const fields = answer.schema?.fields ?? [];
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  const numeric = fields.map((field) => NUMBERS.has(field.type) && field.mode !== "REPEATED");
  fields.forEach((field, i) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = field.name;
    cell.classList.toggle("number", numeric[i]);
    head.append(cell);
  });
  const body = made.createTBody();
  for (const row of answer.rows ?? []) {
    const line = body.insertRow();
    row.f.forEach((item, i) => {
      const cell = line.insertCell();
      const shown = text(item.v, fields[i]);
      cell.textContent = shown ?? "null";
      cell.title = cell.textContent;
      cell.classList.toggle("null", shown === null);
      cell.classList.toggle("number", numeric[i]);
    });
  }
  return made;
}

function paragraph(kind, message) {
  const made = document.createElement("p");
  made.className = kind;
  made.textContent = message;
  return made;
}

export class QueryBox {
  constructor(elements) {
    Object.assign(this, elements);  // form, sql, run, note, result, tables
    this.known = "";
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
    this.sql.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.ask(); }
    });
  }

  async ask() {
    const query = this.sql.value.trim();
    if (!query) return;
    this.run.disabled = true;
    this.note.textContent = "running…";
    const begun = performance.now();
    try {
      const reply = await fetch("/api/v1/query", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ query }),
      });
      const answer = await reply.json();
      if (!reply.ok) throw new Error(answer.error?.message ?? `HTTP ${reply.status}`);
      if (answer.jobComplete === false) throw new Error("The query is still running; ask again later or for less.");
      const rows = answer.rows?.length ?? 0;
      const total = Number(answer.totalRows ?? rows);
      this.note.textContent =
        `${number(total)} ${total === 1 ? "row" : "rows"}${total > rows ? `, the first ${number(rows)} shown` : ""}` +
        ` in ${Math.round(performance.now() - begun)} ms`;
      this.result.replaceChildren(rows ? table(answer) : paragraph("none", "No rows."));
    } catch (error) {
      this.note.textContent = "";
      this.result.replaceChildren(paragraph("error", error.message));
    } finally {
      this.run.disabled = false;
    }
  }

  // A button per table that runs a query on it.
  async refreshTables() {
    const reply = await fetch("/api/v1/tables");
    if (!reply.ok) return;
    const { tables } = await reply.json();
    const names = tables.map((table) => `${table.dataset}.${table.table}`);
    if (JSON.stringify(names) === this.known) return;
    this.known = JSON.stringify(names);
    this.tables.replaceChildren(...names.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.title = `Show rows of ${name}`;
      button.addEventListener("click", () => {
        this.sql.value = `SELECT * FROM \`${name}\` LIMIT 100`;
        this.ask();
      });
      return button;
    }));
    if (!names.length) {
      const none = document.createElement("span");
      none.className = "none";
      none.textContent = "No tables yet.";
      this.tables.append(none);
    }
  }
}
