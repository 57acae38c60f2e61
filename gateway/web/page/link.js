// The link to the gateway: the token where one is needed, and events that come back by themselves.

import { at, say, t } from "./words.js";

const SILENT_MS = 30_000; // the gateway gives a sign of life every ten seconds
const FIRST_MS = 500, LONGEST_MS = 4000; // before another try, and half as much again each time
let source = null, heard = 0, lastId = "", closing = null, wait_ms = FIRST_MS;
let role = ""; // whose session this page shows

// Since when nothing has come of the gateway, in seconds of the epoch, null while it does; and
// whether who looks may see what names a device.
export const link = { lost_s: null, names: true };
let ill = false; // a part of the gateway does not work, as it says itself

function state(name, words = t(`link.${name}`)) {
  if (name === "live" || name === "ill") link.lost_s = null;
  else link.lost_s ??= Date.now() / 1000;
  at("link").dataset.state = name;
  say("link", words);
}

// Say "live", or that the gateway does not work, where we hear it.
export function tellHealth(good) {
  ill = !good;
  if (source?.readyState === 1) state(ill ? "ill" : "live");
}

// Return what an address of the API answers, or null; whoever lacks the token is asked for it.
export async function get(path) {
  try {
    const answer = await fetch(`/api/v1/${path}`, { headers: { accept: "application/json" } });
    if (answer.status === 401) ask("");
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function ask(why) {
  if (role) { // a session is over: what was told in it leaves the page with it
    location.reload();
    return;
  }
  source?.close();
  source = null;
  state("lost", t("link.locked"));
  at("login-note").textContent = why;
  if (!at("login").hidden) return;
  at("login").hidden = false;
  at("main").dataset.locked = "";
  at("token").focus();
}

// Return the status of our session: 200 when we may look, 401 when not, 0 when nobody answers.
async function session(token) {
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) };
  try {
    const answer = await fetch("/api/v1/session", token === undefined ? {} : post);
    const told = answer.ok ? await answer.json() : {};
    if (told.open) {
      if (role && told.role !== role) { // what is held here, names too, was for another
        location.reload();
        return 0;
      }
      role = told.role;
      link.names = told.role === "operator";
      at("devices-box").hidden = !link.names;
      at("leave").hidden = !told.token;
      say("leave", t(link.names ? "leave" : "leave.viewer"));
    }
    return answer.ok && !told.open ? 401 : answer.status;
  } catch {
    return 0;
  }
}

async function enter(token, begin) {
  const status = await session(token);
  if (status === 200) {
    at("login").hidden = true;
    delete at("main").dataset.locked;
    at("token").value = "";
    begin();
  } else if (status === 401) ask(token === undefined ? "" : t("login.wrong"));
  else if (status === 429) ask(t("login.many"));
  else again(begin);
}

function again(begin) {
  state("lost");
  clearTimeout(closing);
  closing = setTimeout(() => enter(undefined, begin), wait_ms * (0.75 + 0.5 * Math.random()));
  wait_ms = Math.min(1.5 * wait_ms, LONGEST_MS);
}

// A token may hold a sign that an address has to write otherwise, and was perhaps not.
function unwritten(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export async function leave() {
  await fetch("/api/v1/session", { method: "DELETE" });
  location.reload();
}

// Hear events of these kinds until the page is closed; `fresh` is called when we are back.
export function follow(kinds, take, fresh) {
  function begin() {
    clearTimeout(closing);
    source?.close();
    if (!window.EventSource) {
      state("lost", t("link.old"));
      say("empty", t("link.without"));
      at("main").dataset.old = "";
      return;
    }
    source = new EventSource(`/api/v1/events${lastId ? `?last_event_id=${encodeURIComponent(lastId)}` : ""}`);
    heard = Date.now();
    source.onopen = () => {
      heard = Date.now();
      wait_ms = FIRST_MS;
      tellHealth(!ill);
      fresh();
    };
    source.onerror = () => { source?.close(); source = null; again(begin); };
    source.addEventListener("beat", () => { heard = Date.now(); });
    for (const kind of kinds) {
      source.addEventListener(kind, (message) => {
        heard = Date.now();
        lastId = message.lastEventId || lastId;
        take(JSON.parse(message.data));
      });
    }
  }
  at("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    enter(at("token").value, begin);
  });
  setInterval(() => { if (source) session(); }, 3_600_000); // a viewer's session goes on while it looks
  // A phone that slept, a cable that was pulled: the browser alone may notice after many minutes.
  setInterval(() => { if (source && Date.now() - heard > SILENT_MS) source.onerror(); }, 5000);
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) history.replaceState(null, "", location.pathname); // out of the history and of sight
  enter(given ? unwritten(given[1]) : undefined, begin);
}
