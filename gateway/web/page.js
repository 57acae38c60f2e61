// The live page: listens to /api/events and draws. Everything it gets is public already.

const latest = {};
const at = (id) => document.getElementById(id);

// Black through violet and orange to pale yellow, even in brightness (matplotlib's inferno).
const HEAT = [[22, 11, 43], [87, 16, 110], [152, 37, 101], [212, 72, 66], [249, 142, 9], [252, 255, 164]];

function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1);
  const low = Math.min(Math.floor(place), HEAT.length - 2);
  const mixed = HEAT[low].map((c, i) => Math.round(c + (HEAT[low + 1][i] - c) * (place - low)));
  return `rgb(${mixed.join(",")})`;
}

// Return a drawing context in CSS pixels, sharp on any screen.
function fresh(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width, height };
}

// Lengths: metres where the room has a size, else parts of the interval.
const metres = () => latest.ready.cell_mm > 0;
const sideOf = (cells) => (metres() ? (cells * latest.ready.cell_mm) / 1000 : cells / Math.max(...latest.ready.shape));
const placeOf = (cell) => sideOf(metres() ? cell + 0.5 : cell + 1);
const written = (length) => (metres() ? `${length.toFixed(1)} m` : length.toFixed(2));

function ticks(longest) {
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].find((s) => longest / s <= 8) || longest / 5;
  return Array.from({ length: Math.floor(longest / step + 1e-9) + 1 }, (_, i) => i * step);
}

const EDGE = 18; // pixels left and right of a line
const across = (width, part) => EDGE + part * (width - 2 * EDGE);

function axis(pen, width, y) {
  const longest = sideOf(latest.ready.shape[0]);
  pen.fillStyle = "#bdb3d6";
  pen.textAlign = "center";
  for (const tick of ticks(longest)) {
    const x = across(width, tick / longest);
    pen.fillRect(x, y, 1, 4);
    pen.fillText(Number(tick.toFixed(2)) + (metres() ? " m" : ""), x, y + 16);
  }
}

function drawLine(mass) {
  const { pen, width, height } = fresh(at("map"));
  const most = Math.max(...mass);
  const strip = 30, foot = 24, base = height - strip - foot;
  const cell = (width - 2 * EDGE) / mass.length;
  pen.fillStyle = "#bdb3d6";
  pen.fillText(`${(100 * most).toFixed(0)} % of the warmth in one cell`, EDGE, 20);
  pen.fillStyle = "#3a2a5c";
  pen.fillRect(EDGE, 28, width - 2 * EDGE, 1);
  mass.forEach((share, i) => {
    const x = across(width, i / mass.length), tall = (share / most) * (base - 34);
    pen.fillStyle = colour(share / most);
    pen.fillRect(x, base, cell + 0.5, strip);
    if (tall > 0.5) pen.fillRect(x, base - 6 - tall, Math.max(cell - 1, 1.5), tall);
  });
  axis(pen, width, height - foot + 2);
}

function drawPlane(rows) {
  const canvas = at("map");
  canvas.dataset.plane = "";
  canvas.style.aspectRatio = `${rows[0].length} / ${rows.length}`;
  const { pen, width, height } = fresh(canvas);
  const most = Math.max(...rows.flat());
  const wide = width / rows[0].length, tall = height / rows.length;
  rows.forEach((row, y) => row.forEach((share, x) => {
    pen.fillStyle = colour(share / most);
    pen.fillRect(x * wide, y * tall, wide + 0.5, tall + 0.5);
  }));
}

// Cells near each other are one place: the warmest first, each takes what is within reach.
function places(rows) {
  const reach = Math.max(...latest.ready.shape) / 14, found = [];
  rows.flatMap((row, y) => row.map((share, x) => ({ share, x, y })))
    .filter((cell) => cell.share > 0.002)
    .sort((a, b) => b.share - a.share)
    .forEach(({ share, x, y }) => {
      let place = found.find((p) => Math.hypot(p.peak.x - x, p.peak.y - y) <= reach);
      if (!place) found.push((place = { peak: { x, y }, share: 0, x: 0, y: 0 }));
      place.share += share;
      place.x += share * x;
      place.y += share * y;
    });
  return found.filter((p) => p.share >= 0.05).sort((a, b) => b.share - a.share).slice(0, 6)
    .map((p) => ({ share: p.share, x: placeOf(p.x / p.share), y: placeOf(p.y / p.share) }));
}

function showMap({ mass, number, status, why, seconds, total }) {
  const solved = status === "solved" && total > 0;
  at("empty").hidden = solved;
  at("places").replaceChildren();
  at("map-note").textContent = `Round ${number}, drawn in ${seconds.toFixed(2)} s`;
  if (!solved) {
    fresh(at("map"));
    at("empty").textContent = `Round ${number}: ${why}.`;
    at("map").setAttribute("aria-label", "no map");
    return;
  }
  const plane = mass.length > 1;
  if (plane) drawPlane(mass); else drawLine(mass[0]);
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
  const columns = latest.ready.sensors[1] > 1 ? values.length : latest.ready.sensors[0];
  pen.fillStyle = "#f98e09";
  values.forEach((value, i) => {
    if (value === null) return;
    pen.beginPath();
    pen.arc(across(width, (i + (metres() ? 0.5 : 1)) / columns), y(value), 3, 0, 2 * Math.PI);
    pen.fill();
  });
  if (latest.ready.shape[1] === 1) axis(pen, width, height - foot + 4);
  at("wire").setAttribute("aria-label", `${known.length} blurred readings`);
}

const show = {
  ready: (event) => {
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
