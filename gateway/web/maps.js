// The map with its likely sources, and the dots of the wire.

import { EDGE, across, axis, drawLine, drawPlane, fresh, metres, room, written } from "./draw.js";
import { kind } from "./kinds.js";
import { pictureOfPeople, showAnswers, showPeople } from "./people.js";
import { between, sources } from "./sources.js";
import { at, made, row } from "./words.js";

// How many, how likely, and how far off the map expects to be.
function sureWords({ numbers, level, expected_error: off }) {
  const { low, high, chance } = between({ numbers, level });
  const likeliest = numbers.indexOf(Math.max(...numbers));
  const range = low === high ? `${low}` : `${low} to ${high}`;
  const most = low === high ? "" : `, most likely ${likeliest}`;
  const far = off === null ? "" : ` The warmth lies about ${written(off)} from where this shows it.`;
  return `${range} warm ${range === "1" ? "source" : "sources"} (${Math.round(100 * chance)} %)${most}.${far}`;
}

// What a map says of itself: what is wrong with it, and how sure it is.
function ownWords({ credible, verdict }) {
  const old = verdict && verdict.why ? `Do not trust this map: ${verdict.why}.` : ""; // stored before maps said it themselves
  return [credible ? sureWords(credible) : "", (verdict && verdict.says) || old].filter(Boolean).join(" ");
}

// Whether what the deployment file says is wrong, and the map with it, or the map is a mere guess.
export const doubted = (event) => Boolean(event && event.verdict && ["assumptions", "clamp", "weak"].includes(event.verdict.level));

// Draw a map on a canvas; return its sources, none where there is no map.
export function picture(canvas, map) {
  if (kind().people) return pictureOfPeople(canvas, map);
  const { mass, status, total, credible } = map;
  if (status !== "solved" || !(total > 0)) {
    fresh(canvas);
    canvas.setAttribute("aria-label", "no map");
    return [];
  }
  const present = credible && credible.present;
  const found = sources(mass, credible);
  if (mass.length > 1) drawPlane(canvas, mass, present, found);
  else drawLine(canvas, mass[0], present && present[0], found);
  const words = found.map((one) => `${Math.round(100 * one.share)} % near ${near(one, mass)}`);
  canvas.setAttribute("aria-label", `heat map: ${words.join(", ") || "spread out"}`);
  return found;
}

const near = (one, mass) => written(one.x) + (mass.length > 1 ? ` / ${written(one.y)}` : "");

export function showMap(event) {
  if (kind().people) {
    showPeople(event);
    return;
  }
  const { mass, number, status, why, seconds, total, credible } = event;
  const solved = status === "solved" && total > 0;
  const found = picture(at("map"), event);
  at("empty").hidden = solved;
  const took = seconds === null ? "" : ` ${seconds.toFixed(2)} s`;
  at("map-note").textContent = solved ? `Round ${number}, drawn in${took}` : `Round ${number}: ${status === "nobody" ? "nobody is there, found in" : "no map after"}${took}`;
  at("sure").textContent = solved ? ownWords(event) : "";
  at("sure").dataset.state = at("map").dataset.state = solved && doubted(event) ? "bad" : "";
  at("sources").hidden = !found.length;
  at("places").replaceChildren();
  if (!solved) {
    at("empty").textContent = `Round ${number}: ${why}.`;
    at("sources-note").textContent = "This round tells of none.";
    return;
  }
  at("map").dataset.number = number;
  // What a drawing cannot say of itself.
  if (why !== "optimal") at("map-note").textContent += `. ${why}`;
  const level = credible ? `${Math.round(100 * credible.level)} %` : "";
  if (credible) at("map-note").textContent += `. Rings: where each source is, with ${level}`;
  if (credible && mass.length > 1) at("map-note").textContent += "; bright: where one may be; cross: what the map takes it for";
  at("within").textContent = level ? `Within (${level})` : "Within";
  at("places").append(...found.map((one) => row(
    near(one, mass),
    one.radius === null ? "not known" : `± ${written(one.radius)}`,
    made("b", `${Math.round(100 * one.share)} %`),
    (one.share * total).toFixed(2),
  )));
  const several = credible && found.length < between(credible).low ? "A place holds several sources. " : "";
  at("sources-note").textContent = found.length
    ? `${several}Strength is in the unit of intensity_max, in the deployment file.`
    : "The warmth is spread out: no place stands out.";
}

export function showWire(event) {
  if (kind().people) {
    if (event.outer) showAnswers(event);
    return;
  }
  const { values, exponent } = event;
  at("wire").hidden = false;
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
