// Every word of the page, English and German, and how figures, times and tables are written.
// Texts go where they belong as text, never as markup.

const TABLE = {
  "skip": ["To the map", "Zur Karte"],
  "link.waiting": ["connecting", "verbindet"],
  "link.live": ["live", "live"],
  "link.ill": ["live, but something does not work", "live, aber etwas arbeitet nicht"],
  "link.lost": ["no connection", "keine Verbindung"],
  "link.locked": ["locked", "gesperrt"],
  "link.without": ["This browser cannot follow what happens, so it gets no map. Please use another or a newer one.", "Dieser Browser kann nicht verfolgen, was geschieht, und bekommt daher keine Karte. Bitte nehmen Sie einen anderen oder neueren."],
  "language": ["Deutsch", "English"],
  "leave": ["Sign out", "Abmelden"],
  "leave.viewer": ["Sign out (viewer)", "Abmelden (Zuschauer)"],
  "login.title": ["Sign in to see this page", "Zum Ansehen bitte anmelden"],
  "login.token": ["Access token", "Zugangsschlüssel"],
  "login.open": ["Open", "Öffnen"],
  "login.where": ["Whoever looks after the gateway can tell you: it is on the gateway's machine, in the file that token_file or viewer_token_file under [page] names.", "Wer das Gateway betreut, kennt ihn: er steht auf dessen Rechner in der Datei, die token_file oder viewer_token_file unter [page] nennt."],
  "login.wrong": ["That token does not open this page.", "Dieser Schlüssel öffnet die Seite nicht."],
  "login.many": ["Too many wrong tokens: wait a minute, then try again.", "Zu viele falsche Schlüssel: warten Sie eine Minute, dann noch einmal."],
  "trouble.alarm": ["{n} {who} may need a new key: see which, and why", "{n} {who} brauchen vielleicht einen neuen Schlüssel: sehen Sie nach, welche und warum"],
  "trouble.alarm.1": ["1 {who} may need a new key: see which, and why", "1 {who} braucht vielleicht einen neuen Schlüssel: sehen Sie nach, welcher und warum"],
  "trouble.out": ["{n} {who} shut out", "{n} {who} ausgesperrt"],
  "trouble.times": ["{why} ({n} times)", "{why} ({n}-mal)"],
  "part.store": ["Database", "Datenbank"],
  "part.disk": ["Disk", "Festplatte"],
  "part.broker": ["Message broker", "Nachrichtenvermittler"],
  "part.solver": ["Drawing of maps", "Zeichnen der Karten"],
  "part.rounds": ["Rounds of asking", "Fragerunden"],
  "part.workers": ["Other gateways", "Andere Gateways"],
  "layer.chance": ["Where sources may be", "Wo Quellen sein können"],
  "layer.share": ["How the warmth is shared out", "Wie sich die Wärme verteilt"],
  "layer.where": ["Where", "Wo"],
  "layer.sd": ["How sure", "Wie sicher"],
  "layers": ["What the map shows", "Was die Karte zeigt"],
  "legend.chance": ["how likely a source of warmth is in one little square{size}", "wie wahrscheinlich in einem kleinen Quadrat{size} eine Wärmequelle ist"],
  "legend.warmth": ["share of all warmth that is in one little square{size}", "Anteil der ganzen Wärme in einem kleinen Quadrat{size}"],
  "legend.people": ["share of all people who are in one little square{size}", "Anteil aller Personen in einem kleinen Quadrat{size}"],
  "legend.sd": ["how far the share of one little square{size} is off at most (68 % sure): bright is unsure", "um wie viel der Anteil eines kleinen Quadrats{size} höchstens danebenliegt (zu 68 % sicher): hell ist unsicher"],
  "legend.half": ["how far the share of one area is off at most ({p} sure): bright is unsure", "um wie viel der Anteil einer Fläche höchstens danebenliegt (zu {p} sicher): hell ist unsicher"],
  "legend.size": [" ({m} wide)", " ({m} breit)"],
  "legend.hills": ["violet: where a source of warmth may be", "violett: wo eine Wärmequelle sein kann"],
  "legend.ring": ["ring: {p} sure that the source is inside", "Ring: zu {p} sicher, dass die Quelle darin ist"],
  "legend.cross": ["cross: where the source most likely is", "Kreuz: wo die Quelle am wahrscheinlichsten ist"],
  "legend.hatched": ["striped: too few to say whether anybody is there", "gestreift: zu wenige, um zu sagen, ob dort jemand ist"],
  "legend.sensor": ["sensor", "Sensor"],
  "legend.silent": ["sensor that did not answer", "Sensor ohne Antwort"],
  "legend.plan": ["lines: walls, doors and furniture", "Linien: Wände, Türen und Möbel"],
  "tools.compare": ["Compare", "Vergleichen"],
  "tools.link": ["Copy link", "Link kopieren"],
  "tools.copied": ["The link to this view was copied.", "Der Link zu dieser Ansicht wurde kopiert."],
  "tools.uncopied": ["This browser lets a page copy only over https. The link to this view is {url}", "Dieser Browser lässt Seiten nur über https kopieren. Der Link zu dieser Ansicht ist {url}"],
  "tools.comparing": ["The second map stays. Choose another time for the first.", "Die zweite Karte bleibt stehen. Wählen Sie für die erste eine andere Zeit."],
  "tools": ["Keep or share this view", "Diese Ansicht behalten oder teilen"],
  "time.before": ["Day before", "Tag davor"],
  "time.after": ["Day after", "Tag danach"],
  "time.day": ["Day", "Tag"],
  "time.play": ["Play the day", "Tag abspielen"],
  "time.pause": ["Pause", "Anhalten"],
  "time.live": ["Live", "Live"],
  "time.newer": ["Live: new map", "Live: neue Karte"],
  "time.when": ["Time of the map that is shown", "Zeit der gezeigten Karte"],
  "time.none": ["There was no round on this day.", "An diesem Tag gab es keine Runde."],
  "time.first": ["The first round was on {day}; nothing is known of the time before.", "Die erste Runde war am {day}; von der Zeit davor ist nichts bekannt."],
  "time.unknown": ["There is no round {n} here, so you see the newest map.", "Eine Runde {n} gibt es hier nicht, daher sehen Sie die neueste Karte."],
  "time.alone": ["There is no round {n} here to compare with.", "Eine Runde {n} zum Vergleichen gibt es hier nicht."],
  "time.note": ["Each bar is a round, in which everything is asked once; the higher, the more answered. Grey: no map came of it.", "Jeder Balken ist eine Runde, in der alle einmal gefragt werden; je höher, desto mehr antworteten. Grau: daraus wurde keine Karte."],
  "map.none": ["no map", "keine Karte"],
  "map.first": ["The first map appears when the first answers are in.", "Die erste Karte erscheint, wenn die ersten Antworten da sind."],
  "map.round": ["Round {n}", "Runde {n}"],
  "map.because": ["Round {n}: {why}.", "Runde {n}: {why}."],
  "map.nobody": ["No warmth of a person is seen ({p} sure); this is no proof that nobody is there.", "Keine Wärme einer Person ist zu sehen ({p} sicher); das beweist nicht, dass niemand da ist."],
  "map.answers": ["from {n} answers", "aus {n} Antworten"],
  "map.last": ["last map: the promise allows no more rounds", "letzte Karte: das Versprechen erlaubt keine weiteren Runden"],
  "map.ended": ["last map: no more rounds are planned", "letzte Karte: weitere Runden sind nicht vorgesehen"],
  "map.exactly": ["Exactly: {why}.", "Genau: {why}."],
  "map.stale": ["No newer map has come.", "Es kam keine neuere Karte."],
  "map.aged": ["This map is {age} old.", "Diese Karte ist {age} alt."],
  "map.gone": ["No connection to the gateway since {at}. The page keeps trying by itself.", "Seit {at} keine Verbindung zum Gateway. Die Seite versucht es von selbst weiter."],
  "sure.off": ["This map may be off by about {far}, in any direction.", "Diese Karte kann um etwa {far} danebenliegen, in jeder Richtung."],
  "sure.blind": ["This map may be off by about {far}, in any direction (a guess without sensors would be about {blind} off).", "Diese Karte kann um etwa {far} danebenliegen, in jeder Richtung (ohne Sensoren geraten wären es etwa {blind})."],
  "sure.people": ["The fullest square holds {share} of all people, off by at most {sd} (68 % sure). Any one square may be off by about {off}; if everybody were spread evenly, each would hold {even}.", "Im vollsten Quadrat sind {share} aller Personen, höchstens {sd} daneben (zu 68 % sicher). Ein Quadrat kann um etwa {off} danebenliegen; wären alle gleich verteilt, wären in jedem {even}."],
  "sure.block": ["{between} of all people are near {place} ({p} sure). Striped: too few to say whether anybody is there.", "{between} aller Personen sind bei {place} (zu {p} sicher). Gestreift: zu wenige, um zu sagen, ob dort jemand ist."],
  "sure.coarse": ["{between} of all people are somewhere from {place} ({p} sure); where in there cannot be told. Striped: too few to say whether anybody is there.", "{between} aller Personen sind irgendwo von {place} (zu {p} sicher); wo darin, ist nicht zu sagen. Gestreift: zu wenige, um zu sagen, ob dort jemand ist."],
  "sure.apart": ["The answers do not show any place to be fuller than another.", "Die Antworten zeigen keinen Ort, der voller wäre als ein anderer."],
  "read.block": ["{place}: {between} of all people in these {x} × {y} squares", "{place}: {between} aller Personen in diesen {x} × {y} Quadraten"],
  "read.cell": ["{place}: {share}", "{place}: {share}"],
  "read.sd": ["{place}: {share}, off by at most {sd} (68 % sure)", "{place}: {share}, höchstens {sd} daneben (zu 68 % sicher)"],
  "read.earth": ["latitude {lat}°, longitude {lon}°", "Breite {lat}°, Länge {lon}°"],
  "place.block": ["{x} along, {y} across", "{x} längs, {y} quer"],
  "place.range": ["{from} to {to}", "{from} bis {to}"],
  "verdict.assumptions": ["Do not trust this map: what was sent does not fit the room file. An open window, a heater, more or warmer sources or a broken sensor can be the cause. Whoever set this up should compare the room file with the room.", "Trauen Sie dieser Karte nicht: was gesendet wurde, passt nicht zur Raumdatei. Ein offenes Fenster, eine Heizung, mehr oder wärmere Quellen oder ein defekter Sensor können der Grund sein. Wer dies eingerichtet hat, sollte die Raumdatei mit dem Raum vergleichen."],
  "verdict.assumptions.people": ["Do not trust this map: the answers do not fit any way in which people could be spread. Some devices are set up differently, or some answers are false; tell whoever runs the gateway.", "Trauen Sie dieser Karte nicht: die Antworten passen zu keiner Verteilung von Personen. Manche Geräte sind anders eingestellt, oder manche Antworten sind falsch; sagen Sie es dem, der das Gateway betreibt."],
  "verdict.clamp": ["Do not trust this map: at {sensors} it is warmer or colder than a sensor can say. Tell whoever set this up.", "Trauen Sie dieser Karte nicht: bei {sensors} ist es wärmer oder kälter, als ein Sensor sagen kann. Sagen Sie es dem, der dies eingerichtet hat."],
  "verdict.sensors": ["Left out of this map because it does not fit the rest: what the sensor at {sensors} sent.", "Nicht in dieser Karte, weil es nicht zum Übrigen passt: was der Sensor bei {sensors} gesendet hat."],
  "verdict.scatter": ["The sensors' readings vary more than they should; the map allows for that. You need do nothing.", "Die Messwerte der Sensoren schwanken mehr, als sie sollten; die Karte rechnet damit. Sie brauchen nichts zu tun."],
  "verdict.other": ["The readings do not fit the room as it was set up; the map allows for that. You need do nothing.", "Die Messwerte passen nicht zum Raum, wie er eingerichtet ist; die Karte rechnet damit. Sie brauchen nichts zu tun."],
  "verdict.weak": ["This map is hardly better than a guess.", "Diese Karte ist kaum besser als geraten."],
  "count": ["There are {low} to {high} sources of warmth ({p} sure), most likely {n}.", "Es gibt {low} bis {high} Wärmequellen (zu {p} sicher), am wahrscheinlichsten {n}."],
  "count.exact": ["There are {n} sources of warmth ({p} sure).", "Es gibt {n} Wärmequellen (zu {p} sicher)."],
  "count.exact.1": ["There is 1 source of warmth ({p} sure).", "Es gibt 1 Wärmequelle (zu {p} sicher)."],
  "count.exact.0": ["There is no source of warmth ({p} sure).", "Es gibt keine Wärmequelle (zu {p} sicher)."],
  "count.several": ["A place that is named holds several of them.", "An einem der genannten Orte sind mehrere."],
  "count.empty": ["It is possible that nobody is there.", "Möglich ist auch, dass niemand da ist."],
  "sources.near": ["Near", "Bei"],
  "sources.share.warmth": ["Share of all warmth", "Anteil der ganzen Wärme"],
  "sources.share.people": ["Share of all people", "Anteil aller Personen"],
  "sources.within": ["Off by at most ({p} sure)", "Höchstens daneben (zu {p} sicher)"],
  "sources.unknown": ["not known", "nicht bekannt"],
  "sources.none": ["No map has been drawn yet.", "Noch ist keine Karte gezeichnet."],
  "sources.empty": ["This round has no map, so no place is named.", "Diese Runde hat keine Karte, daher wird kein Ort genannt."],
  "sources.doubt": ["No place is named while the map cannot be trusted.", "Solange der Karte nicht zu trauen ist, wird kein Ort genannt."],
  "sources.spread": ["The warmth is spread out: no place stands out.", "Die Wärme ist verteilt: kein Ort sticht hervor."],
  "sources.where": ["The first number is metres along the room, the second metres across it.", "Die erste Zahl sind Meter entlang des Raums, die zweite Meter quer dazu."],
  "sources.people": ["Only people whose device answered are counted.", "Gezählt sind nur Personen, deren Gerät geantwortet hat."],
  "sources.between": ["Between", "Zwischen"],
  "sources.blocks": ["{p} sure: all these shares lie between their two numbers. Only people whose device answered are counted.", "Zu {p} sicher: alle diese Anteile liegen zwischen ihren zwei Zahlen. Gezählt sind nur Personen, deren Gerät geantwortet hat."],
  "unit.W": ["Strength is in watts of heat; a person who sits gives off about 70.", "Die Stärke ist in Watt Wärme; wer sitzt, gibt etwa 70 ab."],
  "unit.K m": ["Strength: 1 K m: one metre of the room 1 degree warmer.", "Stärke: 1 K m: ein Meter des Raums 1 Grad wärmer."],
  "unit.K m²": ["Strength: 1 K m²: one square metre 1 degree warmer.", "Stärke: 1 K m²: ein Quadratmeter 1 Grad wärmer."],
  "unit.": ["Strength: 1.00 is the strongest single source that this map allows for.", "Stärke: 1,00 ist die stärkste einzelne Quelle, die diese Karte für möglich hält."],
  "round.title": ["Latest round", "Letzte Runde"],
  "round.answered": ["{came} of {all} {who} answered", "{who}: {came} von {all} haben geantwortet"],
  "round.asking": ["asking {all} {who}", "fragt {all} {who}"],
  "round.none": ["Nothing has been asked yet.", "Noch wurde nichts gefragt."],
  "round.missing": ["{n} missing", "{n} fehlen"],
  "round.late": ["{n} late", "{n} zu spät"],
  "round.quorum": ["{n} needed for a map", "{n} für eine Karte nötig"],
  "round.refused": ["{n} messages were not accepted", "{n} Nachrichten wurden nicht angenommen"],
  "round.refused.1": ["1 message was not accepted", "1 Nachricht wurde nicht angenommen"],
  "round.closed": ["Round {n} ended {ago}", "Runde {n} endete {ago}"],
  "round.done": ["no more rounds: {why}", "keine Runden mehr: {why}"],
  "round.bar": ["how many have answered", "wie viele geantwortet haben"],
  "budget.title": ["How often may still be asked", "Wie oft noch gefragt werden darf"],
  "budget.left": ["{n} rounds left", "noch {n} Runden"],
  "budget.left.1": ["1 round left", "noch 1 Runde"],
  "budget.out": ["Lasts until {day}. Then asking stops until whoever runs the gateway gives the devices new keys (heatveil rotate).", "Reicht bis {day}. Dann wird nicht mehr gefragt, bis der Betreiber des Gateways den Geräten neue Schlüssel gibt (heatveil rotate)."],
  "budget.window": ["This renews itself: what was asked more than about {n} h ago no longer counts.", "Das erneuert sich von selbst: was vor mehr als etwa {n} h gefragt wurde, zählt nicht mehr."],
  "budget.now": ["All is normal: asking pauses, nothing to do. The next round comes when the last ones are about {n} h old.", "Alles ist in Ordnung: das Fragen pausiert, nichts ist zu tun. Die nächste Runde kommt, wenn die letzten etwa {n} h alt sind."],
  "budget.gone": ["Asking has stopped until whoever runs the gateway gives the devices new keys (heatveil rotate).", "Es wird nicht mehr gefragt, bis der Betreiber des Gateways den Geräten neue Schlüssel gibt (heatveil rotate)."],
  "budget.each": ["{p} of what may be asked is used up (each device: epsilon {gone} of {all})", "{p} dessen, was gefragt werden darf, sind verbraucht (je Gerät: epsilon {gone} von {all})"],
  "budget.all": ["{p} of what may be asked is used up (all together: epsilon {gone} of {all})", "{p} dessen, was gefragt werden darf, sind verbraucht (alle zusammen: epsilon {gone} von {all})"],
  "budget.unknown": ["not known yet", "noch nicht bekannt"],
  "budget.bar": ["part that is used up", "verbrauchter Teil"],
  "storey.title": ["All rooms of this floor", "Alle Räume dieser Etage"],
  "storey.room": ["Room", "Raum"],
  "storey.here": ["{room} (this page)", "{room} (diese Seite)"],
  "storey.map": ["Map", "Karte"],
  "storey.old": ["{at}, too old", "{at}, zu alt"],
  "storey.doubted": ["{at}, not to be trusted", "{at}, nicht zu trauen"],
  "storey.scale.people": ["people in a square metre", "Personen auf einem Quadratmeter"],
  "storey.scale.W": ["watts of heat in a square metre", "Watt Wärme auf einem Quadratmeter"],
  "storey.scale.K m²": ["degrees warmer, on average", "Grad wärmer, im Mittel"],
  "storey.note": ["One colour means as much in every room. Grey: a map that is too old, or not to be trusted. Each room has a promise of its own, which its own page shows; no more of a room is shown here than there.", "Eine Farbe bedeutet in jedem Raum gleich viel. Grau: eine Karte, die zu alt oder der nicht zu trauen ist. Jeder Raum hat ein eigenes Versprechen, das seine eigene Seite zeigt; hier ist von keinem Raum mehr zu sehen als dort."],
  "devices.heard": ["Last heard", "Zuletzt gehört"],
  "devices.state": ["State", "Zustand"],
  "devices.left": ["Left to ask", "Noch zu fragen"],
  "devices.find": ["Find by name", "Nach Namen suchen"],
  "devices.show": ["Show", "Zeigen"],
  "devices.all": ["all", "alle"],
  "devices.bad": ["those that need attention", "die, die jemanden brauchen"],
  "devices.out": ["shut out", "ausgesperrt"],
  "devices.key": ["needs new key", "braucht neuen Schlüssel"],
  "devices.never": ["has never answered", "hat nie geantwortet"],
  "devices.silent": ["silent", "schweigt"],
  "devices.answers": ["answers", "antwortet"],
  "devices.since": ["never", "nie"],
  "devices.some": ["{n} of {all} {who} did not answer the last round or are shut out.", "{who}: {n} von {all} haben die letzte Runde nicht beantwortet oder sind ausgesperrt."],
  "devices.good": ["All {all} {who} answered the last round.", "Alle {all} {who} haben die letzte Runde beantwortet."],
  "devices.most": ["{n} fit; the first {most} are shown.", "{n} passen; die ersten {most} sind zu sehen."],
  "devices.fit": ["Nothing fits this search.", "Nichts passt zu dieser Suche."],
  "wire.clear": ["The connection to the message broker is not encrypted: anybody on its network can read, change and forge what is sent.", "Die Verbindung zum Nachrichtenvermittler ist unverschlüsselt: wer in dessen Netz ist, kann mitlesen, ändern und fälschen."],
  "wire.none": ["no readings yet", "noch keine Messwerte"],
  "wire.readings": ["{n} blurred readings, {low} to {high}", "{n} verwischte Messwerte, {low} bis {high}"],
  "wire.degrees": ["{n} degrees", "{n} Grad"],
  "wire.answers": ["{n} answers over {x} by {y} squares, at most {most} in one", "{n} Antworten auf {x} mal {y} Quadrate, höchstens {most} in einem"],
  "promise.title": ["What is promised, and what is not", "Was versprochen ist und was nicht"],
  "promise.more": ["What exactly is promised", "Was genau versprochen ist"],
  "promise.language": ["", "Übersetzt; was zählt, ist der englische Wortlaut."],
  "promise.first": ["The promise is printed with the first map.", "Das Versprechen steht bei der ersten Karte."],
  "promise.curve": ["Somebody who sees all that is sent guesses at which of two places a source is. The curve says how often that guess is right at best, by how far apart the places are. 50 % is a blind guess.", "Jemand, der alles Gesendete sieht, rät, an welchem von zwei Orten eine Quelle ist. Die Kurve sagt, wie oft das höchstens gelingt, je nach deren Abstand. 50 % ist blind geraten."],
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
  // What the gateway says, by its code.
  "said.broker.silent": ["nobody answers at {place}. Start the message broker there, or correct its address.", "unter {place} antwortet niemand. Starten Sie dort den Nachrichtenvermittler, oder berichtigen Sie seine Adresse."],
  "said.broker.refuses": ["the broker at {place} does not let the gateway in ({why}). Its user name or password is wrong, or its access list forbids it.", "der Vermittler unter {place} lässt das Gateway nicht ein ({why}). Benutzername oder Passwort sind falsch, oder seine Zugriffsliste verbietet es."],
  "said.broker.gone": ["the message broker does not answer.", "der Nachrichtenvermittler antwortet nicht."],
  "said.broker.certificate": ["{place} shows a certificate that the gateway cannot trust, so nothing is sent there. The log says why.", "{place} zeigt ein Zertifikat, dem das Gateway nicht trauen kann; deshalb wird dorthin nichts gesendet. Das Protokoll sagt, warum."],
  "said.broker.clear": ["{place} does not encrypt, so nothing is sent there. Give it a certificate.", "{place} verschlüsselt nicht; deshalb wird dorthin nichts gesendet. Geben Sie ihm ein Zertifikat."],
  "said.store.refuses": ["what comes cannot be written down; devices keep it and send it again. The log says why.", "was kommt, lässt sich nicht aufschreiben; die Geräte behalten es und senden es noch einmal. Das Protokoll sagt, warum."],
  "said.store.silent": ["the database does not answer.", "die Datenbank antwortet nicht."],
  "said.disk.full": ["less than {mb} MB are free. Nothing more is taken until there is room; devices keep what they have.", "weniger als {mb} MB sind frei. Bis Platz ist, wird nichts mehr angenommen; die Geräte behalten, was sie haben."],
  "said.solver.slow": ["no map was ready within {limit} s. The next round tries again.", "in {limit} s wurde keine Karte fertig. Die nächste Runde versucht es wieder."],
  "said.solver.died": ["the program that draws maps stopped and was started again.", "das Programm, das Karten zeichnet, brach ab und wurde neu gestartet."],
  "said.solver.failed": ["the program that draws maps failed. The log says why.", "das Programm, das Karten zeichnet, ist gescheitert. Das Protokoll sagt, warum."],
  "said.thread.ended": ["a part of the gateway has stopped. Start the gateway again.", "ein Teil des Gateways ist stehen geblieben. Starten Sie das Gateway neu."],
  "said.rounds.failed": ["rounds have stopped after a fault. The log says which.", "nach einem Fehler gibt es keine Runden mehr. Das Protokoll sagt, nach welchem."],
  "said.rounds.spent": ["asking pauses; all is normal, nothing to do. What may be asked in {hours} h has been asked; the next round comes by itself.", "das Fragen pausiert; alles ist in Ordnung, nichts ist zu tun. Was in {hours} h gefragt werden darf, ist gefragt; die nächste Runde kommt von selbst."],
  "said.rounds.awaited": ["none begins until the broker has said which round it holds.", "keine beginnt, bis der Vermittler gesagt hat, welche Runde er hält."],
  "said.rounds.hindered": ["none begins until the other parts work.", "keine beginnt, bis die anderen Teile arbeiten."],
  "said.rounds.hours": ["asking pauses; all is normal, nothing to do. Rounds are from {first} to {last} only.", "das Fragen pausiert; alles ist in Ordnung, nichts ist zu tun. Runden gibt es nur von {first} bis {last}."],
  "said.rounds.standby": ["another gateway leads this site; this one takes over when that is gone.", "ein anderes Gateway führt diesen Standort; dieses übernimmt, wenn jenes fort ist."],
  "said.workers.part": ["nobody looks after part {parts} of the devices; what they send waits.", "um Teil {parts} der Geräte kümmert sich niemand; was sie senden, wartet."],
  "said.workers.none": ["none is at work.", "keines ist an der Arbeit."],
  "said.alarm.changed": ["{device} sent message {number} twice with different content, which weakens the privacy of what it measured. Give it a new key.", "{device} sandte Nachricht {number} zweimal mit verschiedenem Inhalt; das schwächt den Schutz dessen, was es gemessen hat. Geben Sie ihm einen neuen Schlüssel."],
  "said.alarm.double": ["two boards speak as {device} in turns, or the broker holds its messages back again and again: look which. Of two boards one is a copy: switch it off, and give {device} a new key.", "zwei Geräte sprechen abwechselnd als {device}, oder der Vermittler hält seine Nachrichten immer wieder zurück: sehen Sie nach. Von zwei Geräten ist eines eine Kopie: schalten Sie sie aus, und geben Sie {device} einen neuen Schlüssel."],
  "said.alarm.future": ["{device} counts its messages further than any device can. It is damaged, or somebody has its key: look which, and give it a new key.", "{device} zählt seine Nachrichten weiter, als ein Gerät kann. Es ist beschädigt, oder jemand hat seinen Schlüssel: sehen Sie nach, und geben Sie ihm einen neuen."],
  "said.alarm.replayed": ["{device} sent message {number} after {last}. Its memory was reset, or a second board uses its name, or the broker held a message back: find out which. In the first two cases give it a new key.", "{device} sandte Nachricht {number} nach {last}. Sein Speicher wurde zurückgesetzt, es hat einen Doppelgänger, oder der Vermittler hielt eine Nachricht zurück: sehen Sie nach. In den ersten beiden Fällen geben Sie ihm einen neuen Schlüssel."],
  "said.out.flood": ["it sent far more messages than it should", "es sandte viel mehr Nachrichten, als es soll"],
  "said.out.forged": ["it sent too many messages that are not its own", "es sandte zu viele Nachrichten, die nicht von ihm sind"],
  "said.out.lied": ["it cheated when devices added up together", "es hat beim gemeinsamen Zusammenzählen betrogen"],
  "said.out.hand": ["by hand", "von Hand"],
  "said.map.silence": ["no device answered. They are off or cut off, or refuse to answer", "niemand hat geantwortet. Die Geräte sind aus oder abgeschnitten, oder sie weigern sich"],
  "said.map.few": ["{came} of {enrolled} answered, and a map needs {quorum}", "{came} von {enrolled} haben geantwortet, und eine Karte braucht {quorum}"],
  "said.map.unheard": ["no sensor was heard. Look at the sensors' connection", "kein Sensor war zu hören. Sehen Sie nach der Verbindung der Sensoren"],
  "said.map.unheard.empty": ["no sensor was heard yet both in the empty room and after it. Wait for answers", "noch war kein Sensor sowohl im leeren Raum als auch danach zu hören. Warten Sie auf Antworten"],
  "said.map.unanswered": ["no device answered. Look at the devices' connection", "kein Gerät hat geantwortet. Sehen Sie nach der Verbindung der Geräte"],
  "said.map.shards": ["too few devices took part together", "zu wenige Geräte haben zusammen teilgenommen"],
  "said.map.misfit": ["what was sent does not fit the room as it was set up, so no map is drawn", "was gesendet wurde, passt nicht zum Raum, wie er eingerichtet ist; deshalb wird keine Karte gezeichnet"],
  "said.map.clamp": ["it is warmer or colder at sensor {sensors} than a sensor can say, so no map is drawn", "bei Sensor {sensors} ist es wärmer oder kälter, als ein Sensor sagen kann; deshalb wird keine Karte gezeichnet"],
  "said.floor.unread": ["its map cannot be read from here. Its gateway has not run yet, or its disk is away", "seine Karte lässt sich von hier nicht lesen. Sein Gateway lief noch nie, oder dessen Festplatte ist fort"],
  "said.floor.none": ["no map of that time", "keine Karte aus dieser Zeit"],
  "said.done.asked": ["all rounds that were ordered have been run", "alle bestellten Runden sind gelaufen"],
  "said.done.epsilon": ["no more may be asked", "mehr darf nicht gefragt werden"],
  "said.done.readings": ["all {rounds} that the promise allows have been run", "alle {rounds}, die das Versprechen erlaubt, sind gelaufen"],
  // What it says for whoever wants it exactly, and what is promised: in English as it is.
  "exact.guarantee.protected": ["", "Geschützt: {neighbours}."],
  "exact.guarantee.over": ["", "über {share}"],
  "exact.guarantee.trust": ["", "Vertrauen muss man: {trust}."],
  "exact.guarantee.not": ["", "Nicht geschützt: {unprotected}."],
  "exact.guarantee.holds": ["", "Das gilt für {span}."],
  "exact.guarantee.odds": ["", "Was veröffentlicht wird, verschiebt die Chancen, zwischen zwei solchen Fällen richtig zu raten, höchstens um den Faktor {factor} (epsilon {epsilon})"],
  "exact.guarantee.but": ["", ", außer mit Wahrscheinlichkeit {delta} (delta)."],
  "exact.guarantee.life": ["", "das Fenster von {answers}"],
  "exact.guarantee.window": ["", "beliebige {hours} Stunden, wann immer sie beginnen (wer k-mal so lange bleibt, den kostet es k-mal so viel {unit}), mit höchstens {answers} darin"],
  "exact.guarantee.together": ["", "{window} zusammen"],
  "exact.guarantee.reports": ["", "{n} Antwort(en) eines Geräts"],
  "exact.guarantee.last": ["", "; der Ort, den ein Empfänger zuletzt angab, gilt als einer, an dem das Gerät noch ist"],
  "exact.guarantee.source": ["", "eine Quelle rückt um {far}, alles andere bleibt gleich, wenn keine Quelle stärker als {most} ist, Quellen an den Orten der Felder stehen, die Wärme sich um {least} {spread} ausgebreitet hat, {converter}und {walls}"],
  "exact.guarantee.metres": ["", "höchstens {far} m"],
  "exact.guarantee.cells": ["", "höchstens {n} Feld(er) von 1/{all} des Raums"],
  "exact.guarantee.exactly": ["", "genau"],
  "exact.guarantee.least": ["", "mindestens"],
  "exact.guarantee.walls.none": ["", "es keine Wände gibt"],
  "exact.guarantee.walls": ["", "keine Wärme durch die Wände geht"],
  "exact.guarantee.path": ["", "der Weg einer Quelle ist in jedem Augenblick um {far} verschoben, {way}, alles andere bleibt gleich, wenn keine Quelle mehr als {most} W abgibt, {converter}und der Raum auf Wärme antwortet wie das Modell des Raums {room} (Antwort {digest}), über die {hours} h, seit er leer und in Ruhe war ({doors})"],
  "exact.guarantee.through": ["", "auch durch Wände"],
  "exact.guarantee.foot": ["", "zu Fuß, nie durch eine Wand oder eine Tür, die dann geschlossen ist"],
  "exact.guarantee.steps": ["", "Wandler in ganzen Schritten von {step}{behind} anzeigen, "],
  "exact.guarantee.behind": ["", " dessen, was andere in Schritten von höchstens {count} zeigen"],
  "exact.guarantee.trust.keyholder": ["", "niemandem (lokal): jedes Gerät verwischt seine eigenen Messwerte, für alle, die die Verschlüsselung nicht brechen können (SIM-CDP); gegen den, der die Schlüssel der Geräte hält, ist nichts versprochen"],
  "exact.guarantee.trust.local": ["", "niemandem (lokal): jedes Gerät verwischt seine eigenen Messwerte, ehe sie es verlassen, und niemand hat einen Schlüssel dazu"],
  "exact.guarantee.trust.seeded": ["", "allen, denn dies ist nicht privat: es war ein Versuch mit --seed, und wer diesen kennt, kann das Rauschen wiederholen und abziehen"],
  "exact.guarantee.readings": ["", "{n} Messung(en) jedes Sensors"],
  "exact.guarantee.tables": ["", "{window} zusammen, mit Rauschen aus Tabellen, die ein Teil von delta bezahlt"],
  "exact.guarantee.level": ["", ", jede abzüglich eines Nullpunkts, der ihr um höchstens {slew} je Antwort folgt und dort beginnt, wo er im leeren Raum aufgenommen wurde, wenn ein Gerät startet und wieder nach {n} Antworten, alle"],
  "exact.guarantee.not.warmth": ["", "dass jemand da ist, wie viele es sind und wie warm; dass es ein Gerät gibt und wann es spricht; und je weiter eine Quelle rückt, desto weniger davon ist verborgen"],
  "exact.guarantee.not.beyond": ["", "; eine stärkere Quelle; und was der wirkliche Raum anders macht als sein Modell"],
  "exact.guarantee.not.lingers": ["", "; Wärme, die von früher bleibt, gilt als Quelle, die noch dort steht"],
  "exact.guarantee.not.room": ["", "in welchem der durch Wände und geschlossene Türen getrennten Räume jemand ist; "],
  "exact.guarantee.chances": ["", "Wer alles sieht, was die Sensoren senden, und alles weiß außer wo eine Quelle steht, kann ihren Ort höchstens so oft richtig sagen: {away} (die Hälfte ist blind geraten)."],
  "exact.guarantee.away": ["", "{share} bei {far} Abstand"],
  "exact.guarantee.formally": ["", "Formal: epsilon {epsilon}, delta {delta}."],
  "exact.guarantee.formally.pure": ["", "Formal: epsilon {epsilon}, und kein delta."],
  "exact.guarantee.chance": ["", "Wer alles sieht, was ein Gerät sendet, und weiß, dass es in einem von zwei Feldern war, kann höchstens in {sure} der Fälle sagen, in welchem (die Hälfte ist blind geraten); die Chancen jedes Ratens verschieben sich höchstens um den Faktor {factor}."],
  "exact.guarantee.cell": ["", "in welchem von zwei beliebigen Feldern ein Gerät ist"],
  "exact.guarantee.trust.cell": ["", "niemandem (lokal): jedes Gerät verwischt sein eigenes Feld, ehe es das Gerät verlässt, und niemand hat einen Schlüssel dazu"],
  "exact.guarantee.not.cell": ["", "dass jemand da ist und antwortet, wann, und wer es ist; wie viele da sind; weitere Antworten; und wer tagelang in einem Feld bleibt, ist nur so weit verborgen, wie ganz epsilon reicht"],
  "exact.guarantee.points": ["", "wo alle Punkte eines Nutzers sind, in jeder Veröffentlichung"],
  "exact.guarantee.trust.sums": ["", "dem Gateway (zentral): es sieht jeden Ort, verwischt die Summen und vergisst die Orte"],
  "exact.guarantee.releases": ["", "{n} Veröffentlichung(en), mit {points} Punkt(en) eines Nutzers in jeder"],
  "exact.guarantee.not.points": ["", "dass jemand da ist und antwortet, wann, und wer es ist; wie viele antworten; Punkte über die hinaus, die zählen; und weitere Fenster"],
  "exact.guarantee.report": ["", "was ein Gerät meldet, oder nichts an dessen Stelle"],
  "exact.guarantee.trust.report": ["", "dem Gateway (zentral): es sieht jede Antwort und verwischt deren Summe, ehe sie es verlässt, und niemand hat einen Schlüssel zum Rauschen"],
  "exact.guarantee.not.report": ["", "dass jemand da ist und antwortet, wann, und wie viele es tun; irgendetwas gegen das Gateway und den, der dort einbricht; weitere Antworten; und eine Menge von Orten eines Geräts von einer anderen zu unterscheiden kostet zweimal epsilon"],
  "exact.guarantee.not.sum": ["", "dass jemand da ist und teilnimmt, und wann; wie viele es tun; und Antworten über diese Runden hinaus"],
  "exact.guarantee.place": ["", "an welchem von zwei beliebigen Orten ein Gerät ist"],
  "exact.guarantee.trust.shard": ["", "vielen zusammen (verteilt): ein Gerät allein fügt kaum Rauschen hinzu, also darf niemand weniger sehen als die Summe über mindestens {threshold} Geräte, von denen höchstens {colluders} mit dem Gateway gemeinsame Sache machen, und niemand hat einen Schlüssel zu deren Rauschen. Dafür sorgt eine sichere Summe"],
  "exact.guarantee.marks": ["", "ob die Striche eines Geräts gezählt werden oder keine; dass es teilnimmt, ist bekannt"],
  "exact.guarantee.rounds": ["", "die Antworten eines Geräts auf alle Runden der Frage zusammen"],
  "exact.guarantee.trusted": ["", "Vertrauen muss man dem Gateway. Es sieht jeden Ort, bis das Rauschen darauf ist; wer es betreibt oder vorher dort einbricht, sieht ihn auch. Gegen alle anderen gilt das Versprechen."],
  "exact.map.misfit": ["", "keine Wärme innerhalb der Grenzen kommt den Messwerten näher als {residual}, und das Rauschen erklärt {radius}: durch Zufall, oder weil Ausbreitung, Wände, größte Stärke oder das eigene Rauschen der Sensoren falsch eingestellt sind. Messen Sie noch einmal, lassen Sie eine kleinere Wahrscheinlichkeit des Scheiterns zu, oder prüfen Sie diese Einstellungen"],
  "exact.map.clamp": ["", "Sensor {sensors} zeigt das Höchste oder Niedrigste, was ein Gerät kann; die Wahrheit liegt also darüber hinaus: es gibt mehr, wärmere oder nähere Quellen als angegeben, oder der Nullpunkt stimmt nicht. Er ist ausgelassen"],
  "exact.verdict.sensors": ["", "Sensor {sensors} widerspricht den anderen um so viele Standardabweichungen des Rauschens und ist ausgelassen"],
  "exact.verdict.scatter": ["", "die Sensoren streuen {times}-mal so stark wie angegeben, und die Karte rechnet damit"],
  "exact.verdict.odds": ["", "mehr als {n} Sensoren widersprechen allen anderen, um bis zu {most} Standardabweichungen des Rauschens: Sensoren sind defekt, oder das Rauschen ist anders als angegeben, oder Wärme hat sich nicht ausgebreitet"],
  "exact.verdict.contradicted": ["", "die Messwerte widersprechen dem, was über den Raum angegeben ist: keine danach mögliche Wärme kommt ihnen näher als {off} Standardabweichungen des Rauschens, und so weit liegt Rauschen allein in weniger als einer von {rounds} Runden daneben. Mehr oder wärmere Quellen als angegeben, eine andere Ausbreitung, Wände, Wärme von außen oder ein defekter Sensor können der Grund sein"],
  "exact.verdict.other": ["", "die Messwerte sprechen gegen das, was über den Raum und seine Quellen angegeben ist; am wahrscheinlichsten ist stattdessen: {likely}; die Karte rechnet damit"],
  "exact.verdict.other.powers": ["", "mehr oder andere Quellen"],
  "exact.verdict.other.room": ["", "mehr oder andere Quellen, und eine andere Ausbreitung, andere Wände oder Wärme von außen"],
  "exact.verdict.other.level": ["", "mehr oder andere Quellen, und ein verschobener Nullpunkt"],
  "exact.verdict.other.equal": ["", "eine andere Ausbreitung oder andere Wände"],
  "exact.verdict.other.equal level": ["", "eine andere Ausbreitung oder andere Wände, und ein verschobener Nullpunkt"],
  "exact.verdict.weak": ["", "sie ist der Wahrheit vielleicht kaum näher als geraten"],
  "exact.verdict.answers": ["", "keine Karte ergibt solche Antworten: Chi-Quadrat der nächsten ist um {off} seiner Standardabweichungen zu groß; manche Geräte antworten also mit anderen Gewichten, oder ihre Antworten sind gefälscht"],
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

// What the gateway says: by its code, or in its own words; what stands in it may be said so, too.
export function told({ why, code, fields = {} }, how = "said") {
  const words = Object.entries(fields).map(([name, one]) => [name, one?.why !== undefined ? told(one, how) : typeof one === "number" ? one.toLocaleString(language) : how === "exact" && column ? String(one).replace(/(\d)\.(\d)/g, "$1,$2") : one]);
  if (code === "parts") return words.map(([, one]) => one).join("");
  if (code === "list") return words.map(([, one], i) => (i < words.length - 1 ? one.replace(/\.$/, "") : one)).join("; ");
  return TABLE[`${how}.${code}`]?.[column] ? t(`${how}.${code}`, Object.fromEntries(words)) : why;
}
export const exactly = (sentence) => told(sentence, "exact");

// A text that came in both languages.
export const own = (texts) => (Array.isArray(texts) ? texts[column] ?? texts[0] : texts);

// How many of those who answer, by what the mechanism calls one.
export const whose = (n, one) => t(`who.${one}${n === 1 ? "" : "s"}`);

const formats = []; // by digits: to make one takes longer than to draw a map's row
export function number(value, digits = 0) {
  formats[digits] ??= new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return formats[digits].format(value);
}
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
