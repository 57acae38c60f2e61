// Every word of the page, English and German, and how figures, times and tables are written.
// Texts go where they belong as text, never as markup.

const TABLE = {
  "skip": ["To the map", "Zur Karte"],
  "link.waiting": ["connecting", "verbindet"],
  "link.live": ["live", "live"],
  "link.ill": ["live, with a fault", "live, mit Fehler"],
  "link.lost": ["connection lost, trying again", "keine Verbindung, neuer Versuch läuft"],
  "link.locked": ["locked", "gesperrt"],
  "language": ["Deutsch", "English"],
  "leave": ["Sign out", "Abmelden"],
  "leave.viewer": ["Sign out (viewer)", "Abmelden (Zuschauer)"],
  "login.title": ["This page is for those who have its token", "Diese Seite ist für alle, die ihren Schlüssel haben"],
  "login.token": ["Token", "Schlüssel"],
  "login.open": ["Open", "Öffnen"],
  "login.where": ["It is in the file that token_file under [page] names, on the gateway's machine.", "Er steht auf dem Rechner des Gateways in der Datei, die token_file unter [page] nennt."],
  "login.wrong": ["That is not the token of this page.", "Das ist nicht der Schlüssel dieser Seite."],
  "login.many": ["Too many wrong tokens: wait a while before the next.", "Zu viele falsche Schlüssel: warten Sie etwas vor dem nächsten."],
  "trouble.alarm": ["{n} {who} need a new key", "{n} {who} brauchen einen neuen Schlüssel"],
  "trouble.alarm.1": ["1 {who} needs a new key", "1 {who} braucht einen neuen Schlüssel"],
  "trouble.out": ["{n} {who} shut out", "{n} {who} ausgesperrt"],
  "trouble.times": ["{why} ({n} times)", "{why} ({n}-mal)"],
  "part.store": ["Store", "Speicher"],
  "part.disk": ["Disk", "Festplatte"],
  "part.broker": ["Broker", "Broker"],
  "part.solver": ["Drawing of maps", "Zeichnen der Karten"],
  "part.rounds": ["Rounds", "Runden"],
  "part.workers": ["Workers", "Helfer"],
  "layer.chance": ["Where sources may be", "Wo Quellen sein können"],
  "layer.share": ["How the warmth is shared out", "Wie sich die Wärme verteilt"],
  "layer.where": ["Where", "Wo"],
  "layer.sd": ["How sure", "Wie sicher"],
  "layers": ["What the map shows", "Was die Karte zeigt"],
  "legend.chance": ["chance that a source stands in a cell", "Chance, dass in einer Zelle eine Quelle steht"],
  "legend.warmth": ["part of all warmth that is in one cell", "Teil der ganzen Wärme, der in einer Zelle ist"],
  "legend.people": ["part of all people who are in one cell", "Teil aller Personen, die in einer Zelle sind"],
  "legend.sd": ["how far a cell's part may be off (one standard deviation): bright is unsure", "um wie viel der Teil einer Zelle falsch sein kann (eine Standardabweichung): hell ist unsicher"],
  "legend.half": ["half the width of the {p} interval of each block's share: bright is unsure", "halbe Breite des Bereichs ({p} sicher), in dem der Anteil jedes Blocks liegt: hell ist unsicher"],
  "legend.hills": ["violet hills: where a source may be", "violette Hügel: wo eine Quelle sein kann"],
  "legend.ring": ["ring: a source is inside, {p} in 100 times", "Ring: darin ist eine Quelle, in {p} von 100 Fällen"],
  "legend.cross": ["cross: its likeliest place", "Kreuz: ihr wahrscheinlichster Ort"],
  "legend.hatched": ["hatched: mostly noise", "schraffiert: meist Rauschen"],
  "legend.sensor": ["sensor", "Sensor"],
  "legend.silent": ["sensor that did not answer", "Sensor ohne Antwort"],
  "legend.plan": ["lines: walls, doors and furniture of the room file", "Linien: Wände, Türen und Möbel der Raumdatei"],
  "tools.compare": ["Compare", "Vergleichen"],
  "tools.link": ["Copy link", "Link kopieren"],
  "tools.copied": ["The link to this view was copied.", "Der Link zu dieser Ansicht wurde kopiert."],
  "tools.uncopied": ["This browser copies over https alone; the link to this view is {url}", "Dieser Browser kopiert nur über https; der Link zu dieser Ansicht ist {url}"],
  "tools.comparing": ["The second map stays; choose another time for the first.", "Die zweite Karte bleibt stehen; wählen Sie für die erste eine andere Zeit."],
  "tools": ["Keep or share this view", "Diese Ansicht behalten oder teilen"],
  "time.before": ["Day before", "Tag davor"],
  "time.after": ["Day after", "Tag danach"],
  "time.day": ["Day", "Tag"],
  "time.play": ["Play the day", "Tag abspielen"],
  "time.pause": ["Pause", "Anhalten"],
  "time.live": ["Live", "Live"],
  "time.newer": ["Live: new map", "Live: neue Karte"],
  "time.when": ["Time of the map that is shown", "Zeit der gezeigten Karte"],
  "time.none": ["No round was closed on this day.", "An diesem Tag wurde keine Runde abgeschlossen."],
  "time.first": ["The first round of this gateway was on {day}; nothing is known of a time before it.", "Die erste Runde dieses Gateways war am {day}; von einer Zeit davor ist nichts bekannt."],
  "time.unknown": ["There is no round {n} here; the newest map is shown instead.", "Eine Runde {n} gibt es hier nicht; stattdessen ist die neueste Karte zu sehen."],
  "time.note": ["A bar a round, as high as the part that answered; grey: no map.", "Ein Balken je Runde, so hoch wie der Teil, der geantwortet hat; grau: keine Karte."],
  "map.none": ["no map", "keine Karte"],
  "map.first": ["The first map appears when the first round has been gathered.", "Die erste Karte erscheint, wenn die erste Runde eingesammelt ist."],
  "map.round": ["Round {n}", "Runde {n}"],
  "map.because": ["Round {n}: {why}.", "Runde {n}: {why}."],
  "map.nobody": ["Nobody is there ({p} sure).", "Niemand ist da ({p} sicher)."],
  "map.drawn": ["drawn in {s}", "in {s} gezeichnet"],
  "map.answers": ["from {n} answers", "aus {n} Antworten"],
  "map.doubt": ["Do not trust this map", "Dieser Karte nicht trauen"],
  "map.last": ["last map of this promise", "letzte Karte dieses Versprechens"],
  "map.ended": ["last map of this run", "letzte Karte dieses Laufs"],
  "map.stale": ["No newer map has come.", "Es kam keine neuere Karte."],
  "map.aged": ["This map is {age} old.", "Diese Karte ist {age} alt."],
  "map.gone": ["No connection to the gateway since {at}; the page goes on trying by itself.", "Seit {at} keine Verbindung zum Gateway; die Seite versucht es von selbst weiter."],
  "sure.off": ["The warmth lies about {far} from where this map shows it.", "Die Wärme liegt etwa {far} von dort entfernt, wo diese Karte sie zeigt."],
  "sure.blind": ["The warmth lies about {far} from where this map shows it; a guess without any reading would be about {blind} off.", "Die Wärme liegt etwa {far} von dort entfernt, wo diese Karte sie zeigt; blind geraten läge man etwa {blind} daneben."],
  "sure.people": ["The fullest cell holds {share} of all, give or take {sd}. A cell is off by about {off}. Were all cells alike, each would hold {even}.", "Die vollste Zelle hält {share} von allen, auf {sd} genau. Eine Zelle ist um etwa {off} falsch. Wären alle Zellen gleich, hielte jede {even}."],
  "sure.block": ["{between} of all are near {place} ({p} sure). What is hatched is mostly noise.", "{between} von allen sind bei {place} (zu {p} sicher). Schraffiertes ist meist Rauschen."],
  "sure.coarse": ["{between} of all are in {place}; finer is not resolved ({p} sure). What is hatched is mostly noise.", "{between} von allen sind in {place}; feiner ist es nicht zu sagen (zu {p} sicher). Schraffiertes ist meist Rauschen."],
  "sure.apart": ["The answers tell no place from another.", "Die Antworten unterscheiden keinen Ort von einem anderen."],
  "read.block": ["{place}: {between} of all in these {x} × {y} cells", "{place}: {between} von allen in diesen {x} × {y} Zellen"],
  "read.cell": ["{place}: {share}", "{place}: {share}"],
  "read.sd": ["{place}: {share}, give or take {sd}", "{place}: {share}, auf {sd} genau"],
  "read.earth": ["latitude {lat}°, longitude {lon}°", "Breite {lat}°, Länge {lon}°"],
  "sources.near": ["Near", "Bei"],
  "sources.within": ["Within ({p})", "Innerhalb ({p})"],
  "sources.share": ["Part of all", "Teil von allem"],
  "sources.unknown": ["not known", "nicht bekannt"],
  "sources.none": ["No map has been drawn yet.", "Noch ist keine Karte gezeichnet."],
  "sources.empty": ["This round tells of none.", "Diese Runde zeigt keine."],
  "sources.spread": ["The warmth is spread out: no place stands out.", "Die Wärme ist verteilt: kein Ort sticht hervor."],
  "sources.where": ["Metres along the room and, after the stroke, across it.", "Meter entlang des Raums und, nach dem Strich, quer dazu."],
  "sources.people": ["People are counted among those who answered.", "Personen sind unter denen gezählt, die geantwortet haben."],
  "sources.sd": ["Give or take is one standard deviation of the part; people are counted among those who answered.", "Die Genauigkeit ist eine Standardabweichung des Teils; Personen sind unter denen gezählt, die geantwortet haben."],
  "sources.between": ["Between", "Zwischen"],
  "sources.blocks": ["Between these two the part lies in {p} of maps; people are counted among those who answered.", "Zwischen diesen beiden liegt der Teil in {p} der Karten; Personen sind unter denen gezählt, die geantwortet haben."],
  "unit.W": ["Strength is in watts of heat; somebody who sits gives off about 70.", "Die Stärke ist in Watt Wärme; wer sitzt, gibt etwa 70 ab."],
  "unit.K m": ["Strength is in kelvin metres: 1 K m warms one metre of the room by one degree.", "Die Stärke ist in Kelvinmetern: 1 K m wärmt einen Meter des Raums um ein Grad."],
  "unit.K m²": ["Strength is in kelvin square metres: 1 K m² warms one square metre by one degree.", "Die Stärke ist in Kelvin mal Quadratmeter: 1 K m² wärmt einen Quadratmeter um ein Grad."],
  "unit.": ["Strength counts in parts of the strongest single source that the deployment file allows for.", "Die Stärke zählt in Teilen der stärksten einzelnen Quelle, mit der die Einrichtungsdatei rechnet."],
  "round.title": ["Round", "Runde"],
  "round.answered": ["{came} of {all} {who} answered", "{came} von {all} {who} haben geantwortet"],
  "round.asking": ["asking {all} {who}", "fragt {all} {who}"],
  "round.none": ["nothing asked yet", "noch nichts gefragt"],
  "round.missing": ["{n} missing", "{n} fehlen"],
  "round.late": ["{n} late", "{n} zu spät"],
  "round.quorum": ["{n} needed for a map", "{n} für eine Karte nötig"],
  "round.refused": ["{n} messages refused", "{n} Nachrichten abgelehnt"],
  "round.refused.1": ["1 message refused", "1 Nachricht abgelehnt"],
  "round.closed": ["Round {n} closed {ago}", "Runde {n} endete {ago}"],
  "round.done": ["no more rounds: {why}", "keine Runden mehr: {why}"],
  "round.bar": ["how many have answered", "wie viele geantwortet haben"],
  "budget.title": ["Privacy budget", "Vorrat an Privatheit"],
  "budget.left": ["{n} rounds left", "noch {n} Runden"],
  "budget.left.1": ["1 round left", "noch 1 Runde"],
  "budget.out": ["Runs out on {day}; then nothing more is asked until new keys are made.", "Reicht bis {day}; dann wird nichts mehr gefragt, bis es neue Schlüssel gibt."],
  "budget.window": ["It comes back: what was asked more than about {n} h ago counts no more.", "Er kommt zurück: was vor mehr als etwa {n} h gefragt wurde, zählt nicht mehr."],
  "budget.now": ["Spent for now; the next round opens when what was asked is about {n} h old.", "Zurzeit aufgebraucht; die nächste Runde beginnt, wenn das Gefragte etwa {n} h alt ist."],
  "budget.gone": ["Used up: nothing more is asked until new keys are made.", "Aufgebraucht: es wird nichts mehr gefragt, bis es neue Schlüssel gibt."],
  "budget.each": ["{p} of the promise spent (of each device: epsilon {gone} of {all})", "{p} des Versprechens verbraucht (je Gerät: epsilon {gone} von {all})"],
  "budget.all": ["{p} of the promise spent (all together: epsilon {gone} of {all})", "{p} des Versprechens verbraucht (alle zusammen: epsilon {gone} von {all})"],
  "budget.unknown": ["not known yet", "noch nicht bekannt"],
  "budget.bar": ["share of the budget that is spent", "verbrauchter Teil des Vorrats"],
  "devices.heard": ["Last heard", "Zuletzt gehört"],
  "devices.state": ["State", "Zustand"],
  "devices.left": ["Budget left", "Vorrat"],
  "devices.find": ["Find by name", "Nach Namen suchen"],
  "devices.show": ["Show", "Zeigen"],
  "devices.all": ["all", "alle"],
  "devices.bad": ["those that need attention", "die, um die man sich kümmern muss"],
  "devices.out": ["shut out", "ausgesperrt"],
  "devices.key": ["needs new key", "braucht neuen Schlüssel"],
  "devices.never": ["never counted", "zählte nie"],
  "devices.silent": ["silent", "schweigt"],
  "devices.answers": ["answers", "antwortet"],
  "devices.since": ["never", "nie"],
  "devices.some": ["{n} of {all} {who} did not answer the last round that closed, or must not answer at all.", "{n} von {all} {who} haben in der letzten abgeschlossenen Runde nicht geantwortet oder dürfen nicht antworten."],
  "devices.good": ["{all} {who} answered the last round that closed.", "{all} {who} haben in der letzten abgeschlossenen Runde geantwortet."],
  "devices.most": ["{n} fit; the first {most} are shown.", "{n} passen; die ersten {most} sind zu sehen."],
  "devices.fit": ["None fits.", "Keines passt."],
  "wire.clear": ["The link to the broker is in the clear: whoever is on its network can read, change and forge what goes over it.", "Die Verbindung zum Broker ist unverschlüsselt: wer in dessen Netz ist, kann mitlesen, ändern und fälschen."],
  "wire.none": ["no readings yet", "noch keine Messwerte"],
  "wire.readings": ["{n} blurred readings, {low} to {high}", "{n} verwischte Messwerte, {low} bis {high}"],
  "wire.answers": ["{n} answers over {x} by {y} cells, at most {most} in one", "{n} Antworten auf {x} mal {y} Zellen, höchstens {most} in einer"],
  "promise.title": ["What is promised, and what is not", "Was versprochen ist und was nicht"],
  "promise.more": ["What exactly is promised", "Was genau versprochen ist"],
  "promise.language": ["", "Der Wortlaut ist englisch."],
  "promise.first": ["The promise is printed with the first map.", "Das Versprechen steht bei der ersten Karte."],
  "promise.curve": ["How often somebody who sees all that was sent can tell at best which of two places a source stands at, by how far apart they are. One half is a blind guess.", "Wie oft jemand, der alles Gesendete sieht, höchstens sagen kann, an welchem von zwei Orten eine Quelle steht, je nach deren Abstand. Die Hälfte ist blindes Raten."],
  "promise.guess": ["blind guess", "geraten"],
  "ago.now": ["just now", "gerade eben"],
  "ago.min": ["{n} min ago", "vor {n} min"],
  "ago.h": ["{n} h ago", "vor {n} h"],
  "ago.d": ["{n} days ago", "vor {n} Tagen"],
  "age.min": ["{n} min", "{n} min"],
  "age.h": ["{n} h", "{n} h"],
  "age.d": ["{n} days", "{n} Tage"],
  "age.s": ["{n} s", "{n} s"],
  "who.sensor": ["sensor", "Sensor"],
  "who.sensors": ["sensors", "Sensoren"],
  "who.device": ["device", "Gerät"],
  "who.devices": ["devices", "Geräte"],
};

const asked = /[#&]lang=(en|de)/.exec(location.hash)?.[1];
export const language = asked || (navigator.language?.startsWith("de") ? "de" : "en");
const column = language === "de" ? 1 : 0;

// A text of the table, with what stands in its braces.
export function t(key, given = {}) {
  const text = TABLE[key]?.[column] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name) => given[name] ?? all);
}

// One of many: `key.1` where there is one of it.
export const counted = (key, n, given = {}) => t(n === 1 && TABLE[`${key}.1`] ? `${key}.1` : key, { n: number(n), ...given });

// A text that came in both languages.
export const own = (texts) => (Array.isArray(texts) ? texts[column] ?? texts[0] : texts);

// How many of those who answer, by what the mechanism calls one.
export const whose = (n, one) => t(`who.${one}${n === 1 ? "" : "s"}`);

export const number = (value, digits = 0) => value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const percent = (share, digits = share < 0.0995 && share > 0 ? 2 : 0) => `${number(100 * share, digits)}\u00a0%`;
export const clock = (at_s) => new Date(1000 * at_s).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
export const date = (at_s) => new Date(1000 * at_s).toLocaleDateString(language, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
export const moment = (at_s) => `${date(at_s)}, ${clock(at_s)}`;

function span(past_s, key) {
  if (past_s < 5400) return t(`${key}.min`, { n: Math.max(Math.round(past_s / 60), 1) });
  return past_s < 172_800 ? t(`${key}.h`, { n: Math.round(past_s / 3600) }) : t(`${key}.d`, { n: Math.round(past_s / 86_400) });
}

// How long ago, and how old, as one says it.
export const ago = (then_s) => (Date.now() / 1000 - then_s < 90 ? t("ago.now") : span(Date.now() / 1000 - then_s, "ago"));
export const age = (past_s) => (past_s < 90 ? t("age.s", { n: Math.max(Math.round(past_s), 0) }) : span(past_s, "age"));

export const at = (id) => document.getElementById(id);

// Set a text only where it is another, so that nothing is read out twice.
export function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

export function make(tag, text, given = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
  return element;
}

export function fillList(list, texts) {
  list.replaceChildren(...texts.map((text) => make("li", text)));
}

export function makeRow(...cells) {
  const line = document.createElement("tr");
  line.append(...cells.map((cell, i) => {
    const one = make(i ? "td" : "th", "", i ? {} : { scope: "row" });
    one.append(cell);
    return one;
  }));
  return line;
}

// The words that stand in the page itself: texts, and names that are only heard.
export function dress() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", t(element.dataset.label));
    if (element.type === "search") element.placeholder = t(element.dataset.label);
  }
}
