// Every word of the page, English and German, and how figures, times and tables are written.
// Texts go where they belong as text, never as markup.

const TABLE = {
  "skip": ["To the map", "Zur Karte"],
  "link.waiting": ["connecting", "verbindet"],
  "link.live": ["live", "live"],
  "link.ill": ["live, but something does not work", "live, aber etwas funktioniert nicht"],
  "link.lost": ["no connection", "keine Verbindung"],
  "link.locked": ["locked", "gesperrt"],
  "link.without": ["This browser is too old for the live map, so none will appear here. Open this page in another browser or a newer one.", "Dieser Browser ist zu alt für die Live-Karte, daher erscheint hier keine. Öffnen Sie diese Seite in einem anderen oder neueren Browser."],
  "link.old": ["browser too old", "Browser zu alt"],
  "language": ["Deutsch", "English"],
  "leave": ["Sign out", "Abmelden"],
  "leave.viewer": ["Sign out (viewer)", "Abmelden (Zuschauer)"],
  "login.title": ["Sign in to see this page", "Zum Ansehen bitte anmelden"],
  "login.token": ["Access code (token)", "Zugangscode (Token)"],
  "login.open": ["Open", "Öffnen"],
  "login.where": ["Ask the technician who looks after the gateway for the access code. (Technician: the gateway's deployment file names the file that holds it, as token_file or viewer_token_file under [page].)", "Fragen Sie die Technik, die das Gateway betreut, nach dem Zugangscode. (Für die Technik: Er steht in der Datei, die in der Einrichtungsdatei des Gateways unter [page] als token_file oder viewer_token_file eingetragen ist.)"],
  "login.wrong": ["This access code is wrong. Check it, or ask the technician.", "Dieser Zugangscode ist falsch. Prüfen Sie ihn, oder fragen Sie die Technik."],
  "login.many": ["Too many wrong access codes: wait a minute, then try again.", "Zu viele falsche Zugangscodes: Warten Sie eine Minute, und versuchen Sie es dann noch einmal."],
  "trouble.alarm": ["{n} {who} may need a new digital key: click to see names and reasons", "{n} {who} brauchen vielleicht einen neuen digitalen Schlüssel: klicken Sie hier für Namen und Gründe"],
  "trouble.alarm.1": ["1 {who} may need a new digital key: click to see its name and the reason", "1 {who} braucht vielleicht einen neuen digitalen Schlüssel: klicken Sie hier für Namen und Grund"],
  "trouble.out": ["{n} {who} blocked", "{n} {who} gesperrt"],
  "trouble.times": ["{why} ({n} times)", "{why} ({n}-mal)"],
  "part.store": ["Database", "Datenbank"],
  "part.disk": ["Disk", "Festplatte"],
  "part.broker": ["Messages", "Nachrichten"],
  "part.solver": ["Drawing of maps", "Zeichnen der Karten"],
  "part.rounds": ["Rounds", "Runden"],
  "part.workers": ["Gateway programs", "Gateway-Programme"],
  "layer.chance": ["Where sources may be", "Wo Quellen sein können"],
  "layer.share": ["How the warmth is spread", "Wie sich die Wärme verteilt"],
  "layer.where": ["Where", "Wo"],
  "layer.sd": ["How sure", "Wie sicher"],
  "layers": ["What the map shows", "Was die Karte zeigt"],
  "legend.chance": ["chance that a source of warmth is at one place{size}", "wie wahrscheinlich an einer Stelle{size} eine Wärmequelle ist"],
  "legend.warmth": ["share of the warmth from all sources that is at one place{size}", "wie viel Prozent der gesamten Wärme aller Quellen auf eine Stelle{size} entfallen"],
  "legend.people": ["share of all counted people who are at one place{size}", "wie viel Prozent aller gezählten Personen an einer Stelle{size} sind"],
  "legend.sd": ["how many percentage points the share at one place{size} may be off: in about two of three cases no more than this. Bright: unsure", "um so viele Prozentpunkte ist der Anteil an einer Stelle{size} in etwa zwei von drei Fällen höchstens falsch. Hell: unsicher"],
  "legend.half": ["for every patch of one colour (several squares together): its share of the people may be off by this many percentage points ({p} sure that this holds for all patches at once). Bright: unsure", "für jeden einfarbigen Fleck (mehrere Quadrate zusammen): um so viele Prozentpunkte kann sein Anteil an den Personen danebenliegen (zu {p} sicher, dass das für alle Flecken zugleich gilt). Hell: unsicher"],
  "legend.size": [" ({m} wide)", " ({m} breit)"],
  "legend.hills": ["violet: where a source of warmth may be", "violett: wo eine Wärmequelle sein kann"],
  "legend.ring": ["blue outline: {p} sure that the source is inside", "blauer Umriss: zu {p} sicher, dass die Quelle darin ist"],
  "legend.cross": ["cross: most likely place of the source", "Kreuz: wahrscheinlichster Ort der Quelle"],
  "legend.hatched": ["striped: cannot tell whether anybody is there", "gestreift: es ist nicht zu sagen, ob dort jemand ist"],
  "legend.sensor": ["sensor", "Sensor"],
  "legend.silent": ["sensor that did not answer", "Sensor ohne Antwort"],
  "legend.plan": ["lines: walls, doors and furniture", "Linien: Wände, Türen und Möbel"],
  "tools.compare": ["Compare", "Vergleichen"],
  "tools.link": ["Copy link", "Link kopieren"],
  "tools.copied": ["The link to this view was copied.", "Der Link zu dieser Ansicht wurde kopiert."],
  "tools.uncopied": ["The link could not be copied for you. Select and copy it yourself: {url}", "Der Link ließ sich nicht von selbst kopieren. Markieren und kopieren Sie ihn: {url}"],
  "tools.comparing": ["The map that you see now stays. Choose another time on the strip of bars, to see both.", "Die Karte, die Sie jetzt sehen, bleibt stehen. Wählen Sie auf dem Balkenstreifen eine andere Zeit, um beide Karten zu sehen."],
  "tools": ["Keep or share this view", "Diese Ansicht behalten oder teilen"],
  "time.before": ["Day before", "Tag davor"],
  "time.after": ["Day after", "Tag danach"],
  "time.day": ["Day", "Tag"],
  "time.play": ["Play the day", "Tag abspielen"],
  "time.pause": ["Pause", "Anhalten"],
  "time.live": ["Live", "Live"],
  "time.newer": ["Live: new map", "Live: neue Karte"],
  "time.when": ["Time of the map that is shown", "Zeit der gezeigten Karte"],
  "time.none": ["There was no round of measuring on this day, so the map stays as it is.", "An diesem Tag wurde nicht gemessen: es gab keine Runde, daher bleibt die Karte, wie sie ist."],
  "time.first": ["The first round was on {day}; nothing is known of the time before, so the map stays as it is.", "Die erste Runde war am {day}; von der Zeit davor ist nichts bekannt, daher bleibt die Karte, wie sie ist."],
  "time.future": ["This day is yet to come, so you see the newest map.", "Dieser Tag kommt erst noch, daher sehen Sie die neueste Karte."],
  "time.unknown": ["Round {n} is not stored here, so you see the newest map.", "Runde {n} ist hier nicht gespeichert, daher sehen Sie die neueste Karte."],
  "time.open": ["Round {n} has not ended yet, so you see the newest map. A newer one comes by itself.", "Runde {n} ist noch nicht zu Ende, daher sehen Sie die neueste Karte. Eine neuere kommt von selbst."],
  "time.alone": ["Round {n} is not stored here, so there is nothing to compare with.", "Runde {n} ist hier nicht gespeichert, daher gibt es nichts zu vergleichen."],
  "time.note": ["Each bar is a round, in which every device is asked once; the higher the bar, the more of them answered. Grey: it has no map of its own, perhaps because the next round ended before one was drawn.", "Jeder Balken ist eine Runde, in der jedes Gerät einmal gefragt wird; je höher der Balken, desto mehr Geräte antworteten. Grau: sie hat keine eigene Karte, vielleicht weil die nächste Runde endete, ehe eine gezeichnet war."],
  "map.none": ["no map", "keine Karte"],
  "map.first": ["The first map appears when the first answers are in and it has been drawn.", "Die erste Karte erscheint, wenn die ersten Antworten da sind und sie gezeichnet ist."],
  "map.round": ["Round {n}", "Runde {n}"],
  "map.rounds": ["Rounds {first} to {n} together", "Runden {first} bis {n} zusammen"],
  "map.because": ["Round {n}: {why}.", "Runde {n}: {why}."],
  "map.nobody": ["Probably nobody is there (chance {p}), but this is no proof: somebody may still be there.", "Wahrscheinlich ist niemand da (Wahrscheinlichkeit {p}), aber das ist kein Beweis: es kann trotzdem jemand da sein."],
  "map.answers": ["made from the answers of {n} devices", "aus den Antworten von {n} Geräten"],
  "map.answers.1": ["made from the answer of 1 device", "aus der Antwort von 1 Gerät"],
  "map.last": ["this is the last map, because the privacy budget is used up. More maps will come only if the technician sets a new budget, which protects people less", "dies ist die letzte Karte, denn das Datenschutz-Budget ist verbraucht. Weitere Karten gibt es nur, wenn die Technik ein neues Budget festlegt; damit sind Personen weniger geschützt"],
  "map.ended": ["this is the last map: no more rounds are planned", "dies ist die letzte Karte: weitere Runden sind nicht geplant"],
  "map.exactly": ["For experts: {why}.", "Für Fachleute: {why}."],
  "map.stale": ["A newer map is overdue. If none comes within a few hours, tell the technician.", "Eine neuere Karte ist überfällig. Kommt in einigen Stunden keine, sagen Sie es der Technik."],
  "map.aged": ["This map is {age} old.", "Diese Karte ist {age} alt."],
  "map.gone": ["No connection to the gateway since {at}. The page keeps trying by itself.", "Seit {at} keine Verbindung zum Gateway. Die Seite versucht es von selbst weiter."],
  "picture.none": ["The picture of the floor cannot be shown, so the map is drawn without it. Tell the technician.", "Das Bild der Etage lässt sich nicht zeigen, daher fehlt es auf der Karte. Sagen Sie es der Technik."],
  "sure.off": ["A place on this map is on average about {far} away from the true one.", "Ein Ort auf dieser Karte liegt im Mittel etwa {far} neben dem wahren."],
  "sure.blind": ["A place on this map is on average about {far} away from the true one. (Without sensors, a guess would be about {blind} away.)", "Ein Ort auf dieser Karte liegt im Mittel etwa {far} neben dem wahren. (Würde man ohne Sensoren raten, wären es etwa {blind}.)"],
  "sure.people": ["The fullest place holds about {share} of the counted people; in about two of three cases that is wrong by less than {sd} of the people. Any other place by itself is in about two of three cases wrong by less than {off} of the people, so a share smaller than that says little. If people were spread evenly, each place would hold {even}.", "An der vollsten Stelle sind etwa {share} der gezählten Personen; in etwa zwei von drei Fällen ist das um weniger als {sd} der Personen falsch. An jeder anderen Stelle für sich ist der Anteil in etwa zwei von drei Fällen um weniger als {off} der Personen falsch; ein Anteil unter {off} sagt daher wenig. Wären alle gleichmäßig verteilt, wären an jeder Stelle {even}."],
  "sure.block": ["{between} of the counted people are in the square at {place} ({p} sure).", "{between} der gezählten Personen sind im Quadrat bei {place} (zu {p} sicher)."],
  "sure.coarse": ["{between} of the counted people are in the area {place} ({p} sure); where in it cannot be told.", "{between} der gezählten Personen sind in der Fläche {place} (zu {p} sicher); wo darin, ist nicht zu sagen."],
  "sure.apart": ["From the devices' answers it cannot be told whether any place is fuller than another. That does not mean that all are equally full.", "Aus den Antworten der Geräte ist nicht zu sagen, ob ein Ort voller ist als ein anderer. Das heißt nicht, dass alle gleich voll sind."],
  "read.block": ["{place}: the block of {x} × {y} squares that this square belongs to holds {between} of the people", "{place}: im Block aus {x} × {y} Quadraten, zu dem dieses Quadrat gehört, sind {between} der Personen"],
  "read.chance": ["{place}: {share} chance that a source of warmth is here", "{place}: mit {share} Wahrscheinlichkeit ist hier eine Wärmequelle"],
  "read.warmth": ["{place}: {share} of the warmth from all sources is here", "{place}: {share} der Wärme aller Quellen sind hier"],
  "read.people": ["{place}: {share} of the people are here", "{place}: {share} der Personen sind hier"],
  "read.sd": ["{place}: about {share} of the people are here; in about two of three cases that is wrong by less than {sd} of the people", "{place}: etwa {share} der Personen sind hier; in etwa zwei von drei Fällen ist das um weniger als {sd} der Personen falsch"],
  "read.earth": ["latitude {lat}°, longitude {lon}°", "Breite {lat}°, Länge {lon}°"],
  "place.range": ["{from} to {to}", "{from} bis {to}"],
  "verdict.assumptions": ["Do not trust this map: the readings do not fit the description of the room. An open window, a heater, more or warmer sources than expected or a broken sensor can be the cause. If you find none of these, ask the technician to compare the room file with the room.", "Trauen Sie dieser Karte nicht: die Messwerte passen nicht zur Beschreibung des Raums. Ein offenes Fenster, eine Heizung, mehr oder wärmere Quellen als erwartet oder ein defekter Sensor können der Grund sein. Finden Sie nichts davon, bitten Sie die Technik, die Raumdatei mit dem Raum zu vergleichen."],
  "verdict.assumptions.people": ["Do not trust this map: the devices' answers fit no way in which people could be spread. Some devices are set up differently, or some answers are false; tell the technician.", "Trauen Sie dieser Karte nicht: die Antworten der Geräte passen zu keiner Verteilung von Personen. Manche Geräte sind anders eingestellt, oder manche Antworten sind falsch; sagen Sie es der Technik."],
  "verdict.clamp": ["Do not trust this map: at {sensors} the reading is the highest or lowest that a sensor can report. Tell the technician.", "Trauen Sie dieser Karte nicht: bei {sensors} ist der Messwert der höchste oder niedrigste, den ein Sensor melden kann. Sagen Sie es der Technik."],
  "verdict.sensors": ["Left out of this map, because its reading does not agree with the others: the sensor at {sensors}. If that happens again and again, have it checked.", "In dieser Karte ausgelassen, weil sein Messwert nicht zu den anderen passt: der Sensor bei {sensors}. Geschieht das immer wieder, lassen Sie ihn prüfen."],
  "verdict.scatter": ["The readings vary more than they should; the map already allows for that. You need do nothing.", "Die Messwerte schwanken mehr, als sie sollten; die Karte berücksichtigt das schon. Sie brauchen nichts zu tun."],
  "verdict.other": ["The readings do not quite fit the description of the room; the map already allows for that. You need do nothing.", "Die Messwerte passen nicht ganz zur Beschreibung des Raums; die Karte berücksichtigt das schon. Sie brauchen nichts zu tun."],
  "verdict.weak": ["This map is hardly better than a guess.", "Diese Karte ist kaum besser als geraten."],
  "count": ["There are {low} to {high} sources of warmth, people or things ({p} sure), about {n}.", "Es gibt {low} bis {high} Wärmequellen, Personen oder Dinge (zu {p} sicher), etwa {n}."],
  "count.exact": ["There are {n} sources of warmth, people or things ({p} sure).", "Es gibt {n} Wärmequellen, Personen oder Dinge (zu {p} sicher)."],
  "count.exact.1": ["There is 1 source of warmth, a person or a thing ({p} sure).", "Es gibt 1 Wärmequelle, eine Person oder ein Ding (zu {p} sicher)."],
  "count.exact.0": ["There is no source of warmth ({p} sure).", "Es gibt keine Wärmequelle (zu {p} sicher)."],
  "count.several": ["Some of these sources are so close together that the list shows them as one place.", "Einige dieser Quellen sind einander so nah, dass die Liste sie als einen Ort zeigt."],
  "count.empty": ["It is possible that nobody is there.", "Möglich ist auch, dass niemand da ist."],
  "sources.near": ["Near", "Bei"],
  "sources.share.warmth": ["Share of all warmth", "Anteil an der gesamten Wärme"],
  "sources.share.people": ["Share of the people", "Anteil der Personen"],
  "sources.within": ["Possible error (in {p} of cases it is smaller than this)", "Möglicher Fehler (in {p} der Fälle kleiner als hier angegeben)"],
  "sources.unknown": ["not known", "nicht bekannt"],
  "sources.none": ["No map has been drawn yet.", "Noch ist keine Karte gezeichnet."],
  "sources.empty": ["This round has no map, so no place is given.", "Diese Runde hat keine Karte, daher wird kein Ort genannt."],
  "sources.doubt": ["Because this map cannot be trusted, no place is given.", "Weil dieser Karte nicht zu trauen ist, wird kein Ort genannt."],
  "sources.spread": ["The warmth is spread out: no place stands out.", "Die Wärme ist verteilt: kein Ort sticht hervor."],
  "sources.where": ["Places are metres from the map's upper left corner: first to the right, then down.", "Orte sind Meter ab der linken oberen Ecke der Karte: erst nach rechts, dann nach unten."],
  "sources.people": ["Only people whose device answered are counted.", "Gezählt sind nur Personen, deren Gerät geantwortet hat."],
  "sources.between": ["Between", "Zwischen"],
  "sources.blocks": ["{p} sure: all these shares are between their lower and upper numbers. Only people whose device answered are counted.", "Zu {p} sicher: alle diese Anteile liegen zwischen ihrer unteren und oberen Zahl. Gezählt sind nur Personen, deren Gerät geantwortet hat."],
  "unit.W": ["Strength is in watts of heat; a person who sits gives off about 70.", "Die Stärke ist in Watt Wärme; wer sitzt, gibt etwa 70 ab."],
  "unit.K m": ["Strength: the larger, the more warmth. (For experts: 1 K m means that a stretch of one metre is 1 degree warmer.)", "Stärke: je größer, desto mehr Wärme. (Für Fachleute: 1 K m heißt, dass ein Stück von einem Meter Länge 1 Grad wärmer ist.)"],
  "unit.K m²": ["Strength: the larger, the more warmth. (For experts: 1 K m² means that one square metre is 1 degree warmer.)", "Stärke: je größer, desto mehr Wärme. (Für Fachleute: 1 K m² heißt, dass ein Quadratmeter 1 Grad wärmer ist.)"],
  "unit.": ["Strength: the larger, the more warmth; 1.00 is the strongest single source that this map is set up for.", "Stärke: je größer, desto mehr Wärme; 1,00 ist die stärkste einzelne Quelle, für die diese Karte eingerichtet ist."],
  "round.title": ["Latest round", "Letzte Runde"],
  "round.answered": ["{came} of {all} {who} answered", "{who}: {came} von {all} haben geantwortet"],
  "round.asking": ["asking {all} {who}", "fragt {all} {who}"],
  "round.none": ["No device has been asked yet.", "Noch wurde kein Gerät gefragt."],
  "round.missing": ["{n} did not answer", "{n} ohne Antwort"],
  "round.late": ["late answers that came in during this round (some perhaps to earlier rounds) and do not count: {n}", "zu späte Antworten, die in dieser Runde eintrafen (vielleicht auf frühere Runden) und nicht zählen: {n}"],
  "round.quorum": ["any {n} answers are enough for a map", "für eine Karte genügen {n} beliebige Antworten"],
  "round.refused": ["The gateway has turned away {n} messages since it started. A few are normal; if new ones come every day, tell the technician.", "Seit seinem Start hat das Gateway {n} Nachrichten abgelehnt. Einzelne sind normal; kommen täglich neue dazu, sagen Sie es der Technik."],
  "round.refused.1": ["The gateway has turned away 1 message since it started. That is normal; if new ones come every day, tell the technician.", "Seit seinem Start hat das Gateway 1 Nachricht abgelehnt. Das ist normal; kommen täglich neue dazu, sagen Sie es der Technik."],
  "round.closed": ["Round {n} ended {ago}", "Runde {n} endete {ago}"],
  "round.open": ["Round {n} has not ended yet", "Runde {n} ist noch nicht zu Ende"],
  "round.done": ["no more rounds: {why}", "keine Runden mehr: {why}"],
  "round.bar": ["how many have answered", "wie viele geantwortet haben"],
  "budget.title": ["Privacy budget", "Datenschutz-Budget"],
  "budget.left": ["{n} rounds left", "noch {n} Runden"],
  "budget.left.1": ["1 round left", "noch 1 Runde"],
  "budget.out": ["Lasts until {day}. Then there are no more maps, unless the technician sets a new budget, which protects people less.", "Reicht bis {day}. Dann gibt es keine Karten mehr, es sei denn, die Technik legt ein neues Budget fest; damit sind Personen weniger geschützt."],
  "budget.last": ["The last round is under way. After it there are no more maps, unless the technician sets a new budget, which protects people less.", "Die letzte Runde läuft. Danach gibt es keine Karten mehr, es sei denn, die Technik legt ein neues Budget fest; damit sind Personen weniger geschützt."],
  "budget.window": ["The budget refills by itself: rounds more than about {n} h ago no longer count.", "Das Budget füllt sich von selbst: Runden, die mehr als etwa {n} h zurückliegen, zählen nicht mehr."],
  "budget.now": ["Paused, as intended; you need do nothing. The next round comes by itself, as soon as the oldest rounds that still count are about {n} h old.", "Pause, wie vorgesehen; Sie brauchen nichts zu tun. Die nächste Runde kommt von selbst, sobald die ältesten Runden, die noch zählen, etwa {n} h alt sind."],
  "budget.gone": ["Used up: there are no more maps. Each map gives away a little about people, and the limit that was promised to them is reached. The technician can set a new budget, but then people are less protected than was promised.", "Verbraucht: Es gibt keine Karten mehr. Jede Karte verrät ein wenig über Personen, und die Grenze, die ihnen versprochen wurde, ist erreicht. Die Technik kann ein neues Budget festlegen; dann sind die Personen aber weniger geschützt als versprochen."],
  "budget.each": ["Each round uses a part of it; {p} is used up (for experts: epsilon {gone} of {all} for each device)", "Jede Runde verbraucht einen Teil davon; {p} sind verbraucht (für Fachleute: epsilon {gone} von {all} je Gerät)"],
  "budget.all": ["Each round uses a part of it; {p} is used up (for experts: epsilon {gone} of {all} for all devices together; the share counts rho, which adds up, while epsilon grows faster at first)", "Jede Runde verbraucht einen Teil davon; {p} sind verbraucht (für Fachleute: epsilon {gone} von {all} für alle Geräte zusammen; der Anteil zählt rho, das sich addiert, während epsilon anfangs schneller wächst)"],
  "budget.unknown": ["not known yet", "noch nicht bekannt"],
  "budget.bar": ["share of the privacy budget that is used up", "verbrauchter Teil des Datenschutz-Budgets"],
  "storey.title": ["All rooms of this floor", "Alle Räume dieser Etage"],
  "storey.here": ["{room} (this page)", "{room} (diese Seite)"],
  "storey.old": ["{at}, too old", "{at}, zu alt"],
  "storey.doubted": ["{at}, map not to be trusted", "{at}, der Karte ist nicht zu trauen"],
  "storey.scale.sd": ["the colour of a spot says how far off the number there is: in about two of three cases by at most this much, too high or too low, otherwise by more ({unit})", "die Farbe einer Stelle sagt, wie weit die Zahl dort danebenliegt: in etwa zwei von drei Fällen höchstens so viel, nach oben oder unten, sonst mehr ({unit})"],
  "storey.scale.people": ["people in a square metre", "Personen je Quadratmeter"],
  "storey.scale.W": ["watts of heat in a square metre", "Watt Wärme je Quadratmeter"],
  "storey.scale.K m²": ["degrees warmer than the same room when it was empty", "Grad wärmer als im leeren Raum"],
  "storey.note": ["A colour means the same in every room. Grey: the map is too old or cannot be trusted. Each room has a privacy promise of its own, shown on its own page; this page shows no more of a room than the room's own page does.", "Eine Farbe bedeutet in jedem Raum das Gleiche. Grau: die Karte ist zu alt, oder ihr ist nicht zu trauen. Jeder Raum hat ein eigenes Datenschutz-Versprechen auf seiner eigenen Seite; diese Übersicht zeigt über keinen Raum mehr als dessen eigene Seite."],
  "devices.heard": ["Last heard", "Zuletzt gehört"],
  "devices.state": ["State", "Zustand"],
  "devices.left": ["Budget left", "Budget übrig"],
  "devices.find": ["Find by name", "Nach Namen suchen"],
  "devices.show": ["Show", "Zeigen"],
  "devices.all": ["all", "alle"],
  "devices.bad": ["those that need attention", "alle, die Aufmerksamkeit brauchen"],
  "devices.out": ["blocked", "gesperrt"],
  "devices.key": ["may need a new digital key", "braucht vielleicht einen neuen digitalen Schlüssel"],
  "devices.never": ["no valid answer so far", "noch keine gültige Antwort"],
  "devices.clock": ["clock jumped while asleep: may answer less often for a while", "Uhr sprang im Schlaf: antwortet eine Weile vielleicht seltener"],
  "devices.silent": ["no valid answer", "keine gültige Antwort"],
  "devices.answers": ["answered", "geantwortet"],
  "devices.since": ["never", "nie"],
  "devices.some": ["Altogether there are {all} {who}; {n} of them need attention: see State.", "Insgesamt gibt es {all} {who}; {n} davon brauchen Aufmerksamkeit, siehe Zustand."],
  "devices.some.1": ["Altogether there are {all} {who}; 1 of them needs attention: see State.", "Insgesamt gibt es {all} {who}; 1 davon braucht Aufmerksamkeit, siehe Zustand."],
  "devices.good": ["Altogether there are {all} {who}, and all of them answered the latest round.", "Insgesamt gibt es {all} {who}, und alle haben in der letzten Runde geantwortet."],
  "devices.good.1": ["There is only one {who}, and it answered the latest round.", "Es gibt nur ein Gerät ({who}), und es hat in der letzten Runde geantwortet."],
  "devices.most": ["{n} were found; the first {most} are shown.", "{n} wurden gefunden; die ersten {most} sind zu sehen."],
  "devices.fit": ["No {who} fits this search. Change the search to see others.", "Zu dieser Suche passt kein {who}. Ändern Sie die Suche, um andere zu sehen."],
  "wire.clear": ["The connection to the message broker, which carries all messages, is not encrypted: anybody on its network can read, change and forge them. Tell the technician.", "Die Verbindung zum Nachrichtenvermittler, der alle Nachrichten weitergibt, ist unverschlüsselt: wer in dessen Netz ist, kann sie lesen, ändern und fälschen. Sagen Sie es der Technik."],
  "wire.none": ["no readings yet", "noch keine Messwerte"],
  "wire.readings": ["{n} blurred readings, each roughly the difference from the empty room: the lowest {low}, the highest {high}", "{n} verwischte Messwerte, jeder ungefähr der Unterschied zum leeren Raum: der niedrigste {low}, der höchste {high}"],
  "wire.degrees": ["{n} degrees", "{n} Grad"],
  "wire.answers": ["{n} answers, over a grid of {x} by {y} squares; {most} of these answers named the same square", "{n} Antworten, auf einem Raster von {x} mal {y} Quadraten; {most} dieser Antworten nannten dasselbe Quadrat"],
  "promise.title": ["What is promised about privacy, and what is not", "Was zum Datenschutz versprochen ist und was nicht"],
  "promise.more": ["What exactly is promised", "Was genau versprochen ist"],
  "promise.language": ["", "Übersetzt; was zählt, ist der englische Wortlaut."],
  "promise.first": ["The promise will appear here as soon as there is a first map.", "Das Versprechen steht hier, sobald die erste Karte da ist."],
  "promise.curve": ["Suppose someone sees all that the sensors send in the whole time covered by the promise below, and then guesses at which of two places a person, or something warm, is. The curve shows how often that guess can be right at most, by the distance between the places. 50\u00a0% is a blind guess.", "Angenommen, jemand, der alles sieht, was die Sensoren in der ganzen Zeit senden, für die das Versprechen unten gilt, rät, an welchem von zwei Orten jemand oder etwas Warmes ist. Die Kurve zeigt, wie oft das höchstens gelingen kann, je nach Abstand der Orte. 50\u00a0% ist blind geraten."],
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
  "said.broker.silent": ["the message broker (the program that passes messages between devices and gateway) does not answer at {place}. Ask the technician to start it there or to correct its address.", "der Nachrichtenvermittler (das Programm, das Nachrichten zwischen Geräten und Gateway weitergibt) antwortet unter {place} nicht. Bitten Sie die Technik, ihn dort zu starten oder seine Adresse zu berichtigen."],
  "said.broker.refuses": ["the message broker at {place} does not let the gateway in ({why}): its user name or password is wrong, or it is not on the broker's list. Tell the technician.", "der Nachrichtenvermittler unter {place} weist das Gateway ab ({why}): Benutzername oder Passwort sind falsch, oder das Gateway steht nicht auf der Liste des Vermittlers. Sagen Sie es der Technik."],
  "said.broker.gone": ["the message broker (the program that passes messages between devices and gateway) does not answer. Tell the technician.", "der Nachrichtenvermittler (das Programm, das Nachrichten zwischen Geräten und Gateway weitergibt) antwortet nicht. Sagen Sie es der Technik."],
  "said.broker.certificate": ["the message broker at {place} shows a certificate that the gateway cannot trust, so the gateway sends nothing there. Tell the technician; the gateway's log says why.", "der Nachrichtenvermittler unter {place} zeigt ein Zertifikat, dem das Gateway nicht trauen kann; deshalb sendet das Gateway nichts dorthin. Sagen Sie es der Technik; das Protokoll des Gateways sagt, warum."],
  "said.broker.clear": ["the message broker at {place} does not encrypt, so the gateway sends nothing there. Ask the technician to give it a certificate.", "der Nachrichtenvermittler unter {place} verschlüsselt nicht; deshalb sendet das Gateway nichts dorthin. Bitten Sie die Technik, ihm ein Zertifikat zu geben."],
  "said.store.refuses": ["incoming messages cannot be saved at the moment; the devices keep them and send them again. Tell the technician; the gateway's log says why.", "ankommende Nachrichten lassen sich zurzeit nicht speichern; die Geräte behalten sie und senden sie noch einmal. Sagen Sie es der Technik; das Protokoll des Gateways sagt, warum."],
  "said.store.silent": ["the database, where messages are saved, does not answer. Tell the technician.", "die Datenbank, in der Nachrichten gespeichert werden, antwortet nicht. Sagen Sie es der Technik."],
  "said.disk.full": ["less than {mb} MB are free. Until there is room, no messages are taken in; the devices keep what they have. Ask the technician to make room.", "weniger als {mb} MB sind frei. Bis Platz ist, werden keine Nachrichten angenommen; die Geräte behalten, was sie haben. Bitten Sie die Technik, Platz zu schaffen."],
  "said.solver.slow": ["no map was ready within {limit} s; the gateway's computer was probably too busy. After the next round a map is tried again. If that happens often, tell the technician.", "in {limit} s wurde keine Karte fertig; wahrscheinlich hatte der Rechner des Gateways zu viel zu tun. Nach der nächsten Runde wird es wieder versucht. Geschieht das oft, sagen Sie es der Technik."],
  "said.solver.died": ["the program that draws maps stopped and was restarted by itself. If that happens again, tell the technician.", "das Programm, das Karten zeichnet, brach ab und wurde von selbst neu gestartet. Geschieht das wieder, sagen Sie es der Technik."],
  "said.solver.failed": ["the map could not be drawn because of a program fault. Tell the technician; the gateway's log says why.", "die Karte ließ sich wegen eines Programmfehlers nicht zeichnen. Sagen Sie es der Technik; das Protokoll des Gateways sagt, warum."],
  "said.thread.ended": ["this part of the gateway has stopped after a fault. Ask the technician to start the gateway again.", "dieser Teil des Gateways ist nach einem Fehler stehen geblieben. Bitten Sie die Technik, das Gateway neu zu starten."],
  "said.rounds.failed": ["no more rounds after a program fault. Tell the technician; the gateway's log says which fault.", "keine Runden mehr nach einem Programmfehler. Sagen Sie es der Technik; das Protokoll des Gateways nennt den Fehler."],
  "said.rounds.spent": ["paused, as intended; you need do nothing. The privacy budget for {hours} h is used up, and is enough again at {back}; the next round comes by itself.", "Pause, wie vorgesehen; Sie brauchen nichts zu tun. Das Datenschutz-Budget für {hours} h ist verbraucht und reicht am {back} wieder; die nächste Runde kommt von selbst."],
  "said.rounds.ahead": ["no round starts: the privacy budget for {hours} h is used up; by the gateway's clock it is enough for a round again at {back}. The last round started at {at}, which the clock has not reached. If the clock is wrong, ask the technician to set it right.", "keine Runde beginnt: Das Datenschutz-Budget für {hours} h ist verbraucht; nach der Uhr des Gateways reicht es am {back} wieder für eine Runde. Die letzte Runde begann am {at}, und so spät ist es nach dieser Uhr noch nicht. Geht die Uhr falsch, bitten Sie die Technik, sie richtig zu stellen."],
  "said.rounds.awaited": ["no round starts until the message broker (the program that passes messages between devices and gateway) has said which round was last. That takes seconds; if it lasts longer, tell the technician.", "keine Runde beginnt, bis der Nachrichtenvermittler (das Programm, das Nachrichten zwischen Geräten und Gateway weitergibt) gemeldet hat, welche die letzte war. Das dauert Sekunden; dauert es länger, sagen Sie es der Technik."],
  "said.rounds.hindered": ["no round starts until the other faults named here are mended.", "keine Runde beginnt, bis die anderen hier genannten Fehler behoben sind."],
  "said.rounds.hours": ["paused, as intended; you need do nothing. Rounds start only between {first} and {last}.", "Pause, wie vorgesehen; Sie brauchen nichts zu tun. Runden beginnen nur zwischen {first} und {last} Uhr."],
  "said.rounds.silent": ["no device answers, or too few do (asked in vain, in a row: {times}). Check that they have power and network; if they do, tell the technician: perhaps they refuse to answer.", "kein Gerät antwortet, oder zu wenige (vergeblich gefragt, hintereinander: {times}). Prüfen Sie, ob die Geräte Strom und Netz haben; wenn ja, sagen Sie es der Technik: Vielleicht weigern sie sich."],
  "said.rounds.standby": ["another gateway is in charge here; this one takes over if that one fails.", "zurzeit leitet ein anderes Gateway die Runden; fällt es aus, übernimmt das Gateway, dessen Seite Sie sehen."],
  "said.workers.part": ["no gateway program takes in the messages of some devices (group {parts}). The messages wait at the message broker. Tell the technician.", "kein Gateway-Programm nimmt die Nachrichten einiger Geräte an (Gruppe {parts}). Diese Nachrichten warten beim Nachrichtenvermittler. Sagen Sie es der Technik."],
  "said.workers.none": ["none is running to take in messages. Tell the technician.", "keines läuft, das Nachrichten annimmt. Sagen Sie es der Technik."],
  "said.alarm.changed": ["{device} sent two different messages under one number ({number}), which weakens the privacy of what it measured. Ask the technician to give it a new digital key.", "{device} sandte zwei verschiedene Nachrichten unter einer Nummer ({number}); das schwächt den Schutz dessen, was es gemessen hat. Bitten Sie die Technik, ihm einen neuen digitalen Schlüssel zu geben."],
  "said.alarm.double": ["two devices take turns to send under the name {device}, or its messages are delayed again and again. Ask the technician to find out which. If there are two, one is a copy: it must be switched off, and {device} needs a new digital key.", "zwei Geräte senden abwechselnd unter dem Namen {device}, oder dessen Nachrichten verspäten sich immer wieder. Bitten Sie die Technik nachzusehen. Sind es zwei, ist eines eine Kopie: sie muss ausgeschaltet werden, und {device} braucht einen neuen digitalen Schlüssel."],
  "said.alarm.future": ["{device} numbers its messages higher than any device can. It is damaged, or somebody else has its digital key. Ask the technician to find out which, and to give it a new key.", "der Nachrichtenzähler von {device} steht höher, als ein Gerät zählen kann. Es ist beschädigt, oder jemand anders hat seinen digitalen Schlüssel. Bitten Sie die Technik, nachzusehen und {device} einen neuen Schlüssel zu geben."],
  "said.alarm.replayed": ["{device} sent an old message (number {number}) after a newer one ({last}). Either it was reset, or a second device uses its name, or a message was only delayed. Ask the technician to find out which; if it was not just a delay, {device} needs a new digital key.", "{device} sandte eine alte Nachricht (Nummer {number}) nach einer neueren ({last}). Entweder wurde es zurückgesetzt, oder ein zweites Gerät benutzt seinen Namen, oder eine Nachricht kam nur verspätet. Bitten Sie die Technik nachzusehen; war es nicht nur Verspätung, braucht {device} einen neuen digitalen Schlüssel."],
  "said.out.flood": ["blocked: it sent far more messages than it should. Its answers no longer count; ask the technician to check it", "gesperrt: es sandte viel mehr Nachrichten, als es soll. Seine Antworten zählen nicht mehr; bitten Sie die Technik, es zu prüfen"],
  "said.out.forged": ["blocked: too many messages in its name failed the check that they really come from it. Its answers no longer count; ask the technician to check it", "gesperrt: bei zu vielen Nachrichten in seinem Namen ergab die Prüfung, dass sie wohl nicht von ihm kommen. Seine Antworten zählen nicht mehr; bitten Sie die Technik, es zu prüfen"],
  "said.out.lied": ["blocked: besides its own answers it sends a part that is needed to read the sum of many devices' answers. That part was proved to be wrong (a defect, or tampering). Its answers no longer count; ask the technician to check it", "gesperrt: neben seinen eigenen Antworten sendet es einen Teil, der nötig ist, um die Summe der Antworten vieler Geräte zu lesen. Dieser Teil war nachweislich falsch (Defekt oder Manipulation). Seine Antworten zählen nicht mehr; bitten Sie die Technik, es zu prüfen"],
  "said.out.hand": ["blocked by somebody who runs the gateway", "gesperrt von jemandem, der das Gateway betreibt"],
  "said.map.silence": ["no device answered, or too few. Check that they have power and network; if they do, tell the technician: perhaps they refuse to answer", "kein Gerät hat geantwortet, oder zu wenige. Prüfen Sie, ob die Geräte Strom und Netz haben; wenn ja, sagen Sie es der Technik: vielleicht verweigern sie die Antwort"],
  "said.map.few": ["{came} of {enrolled} devices answered, and a map needs {quorum}. The next round tries again", "{came} von {enrolled} Geräten haben geantwortet, für eine Karte sind aber {quorum} nötig. Die nächste Runde versucht es wieder"],
  "said.map.unheard": ["no sensor answered. Check that they have power and network", "kein Sensor hat geantwortet. Prüfen Sie, ob die Sensoren Strom und Netz haben"],
  "said.map.unheard.empty": ["a map compares what a sensor reads now with what it read while the room was empty, and no sensor has read both yet. You need do nothing but wait for the next rounds", "eine Karte vergleicht, was ein Sensor jetzt misst, mit dem, was er im leeren Raum gemessen hat, und noch hat kein Sensor beides gemessen. Sie brauchen nur auf die nächsten Runden zu warten"],
  "said.map.unanswered": ["no device answered. Check that they have power and network", "kein Gerät hat geantwortet. Prüfen Sie, ob die Geräte Strom und Netz haben"],
  "said.map.shards": ["too few devices took part. Each encrypts its answer, and only the sum of enough of them can be read. You need do nothing: the next round tries again", "zu wenige Geräte nahmen teil. Jedes verschlüsselt seine Antwort, und nur die Summe von genug Antworten ist lesbar. Sie brauchen nichts zu tun: die nächste Runde versucht es wieder"],
  "said.map.misfit": ["the readings do not fit the description of the room, so no map is drawn. If that happens again and again, tell the technician", "die Messwerte passen nicht zur Beschreibung des Raums; deshalb gibt es keine Karte. Geschieht das immer wieder, sagen Sie es der Technik"],
  "said.map.clamp": ["the highest or lowest value that can be shown came from sensor {sensors}, so no map is drawn. If something hot or cold stands there, take it away; if not, tell the technician", "von Sensor {sensors} kam der höchste oder niedrigste Wert, der sich anzeigen lässt; deshalb gibt es keine Karte. Steht dort etwas Heißes oder Kaltes, nehmen Sie es weg; wenn nicht, sagen Sie es der Technik"],
  "said.floor.unread": ["this room's map cannot be read from here: the room's gateway has not run yet, or its disk cannot be reached from the gateway that shows this page", "die Karte dieses Raums lässt sich von hier nicht lesen: das Gateway des Raums lief noch nie, oder dessen Festplatte ist von dem Gateway aus, das diese Seite zeigt, nicht erreichbar"],
  "said.floor.none": ["this room has no map of the time that is shown", "dieser Raum hat keine Karte aus der gezeigten Zeit"],
  "said.floor.grid": ["its newest map divides the room into other squares than are set up now", "seine neueste Karte teilt den Raum in andere Quadrate, als jetzt eingerichtet sind"],
  "said.done.asked": ["all that were planned have been run. That is no fault; if you want more maps, ask the technician", "alle geplanten sind gelaufen. Das ist kein Fehler; wollen Sie mehr Karten, fragen Sie die Technik"],
  "said.done.epsilon": ["the privacy budget is used up. The technician can set a new one, but then people are less protected than was promised", "das Datenschutz-Budget ist verbraucht. Die Technik kann ein neues festlegen; dann sind Personen aber weniger geschützt als versprochen"],
  "said.done.reading": ["the only one that the privacy budget is for has been run. The technician can set a new one, which protects people less", "die einzige, für die das Datenschutz-Budget reicht, ist gelaufen. Die Technik kann ein neues festlegen; dann sind Personen aber weniger geschützt"],
  "said.done.readings": ["all {rounds} that the privacy budget is for have been run. The technician can set a new one, which protects people less", "alle {rounds}, für die das Datenschutz-Budget reicht, sind gelaufen. Die Technik kann ein neues festlegen; dann sind Personen aber weniger geschützt"],
  // What it says for whoever wants it exactly, and what is promised: in English as it is.
  "exact.guarantee.protected": ["", "Geschützt: {neighbours}."],
  "exact.guarantee.over": ["", "über {share}"],
  "exact.guarantee.trust": ["", "Vertrauen muss man: {trust}."],
  "exact.guarantee.not": ["", "Nicht geschützt: {unprotected}."],
  "exact.guarantee.holds": ["", "Das gilt für {span}."],
  "exact.guarantee.odds": ["", "Was veröffentlicht wird, ändert das Verhältnis der Chancen, zwischen zwei solchen Fällen richtig oder falsch zu raten, höchstens um den Faktor {factor} (epsilon {epsilon})."],
  "exact.guarantee.likely": ["", "Was auch immer man in dem sucht, was veröffentlicht wird: Es ist in dem einen von zwei solchen Fällen höchstens {factor}-mal so wahrscheinlich wie im anderen (epsilon {epsilon}), zuzüglich {delta} (delta)."],
  "exact.guarantee.life": ["", "jeden Zeitraum, ob kurz oder lang, in dem {answers}"],
  "exact.guarantee.window": ["", "jede Zeitspanne von {hours} h, wann immer sie beginnt (wer k-mal so lange bleibt, den kostet es k-mal so viel {unit}), in der {answers}"],
  "exact.guarantee.together": ["", "{window}, und zwar für alles darin zusammen"],
  "exact.guarantee.reports": ["", "ein Gerät höchstens {n}-mal antwortet"],
  "exact.guarantee.last": ["", "; für das Versprechen zählt der Ort, den ein Empfänger zuletzt angab, so, als wäre das Gerät noch dort"],
  "exact.guarantee.source": ["", "ob eine Quelle an einem Ort oder an einem anderen steht, {far} davon entfernt, wenn sonst alles gleich ist; vorausgesetzt, dass keine Quelle stärker als {most} ist, alle auf Gitterpunkten der Karte stehen, die Wärme sich um {least} {spread} ausgebreitet hat, {converter}und {walls}"],
  "exact.guarantee.metres": ["", "höchstens {far} m"],
  "exact.guarantee.cells": ["", "höchstens {n}-mal 1/{all} des Raums"],
  "exact.guarantee.exactly": ["", "genau"],
  "exact.guarantee.least": ["", "mindestens"],
  "exact.guarantee.walls.none": ["", "es keine Wände gibt"],
  "exact.guarantee.walls": ["", "keine Wärme durch die Wände geht"],
  "exact.guarantee.path": ["", "der Weg einer Quelle ist in jedem Augenblick um {far} verschoben, {way}, sonst ändert sich nichts; vorausgesetzt, dass keine Quelle mehr als {most} W abgibt, {converter}und der Raum in den {hours} h, nachdem er zuletzt leer und in Ruhe war, auf Wärme so reagiert wie das Modell des Raums {room} (Prüfsumme {digest}; {doors})"],
  "exact.guarantee.doors": ["", "keine Tür bewegt sich"],
  "exact.guarantee.through": ["", "auch durch Wände"],
  "exact.guarantee.foot": ["", "auf begehbarem Weg gemessen, nie durch eine Wand oder eine in diesem Augenblick geschlossene Tür"],
  "exact.guarantee.steps": ["", "Wandler {behind}in ganzen Schritten von {step} anzeigen, "],
  "exact.guarantee.behind": ["", "den Wert, den andere Wandler in Schritten von höchstens {count} zeigen, "],
  "exact.guarantee.trust.keyholder": ["", "niemandem (lokal), außer dem, der die Schlüssel der Geräte hat: jedes Gerät verwischt seine eigenen Messwerte; das Versprechen gilt gegen alle, die die Verschlüsselung nicht brechen können (SIM-CDP); gegen den, der die Schlüssel der Geräte hat, ist nichts versprochen"],
  "exact.guarantee.trust.local": ["", "niemandem (lokal): jedes Gerät verwischt seine eigenen Messwerte, bevor sie das Gerät verlassen, und niemand hat einen Schlüssel, um das rückgängig zu machen"],
  "exact.guarantee.trust.seeded": ["", "allen, denn dies ist nicht privat: es war ein Versuch mit --seed, und wer diesen kennt, kann das Rauschen wiederholen und abziehen"],
  "exact.guarantee.readings": ["", "jeder Sensor höchstens {n}-mal misst"],
  "exact.guarantee.tables": ["", "{window}, und zwar für alles darin zusammen, mit Rauschen aus Tabellen, deren Ungenauigkeit in delta schon enthalten ist"],
  "exact.guarantee.level": ["", " und von jedem Messwert ein Nullpunkt abgezogen wird, der den Messwerten um höchstens {slew} je Antwort folgt und, wenn ein Gerät startet und wieder nach je {n} Antworten, bei dem Wert beginnt, der im leeren Raum aufgenommen wurde"],
  "exact.guarantee.not.warmth": ["", "dass jemand da ist, wie viele es sind und wie warm; dass es ein Gerät gibt und wann es spricht; und je weiter eine Quelle verschoben wird, desto weniger ist die Verschiebung verborgen"],
  "exact.guarantee.not.beyond": ["", "; eine stärkere Quelle; und was der wirkliche Raum anders macht als sein Modell"],
  "exact.guarantee.not.lingers": ["", "; Wärme, die von früher übrig ist, wird behandelt, als stünde ihre Quelle noch an ihrem Ort"],
  "exact.guarantee.not.room": ["", "in welchem der durch Wände und geschlossene Türen getrennten Räume jemand ist; "],
  "exact.guarantee.chances": ["", "Wer alles sieht, was die Sensoren senden, und alles weiß, außer an welchem von zwei Orten eine Quelle steht, kann das höchstens so oft richtig sagen: {away} (blindes Raten träfe in der Hälfte der Fälle)."],
  "exact.guarantee.away": ["", "{share} bei {far} Abstand"],
  "exact.guarantee.formally": ["", "Formal: epsilon {epsilon}, delta {delta}."],
  "exact.guarantee.formally.pure": ["", "Formal: epsilon {epsilon}, und kein delta."],
  "exact.guarantee.chance": ["", "Wer alles sieht, was ein Gerät sendet, und weiß, dass es in einem von zwei Feldern war, kann das richtige Feld höchstens in {sure} der Fälle nennen (blindes Raten träfe in der Hälfte der Fälle); bei jedem Raten ändert sich das Verhältnis der Chancen, richtig oder falsch zu raten, höchstens um den Faktor {factor}."],
  "exact.guarantee.cell": ["", "in welchem von zwei beliebigen Feldern ein Gerät ist"],
  "exact.guarantee.trust.cell": ["", "niemandem (lokal): jedes Gerät verwischt die Angabe seines Feldes, bevor es sie sendet, und niemand hat einen Schlüssel, um das rückgängig zu machen"],
  "exact.guarantee.not.cell": ["", "dass jemand da ist und antwortet, wann, und wer es ist; wie viele da sind; was ein Gerät mit Antworten über die vorgesehene Zahl hinaus verrät; und wer tagelang in einem Feld bleibt, ist nur so weit geschützt, wie es das gesamte epsilon zulässt"],
  "exact.guarantee.points": ["", "wo alle Punkte eines Nutzers sind, in jeder Veröffentlichung"],
  "exact.guarantee.trust.sums": ["", "dem Gateway (zentral): es sieht jeden Ort, verwischt die Summen und vergisst die Orte"],
  "exact.guarantee.releases": ["", "höchstens {n}-mal etwas veröffentlicht wird, jedes Mal mit {points} der Punkte eines Nutzers"],
  "exact.guarantee.not.points": ["", "dass jemand da ist und antwortet, wann, und wer es ist; wie viele antworten; Punkte über die hinaus, die zählen; und weitere Zeiträume"],
  "exact.guarantee.report": ["", "ob mitgezählt wird, was ein Gerät meldet, oder an dessen Stelle nichts"],
  "exact.guarantee.trust.report": ["", "dem Gateway (zentral): es sieht jede Antwort und verwischt die Summe der Antworten, bevor sie das Gateway verlässt, und niemand hat einen Schlüssel, um das Rauschen zu entfernen"],
  "exact.guarantee.not.report": ["", "dass jemand da ist und antwortet, wann, und wie viele es tun; was ein Gerät mit Antworten über die vorgesehene Zahl hinaus verrät; vor dem Gateway und vor jedem, der dort einbricht, ist gar nichts geschützt; und ob ein Gerät an der einen oder an einer anderen Menge von Orten war, ist nur mit dem doppelten epsilon geschützt"],
  "exact.guarantee.not.sum": ["", "dass jemand da ist und teilnimmt, und wann; wie viele es tun; und Antworten über diese Runden hinaus"],
  "exact.guarantee.place": ["", "an welchem von zwei beliebigen Orten ein Gerät ist"],
  "exact.guarantee.trust.shard": ["", "vielen zusammen (verteilt): ein Gerät allein fügt kaum Rauschen hinzu, daher darf niemand einzelne Geräte oder kleinere Gruppen sehen, sondern nur die Summe über eine Gruppe von mindestens {threshold} Geräten; dafür sorgt ein Verschlüsselungsverfahren (sichere Summe). Vorausgesetzt ist, dass höchstens {colluders} Geräte der Gruppe mit dem Gateway gemeinsame Sache machen; niemand hat einen Schlüssel, um das Rauschen der Summe zu entfernen"],
  "exact.guarantee.marks": ["", "ob die Einträge eines Geräts mitgezählt werden oder nicht; dass es teilnimmt, ist bekannt"],
  "exact.guarantee.rounds": ["", "die Antworten eines Geräts auf alle Runden der Frage zusammen"],
  "exact.guarantee.curious": ["", "Vertrauen muss man darauf, dass Gateway und Nachrichtenvermittler sich an das Verfahren halten. Tun sie es nicht, können sie vielleicht lesen, was ein einzelnes Gerät sendet; gegen alle anderen gilt das Versprechen."],
  "exact.guarantee.trusted": ["", "Vertrauen muss man dem Gateway. Es sieht jeden Ort, bis es ihn verrauscht hat; wer es betreibt oder vorher dort einbricht, sieht ihn auch. Gegen alle anderen gilt das Versprechen."],
  "exact.map.misfit": ["", "jede innerhalb der Grenzen mögliche Wärme weicht von den Messwerten um mindestens {residual} ab, mit Rauschen sind aber nur {radius} zu erklären. Grund ist Zufall, oder die Einstellungen für Ausbreitung, Wände, größte Stärke oder das Rauschen der Sensoren sind falsch. Messen Sie noch einmal, stellen Sie eine kleinere Fehlerwahrscheinlichkeit ein, oder prüfen Sie diese Einstellungen"],
  "exact.map.clamp": ["", "bei Sensor {sensors} ist der Messwert der höchste oder niedrigste, den ein Gerät anzeigen kann; der wahre Wert liegt also darüber oder darunter: es gibt mehr, wärmere oder nähere Quellen als angegeben, oder der Nullpunkt stimmt nicht. Der Messwert ist ausgelassen"],
  "exact.verdict.sensors": ["", "ausgelassen, weil der Messwert von den anderen abweicht (in Klammern: um wie viele Standardabweichungen des Rauschens): Sensor {sensors}"],
  "exact.verdict.scatter": ["", "die Sensoren streuen {times}-mal so stark wie angegeben, und die Karte berücksichtigt das schon"],
  "exact.verdict.few": ["", "die Sensoren widersprechen einander, um bis zu {most} Standardabweichungen des Rauschens, und es sind zu wenige, um zu erkennen, welcher falsch misst: ein Sensor ist defekt, oder das Rauschen ist anders als angegeben, oder Wärme hat sich nicht ausgebreitet"],
  "exact.verdict.odds": ["", "mehr als {n} Sensoren weichen von allen anderen ab, um bis zu {most} Standardabweichungen des Rauschens: Sensoren sind defekt, oder das Rauschen ist anders als angegeben, oder Wärme hat sich nicht ausgebreitet"],
  "exact.verdict.contradicted": ["", "die Messwerte widersprechen dem, was über den Raum angegeben ist: jede nach diesen Angaben mögliche Wärme weicht von ihnen um mindestens {off} Standardabweichungen des Rauschens ab; durch Rauschen allein geschieht das in weniger als einer von {rounds} Runden. Mehr oder wärmere Quellen als angegeben, eine andere Ausbreitung der Wärme, andere Wände, Wärme von außen oder ein defekter Sensor können der Grund sein"],
  "exact.verdict.other": ["", "die Messwerte sprechen gegen das, was über den Raum und seine Quellen angegeben ist; am wahrscheinlichsten ist stattdessen: {likely}; die Karte berücksichtigt das schon"],
  "exact.verdict.other.powers": ["", "mehr oder andere Quellen"],
  "exact.verdict.other.room": ["", "mehr oder andere Quellen, und eine andere Ausbreitung der Wärme, andere Wände oder Wärme von außen"],
  "exact.verdict.other.level": ["", "mehr oder andere Quellen, und ein verschobener Nullpunkt"],
  "exact.verdict.other.equal": ["", "eine andere Ausbreitung der Wärme, andere Wände oder Wärme von außen"],
  "exact.verdict.other.equal level": ["", "eine andere Ausbreitung der Wärme, andere Wände oder Wärme von außen, und ein verschobener Nullpunkt"],
  "exact.verdict.weak": ["", "sie ist vielleicht kaum besser als geraten"],
  "exact.verdict.answers": ["", "keine Karte ergibt solche Antworten: bei der am besten passenden ist Chi-Quadrat um {off} Standardabweichungen zu groß; manche Geräte antworten also nach einer anderen Regel als der eingestellten, oder ihre Antworten sind gefälscht"],
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
export const clock = (at_s, more) => new Date(1000 * at_s).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...more });
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
