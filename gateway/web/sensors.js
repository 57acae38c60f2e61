// How long each sensor has been silent, and what is left of its budget; never what it felt.

import { kind } from "./kinds.js";
import { get } from "./link.js";
import { ago, at, made, plural, row } from "./words.js";

const SHOWN = 200;

function stateOf(device, since_s) {
  if (device.quarantine) return ["shut out", "bad"];
  if (device.alarm) return ["needs new key", "bad"];
  if (device.last_s === null) return ["never counted", "bad"];
  return device.last_s < since_s ? ["silent", "bad"] : ["answers", "good"];
}

// Of a pure promise in its own unit, which is a device's own; else the share.
function leftOf(left, budget) {
  const share = `${Math.floor((100 * left.about) / budget.about)} %`;
  return left.epsilon === null ? share : `${share}, epsilon ${valueOf(left.epsilon).toFixed(2)}`;
}

function valueOf(ratio) {
  const [num, den] = ratio.split("/").map(Number);
  return num / den;
}

// The silent ones first, then by name: who is missing is what somebody looks for here.
export async function refreshSensors(closed) {
  const found = await get("devices?limit=1000");
  if (!found || !found.devices.length) return;
  const since_s = closed ? closed.opened_s : 0;
  const lines = found.devices.map((device) => ({ device, state: stateOf(device, since_s) }));
  const silent = lines.filter(({ state }) => state[1] === "bad");
  const order = [...silent, ...lines.filter(({ state }) => state[1] !== "bad")];
  at("sensors").hidden = false;
  at("devices").replaceChildren(...order.slice(0, SHOWN).map(({ device, state: [words, kind] }) => row(
    device.name,
    device.last_s === null ? "never" : ago(device.last_s),
    made("span", words, { state: kind }),
    device.left === null ? "–" : leftOf(device.left, found.budget),
  )));
  const more = found.next === null ? "" : " or more";
  const hidden = order.length > SHOWN ? `; the first ${SHOWN} are shown` : "";
  const all = `${plural(order.length, kind().one)}${more}`;
  at("sensors-note").textContent = silent.length
    ? `${silent.length} of ${all} did not answer the last round that closed, or must not answer at all${hidden}.`
    : `${all} answered the last round that closed${hidden}.`;
}
