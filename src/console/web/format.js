// Numbers and times as the page writes them.
const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const BEGINNING_US = -9.2e18;
const END_US = 9.2e18;

export function number(n) { return GROUPED.format(n); }

// At most five characters or so: 9,876 then 12.3k, 4.56M.
export function compact(n) {
  if (n < 10_000) return GROUPED.format(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(n < 10_000_000 ? 2 : 1)}M`;
}

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i + 1 < units.length) { n /= 1000; i++; }
  return `${n.toFixed(i && n < 100 ? 1 : 0)} ${units[i]}`;
}

// Microseconds since 1970 as "2013-01-01 05:15:00", UTC.
export function time(us) {
  if (us <= BEGINNING_US) return "not begun";
  if (us >= END_US) return "all complete";
  return new Date(us / 1000).toISOString().slice(0, 19).replace("T", " ");
}

// The same to the minute.
export function minute(us) {
  return time(us).replace(/:\d\d$/, "");
}

export function duration(us) {
  const s = Math.max(0, Math.floor(us / 1e6));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}
