// What is told in words: what does not work, who answered, what is left, and how each device is.

import { drawCurve, penOf } from "./draw.js";
import { get, tellHealth } from "./link.js";
import { kind } from "./maps.js";
import { ago, at, counted, date, exactly, fillList, language, make, makeRow, moment, number, percent, say, t, told, whose } from "./words.js";

const SHOWN = 200; // devices in the table, and lines of what is wrong

// --- what is wrong, folded into one line with its count ---

const wrong = { health: [], alarms: [], devices: [] };

function tellTrouble() {
  const { health, alarms, devices } = wrong, lines = [...health];
  if (alarms.length) lines.push(counted("trouble.alarm", alarms.length, { who: whose(alarms.length, kind.who) }));
  if (devices.length) lines.push(t("trouble.out", { n: devices.length, who: whose(devices.length, kind.who) }));
  at("trouble").hidden = !lines.length;
  say("trouble-line", lines.join(" · "));
  // Of the gateway's own parts the line says all.
  const whole = !alarms.length && !devices.length;
  at("trouble").dataset.whole = whole ? "yes" : "";
  at("trouble-line").tabIndex = whole ? -1 : 0;
  fillList(at("troubles"), [
    ...health,
    ...alarms.map((one) => (one.times > 1 ? t("trouble.times", { why: told(one), n: one.times }) : told(one))),
    ...devices.map(({ device, since_s, ...said }) => `${device}: ${told(said)}${since_s ? ` (${ago(since_s)})` : ""}`),
  ].slice(0, SHOWN));
}

export function showHealth({ parts }) {
  const ill = ({ ok, code }) => !ok || code === "rounds.silent"; // which is no fault of the gateway's
  wrong.health = Object.entries(parts).filter(([, part]) => ill(part)).map(([name, part]) => `${t(`part.${name}`)}: ${told(part)}`);
  say("pause", parts.rounds?.code === "rounds.hours" ? told(parts.rounds) : "");
  tellHealth(Object.values(parts).every(({ ok }) => ok));
  tellTrouble();
}
export function showAlarms({ alarms }) {
  wrong.alarms = alarms;
  tellTrouble();
}
export function showQuarantine({ devices }) {
  wrong.devices = devices;
  tellTrouble();
}

// --- the round, and what is left ---

function tellAnswers(came, enrolled) {
  at("reports").max = Math.max(enrolled, 1);
  at("reports").value = came;
  say("reports-note", t("round.answered", { came: number(came), all: number(enrolled), who: whose(enrolled, kind.who) }));
}

export function showRound({ number: round, enrolled }) {
  say("round-number", number(round));
  say("reports-note", t("round.asking", { all: number(enrolled), who: whose(enrolled, kind.who) }));
  say("missing", "");
}

export function showReports({ number: round, came, enrolled, refused_since_start: refused, late, quorum }) {
  say("round-number", number(round));
  tellAnswers(came, enrolled);
  const short = [];
  if (enrolled > came) short.push(t("round.missing", { n: number(enrolled - came) }));
  if (late) short.push(t("round.late", { n: number(late) }));
  if (quorum > 1) short.push(t("round.quorum", { n: number(quorum) }));
  say("missing", short.join(", "));
  say("refused", refused ? counted("round.refused", refused) : "");
}

// How the last round of the store went, where nothing has been told of one since the start.
export function showClosed(round, told, done) {
  const open = told?.number > round.number ? `${t("round.open", { n: number(told.number) })} · ` : "";
  say("age", open + t("round.closed", { n: number(round.number), ago: ago(round.closed_s) }));
  if (told) return;
  say("round-number", number(round.number));
  tellAnswers(round.reports, round.enrolled ?? round.reports);
  if (done) showDone(done); // else who looks waits for a round that never comes
}

export function showDone(done) {
  say("reports-note", t("round.done", { why: told(done) }));
}

// How many rounds a day has, at the pace and in the hours of the deployment file.
function perDay({ every_s, hours }) {
  if (!hours) return 86_400 / every_s;
  const [from, to] = hours.split("-").map((text) => text.split(":").reduce((h, m) => 60 * Number(h) + Number(m)));
  return Math.max((60 * ((to - from + 1440) % 1440)) / every_s, 1);
}

// What comes of the budget; open: whether a round, perhaps the last, is still being gathered.
function tellEnd(left, hours, ready, open) {
  if (hours) return t(left ? "budget.window" : "budget.now", { n: number(hours) });
  if (!left) return t(open ? "budget.last" : "budget.gone");
  const days = ready?.every_s ? left / perDay(ready) : 0;
  if (left === 1 || !days || days >= 36_500) return "";
  const now = Date.now() / 1000, out = now + 86_400 * days;
  return t("budget.out", { day: date(out) === date(now) ? moment(out) : date(out) });
}

export function showLeft({ rounds_left: left, budget, spent, epsilon, epsilon_spent: gone, unit, window_h: hours }, ready, open) {
  say("left", counted("budget.left", left));
  at("budget").value = budget ? spent / budget : 0;
  // Up, where the devices' table rounds what is left of each down: together they are the whole.
  const used = budget ? Math.ceil((100 * spent) / budget - 1e-9) / 100 : 0;
  const given = { p: percent(used, 0), gone: number(gone, 2), all: number(epsilon, 2) };
  say("budget-note", [tellEnd(left, hours, ready, open), `${t(unit === "epsilon" ? "budget.each" : "budget.all", given)}.`].filter(Boolean).join(" "));
}

// --- what is promised ---

export function showPromise({ sentences, said = [], curve }) {
  fillList(at("promise"), sentences.map((why, i) => exactly(said[i] || { why: String(why) })));
  at("promise").lang = said.length ? language : "en";
  at("curve-figure").hidden = !curve?.length;
  at("promise-box").dataset.curve = JSON.stringify(curve || []);
  drawPromise();
}

export function drawPromise() {
  const points = JSON.parse(at("promise-box").dataset.curve || "[]"), width = at("curve").parentElement.clientWidth;
  if (!points.length || !width) return;
  const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(`--${name}`);
  drawCurve(penOf(at("curve"), width, 180), points, width, 180, { soft: ink("soft"), line: ink("line"), accent: ink("accent") }, t("promise.guess"));
  at("curve").setAttribute("aria-label", `${t("promise.curve")} ${points.map(([far, right]) => `${number(far, 1)}: ${percent(right)}`).join(", ")}`);
}
at("promise-box").addEventListener("toggle", drawPromise);
at("more").addEventListener("click", () => {
  at("promise-box").open = true;
  at("promise-box").scrollIntoView();
  at("promise-box").querySelector("summary").focus();
});

// --- the devices: how long each has been silent, what is left of its budget; never what it felt ---

let devices = [], budget = null, order = { by: "state", down: false };

function stateOf(device, since_s) {
  if (device.quarantine) return ["out", 0];
  if (device.alarm) return ["key", 1];
  if (device.last_s === null) return ["never", 2];
  if (device.last_s < since_s) return ["silent", 3];
  return device.clock ? ["clock", 3] : ["answers", 4];
}

// Of a pure promise in its own unit, which is a device's own; else the share.
function leftOf(left) {
  if (left === null) return "–";
  const share = `${Math.floor((100 * left.about) / budget.about + 1e-9)} %`;
  if (left.epsilon === null) return share;
  const [num, den] = left.epsilon.split("/").map(Number);
  return `${share}, epsilon ${number(num / den, 2)}`;
}

const KEYS = { name: (one) => one.name, heard: (one) => -(one.last_s ?? 0), state: (one) => one.rank, left: (one) => one.left?.about ?? 0 };

export async function refreshDevices(closed) {
  const found = [];
  let after = "", last = null;
  do {
    last = await get(`devices?limit=1000${after}`);
    if (!last) return;
    found.push(...last.devices);
    after = `&after=${encodeURIComponent(last.next)}`;
  } while (last.next && found.length < 10_000);
  budget = last.budget;
  const since_s = closed ? closed.opened_s : 0;
  devices = found.map((device) => {
    const [state, rank] = stateOf(device, since_s);
    return { ...device, state, rank };
  });
  tellDevices();
}

// Those that need attention first, then by name: who is missing is what somebody looks for here.
function tellDevices() {
  at("sensors").hidden = at("search").hidden = !devices.length;
  if (!devices.length) return;
  const part = at("find").value.trim().toLowerCase(), bad = at("which").value === "bad", key = KEYS[order.by];
  const fitting = devices.filter((one) => one.name.toLowerCase().includes(part) && (!bad || one.rank < 4));
  fitting.sort((a, b) => {
    const [x, y] = [key(a), key(b)], by = x < y ? -1 : x > y ? 1 : 0;
    return (order.down ? -by : by) || a.name.localeCompare(b.name, undefined, { numeric: true });
  });
  for (const head of document.querySelectorAll("#sensors th")) {
    if (head.dataset.by === order.by) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  at("devices").replaceChildren(...fitting.slice(0, SHOWN).map((one) => {
    const row = makeRow(one.name, one.last_s === null ? t("devices.since") : ago(one.last_s), make("span", t(`devices.${one.state}`), { "data-state": one.rank < 4 ? "bad" : "good" }), leftOf(one.left));
    if (one.rank < 4) row.dataset.silent = "";
    return row;
  }));
  const silent = devices.filter((one) => one.rank < 4).length, all = number(devices.length);
  const told = counted(silent ? "devices.some" : "devices.good", silent || devices.length, { all, who: whose(devices.length, kind.who) });
  const most = !fitting.length ? t("devices.fit", { who: whose(1, kind.who) }) : fitting.length > SHOWN ? t("devices.most", { n: number(fitting.length), most: SHOWN }) : "";
  say("sensors-note", [told, most].filter(Boolean).join(" "));
}

at("find").addEventListener("input", tellDevices);
at("which").addEventListener("change", tellDevices);
for (const head of document.querySelectorAll("#sensors th")) {
  head.firstElementChild.addEventListener("click", () => {
    order = { by: head.dataset.by, down: order.by === head.dataset.by && !order.down };
    tellDevices();
  });
}
