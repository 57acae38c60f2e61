// The live page: listens to /api/events and draws. Everything it gets is public already.

import { EDGE, across, axis, drawLine, drawPlane, fresh, metres, places, room, written } from "./draw.js";

const latest = {};
const at = (id) => document.getElementById(id);

// How many, how likely, and how far off the map expects to be.
function sureWords({ numbers, expected_error: off }) {
  const order = numbers.map((chance, count) => ({ chance, count })).filter((one) => one.chance >= 0.05)
    .sort((a, b) => b.chance - a.chance).slice(0, 3);
  const sources = (count) => (count ? `${count} warm ${count === 1 ? "source" : "sources"}` : "nothing warm");
  const [first, ...others] = order.map(({ chance, count }) => `${sources(count)}: ${Math.round(100 * chance)} %`);
  const far = off === null ? "" : ` The warmth lies about ${written(off)} from where this shows it.`;
  return `Most likely ${[first, ...others].join(", or ")}.${far}`;
}

function showMap({ mass, number, status, why, seconds, total, credible }) {
  const solved = status === "solved" && total > 0;
  at("empty").hidden = solved;
  at("places").replaceChildren();
  at("map-note").textContent = `Round ${number}, drawn in ${seconds.toFixed(2)} s`;
  at("sure").textContent = solved && credible ? sureWords(credible) : "";
  if (!solved) {
    fresh(at("map"));
    at("empty").textContent = `Round ${number}: ${why}.`;
    at("map").setAttribute("aria-label", "no map");
    return;
  }
  const plane = mass.length > 1;
  const present = credible && credible.present;
  // What a drawing cannot say of itself.
  if (why !== "optimal") at("map-note").textContent += `. ${why}`;
  if (plane && present) at("map-note").textContent += ". Bright: where it may be; rings: what the map takes it for";
  if (plane) drawPlane(at("map"), mass, present); else drawLine(at("map"), mass[0], present && present[0]);
  const found = places(mass);
  const words = found.map((p) => `${Math.round(100 * p.share)} % near ${written(p.x)}${plane ? ` / ${written(p.y)}` : ""}`);
  at("map").setAttribute("aria-label", `heat map: ${words.join(", ") || "spread out"}`);
  at("map").dataset.number = number;
  at("places").append(...words.map((text) => {
    const item = document.createElement("li"), share = document.createElement("b");
    const [head, ...rest] = text.split(" % ");
    share.textContent = `${head} %`;
    item.append(share, ` ${rest.join(" % ")}`);
    return item;
  }));
}

function showWire({ values, exponent }) {
  const { pen, width, height } = fresh(at("wire"));
  const known = values.filter((v) => v !== null);
  if (!known.length) return;
  const top = 30; // the scale stands above the dots
  const low = Math.min(...known, 0), high = Math.max(...known, 0), foot = 24;
  const y = (v) => top + (1 - (v - low) / (high - low || 1)) * (height - foot - top - 14);
  const unit = (v) => (exponent === undefined ? "" : `${(v / 2 ** exponent).toFixed(2)}${metres() ? " K" : ""}`);
  pen.fillStyle = "#3a2a5c";
  pen.fillRect(EDGE, y(0), width - 2 * EDGE, 1);
  pen.fillStyle = "#8f84ad";
  pen.fillText(unit(high), EDGE, 16);
  const columns = room.cells.sensors[1] > 1 ? values.length : room.cells.sensors[0];
  pen.fillStyle = "#f98e09";
  values.forEach((value, i) => {
    if (value === null) return;
    pen.beginPath();
    pen.arc(across(width, (i + (metres() ? 0.5 : 1)) / columns), y(value), 3, 0, 2 * Math.PI);
    pen.fill();
  });
  if (room.cells.shape[1] === 1) axis(pen, width, height - foot + 4);
  at("wire").setAttribute("aria-label", `${known.length} blurred readings`);
}

const show = {
  ready: (event) => {
    room.cells = event;
    at("site").textContent = `${event.site}, ${event.enrolled} sensors`;
    at("clear").hidden = !event.insecure;
  },
  round: (event) => {
    at("round-number").textContent = event.number;
    at("reports-note").textContent = `asking ${event.enrolled} sensors`;
  },
  reports: (event) => {
    at("round-number").textContent = event.number;
    at("reports").max = event.enrolled;
    at("reports").value = event.came;
    at("reports-note").textContent = `${event.came} of ${event.enrolled} sensors answered`;
    at("refused").textContent = event.refused ? `${event.refused} ${event.refused === 1 ? "message" : "messages"} refused` : "";
  },
  budget: (event) => {
    const left = event.rounds_left;
    at("left").textContent = `${left} ${left === 1 ? "round" : "rounds"} left`;
    const share = event.budget ? event.spent / event.budget : 0;
    at("budget").value = share;
    at("budget-note").textContent = `${Math.round(100 * share)} % of the rounds spent; together they gave away epsilon ${event.epsilon_spent.toFixed(2)} of ${event.epsilon.toFixed(2)}`;
  },
  map: (event) => { if (latest.ready) showMap(event); },
  release: (event) => { if (latest.ready) showWire(event); },
  promise: (event) => {
    at("promise").replaceChildren(...event.sentences.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  },
  alarm: (event) => {
    at("alarm").hidden = !event.alarms.length;
    at("alarms").replaceChildren(...event.alarms.map(({ why, times }) => {
      const item = document.createElement("li");
      item.textContent = times > 1 ? `${why} (${times} times)` : why;
      return item;
    }));
  },
  done: (event) => { at("reports-note").textContent = `no more rounds: ${event.why}`; },
  bye: () => {},
};

function take(event) {
  latest[event.kind] = event;
  show[event.kind]?.(event);
  if (event.kind === "ready") ["map", "release"].forEach((kind) => latest[kind] && show[kind](latest[kind]));
}

function link(state, words) {
  at("link").dataset.state = state;
  at("link").textContent = words;
}

const source = new EventSource("/api/events");
source.onopen = () => link("live", "live");
source.onerror = () => link("lost", "connection lost, trying again");
Object.keys(show).forEach((kind) => source.addEventListener(kind, (message) => take(JSON.parse(message.data))));
window.addEventListener("resize", () => {
  ["map", "release"].forEach((kind) => latest[kind] && show[kind](latest[kind]));
});
