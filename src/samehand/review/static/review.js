// Keys, answers, the next card, focus. Whatever was crawled is set as text, and never as markup.

const field = (name) => document.querySelector(`[data-field="${name}"]`);
const number = (value) => value.toLocaleString("en-US");
const counted = (value, units) => `${number(value)} ${value === 1 ? units.slice(0, -1) : units}`;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What a terminal or an eye could misread is made visible, as the pages from the server do.
const neutral = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);

function alarm(message) {
  const place = field("alert");
  place.textContent = message;
  place.hidden = !message;
}

async function ask(path, body, signal) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const options = { ...(body ? post : {}), signal };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start samehand review again: what was saved is not lost.");
  }
  const said = await response.json().catch(() => ({ error: `The server answered ${response.status}.` }));
  if (!response.ok) throw Object.assign(new Error(said.error), { status: response.status });
  return said;
}

// Two sources side by side, with what both share marked.

const compared = new Map();

function comparison(path) {
  if (!compared.has(path)) {
    const stop = new AbortController();
    compared.set(path, { stop, said: ask(path, undefined, stop.signal) });
  }
  return compared.get(path).said;
}

// Browsers open six connections at most: comparisons that nobody waits for would keep the answers waiting.
function forgetOthers(paths) {
  for (const [path, { stop, said }] of compared) {
    if (paths.includes(path)) continue;
    said.catch(() => {});
    stop.abort();
    compared.delete(path);
  }
}

function fillSource(place, stretches) {
  place.replaceChildren(
    ...stretches.map(({ text, shared }) => (shared ? element("mark", text) : document.createTextNode(text))),
  );
  place.scrollTop = 0;
}

async function showComparison(path, isCurrent) {
  let found;
  try {
    found = await comparison(path);
  } catch (error) {
    found = { problem: error.message };
  }
  if (!isCurrent()) return;
  fillSource(field("left"), found.left ?? []);
  fillSource(field("right"), found.right ?? []);
  const alike = Object.entries(found.alike ?? {}).map(([what, share]) => `${what} ${share.toFixed(2)}`);
  field("compared").textContent = found.problem || `What both share is marked. Alike, compared in full: ${alike.join(", ")}.`;
}

// The queue.

const queue = { cards: [], saving: Promise.resolve(), waiting: 0 };

function sentence(answer, touched) {
  const flips = touched.flips.map((flip) => `${counted(flip.count, flip.unit)} from ${flip.from} to ${flip.to}`);
  const guarded = touched.guarded ? [`${counted(touched.guarded, "guarded sites")} never blocked`] : [];
  const parts = [`touches ${counted(touched.pages, "pages")} and ${counted(touched.sites, "sites")}`, ...flips, ...guarded];
  const apart = answer === "different hands" ? "; the two pages are kept apart from now on" : "";
  const said = touched.pages || touched.sites ? parts.join("; ") : `no verdict changes${apart}`;
  const line = element("p", ` ${said}.`, "touch");
  line.prepend(element("b", `If ${answer}:`));
  return line;
}

function showVerdict(verdict) {
  const action = field("action");
  action.textContent = verdict ? verdict.action : "no verdict";
  action.className = verdict ? `action ${verdict.action}` : "";
  field("kind").textContent = verdict ? neutral(verdict.kind) : "";
  const span = (value) => value.toFixed(2);
  field("probability").textContent = verdict
    ? `probability ${span(verdict.probability)} (${span(verdict.low)} to ${span(verdict.high)}) that nobody needs it`
    : "";
  const items = (verdict ? verdict.items : []).slice(0, 6);
  field("why").replaceChildren(
    ...items.map((item) => element("li", `${item.log_odds >= 0 ? "+" : ""}${span(item.log_odds)} ${neutral(item.sentence)}`)),
  );
}

function showPair(card) {
  field("pairbox").hidden = !card.pair;
  document.querySelector('[data-answer="different hands"]').disabled = !card.pair;
  if (!card.pair) return;
  for (const side of ["left", "right"]) {
    const link = field(`${side}url`);
    link.textContent = neutral(card.pair[side].url);
    link.href = `/page/${card.pair[side].page_id}`;
    field(side).replaceChildren();
  }
  field("compared").textContent = `Similarity ${card.pair.similarity.toFixed(2)}. Reading both pages …`;
  showComparison(pairPath(card), () => queue.cards[0] === card);
}

const pairPath = (card) => `/compare/${card.pair.left.page_id}/${card.pair.right.page_id}.json`;

function show() {
  const card = queue.cards[0];
  field("card").hidden = !card;
  field("empty").hidden = Boolean(card) || queue.waiting > 0;
  for (const button of document.querySelectorAll("[data-queue] [data-answer]")) button.disabled = !card;
  if (!card) return;
  const heading = field("heading");
  heading.textContent = `Cluster ${card.number}`;
  heading.href = `/cluster/${card.number}`;
  const cluster = card.cluster;
  field("figures").textContent =
    `${cluster.class} · ${number(cluster.pages)} pages · ${number(cluster.hosts)} hosts · ${number(cluster.sites)} sites · ` +
    `mean similarity ${cluster.mean_similarity.toFixed(2)} · weakest link ${cluster.weakest_link.toFixed(2)}`;
  field("sample").hidden = !card.is_sample;
  field("touches").replaceChildren(...Object.entries(card.touches).map(([answer, touched]) => sentence(answer, touched)));
  showVerdict(card.verdict);
  forgetOthers(queue.cards.filter((one) => one.pair).map(pairPath));
  showPair(card);
  prepareNext();
}

function prepareNext() {
  const next = queue.cards[1];
  if (next && next.pair) comparison(pairPath(next)).catch(() => {});
}

function showProgress(said) {
  field("progress").textContent =
    `${number(said.answered)} answered · ${number(said.skipped)} skipped · ${number(said.open)} open`;
  const sample = said.sample;
  const share = (value) => `${Math.round(100 * value)} %`;
  field("precision").textContent =
    `Random sample: ${number(sample.answered)} of ${number(sample.size)} clusters answered.` +
    (sample.called
      ? ` Of ${sample.called} that samehand calls unwanted, ${sample.right} are (${share(sample.low)} to ${share(sample.high)}).`
      : "");
}

// The server says which cards are open. Those that are answered here and not saved yet are none of them.
function take(said, unsaved) {
  showProgress(said);
  const current = queue.cards[0];
  const cards = said.cards.filter((card) => !unsaved.has(card.number));
  queue.cards = current ? [current, ...cards.filter((card) => card.number !== current.number)] : cards;
  if (queue.cards[0] !== current) show();
  else prepareNext();
}

const unsaved = new Set();

function enqueue(work) {
  queue.waiting += 1;
  queue.saving = queue.saving.then(work).finally(() => {
    queue.waiting -= 1;
    if (!queue.cards.length) show();
  });
}

function answerCard(answer) {
  const card = queue.cards.shift();
  if (!card) return;
  alarm("");
  const isPair = answer === "different hands";
  const blind = document.body.classList.contains("blind");
  const body = isPair
    ? { unit: "pair", name: card.pair.name, answer, blind, only_open: true }
    : { unit: "cluster", name: card.cluster.style_cluster_id, answer, blind, only_open: true };
  unsaved.add(card.number);
  field("status").textContent = `Saving cluster ${card.number}: ${answer} …`;
  show();
  enqueue(async () => {
    try {
      const said = await ask("/answer.json", body);
      unsaved.delete(card.number);
      field("status").textContent = `Saved cluster ${card.number}: ${said.saved}.`;
      take(said, unsaved);
    } catch (error) {
      unsaved.delete(card.number);
      if (error.status === 409) {
        field("status").textContent = error.message;
        take(await ask("/queue.json"), unsaved);
        return;
      }
      alarm(`Cluster ${card.number} is not saved. ${error.message}`);
      queue.cards.unshift(card);
      show();
    }
  });
}

function undoCard() {
  alarm("");
  enqueue(async () => {
    try {
      const said = await ask("/undo.json", {});
      field("status").textContent = said.undone ? `Took back: ${said.undone}.` : "There is nothing to undo.";
      queue.cards = said.undone ? [] : queue.cards;
      take(said, unsaved);
    } catch (error) {
      alarm(`Nothing was undone. ${error.message}`);
    }
  });
}

// Screens that show one unit: the answer is saved and shown, and the screen stays.

async function answerUnit(box, answer) {
  alarm("");
  try {
    const said = answer
      ? await ask("/answer.json", { unit: box.dataset.unit, name: box.dataset.name, answer })
      : await ask("/undo.json", {});
    if (answer) field("status").textContent = `Saved: ${said.saved} (${said.time}).`;
    else field("status").textContent = said.undone ? `Took back: ${said.undone} (${said.unit}).` : "There is nothing to undo.";
  } catch (error) {
    alarm(`Not saved. ${error.message}`);
  }
}

function setBlind(isBlind) {
  document.body.classList.toggle("blind", isBlind);
  document.querySelector("[data-blind]")?.setAttribute("aria-pressed", String(isBlind));
  sessionStorage.setItem("blind", isBlind ? "yes" : "");
}

function toggleKeys() {
  const keys = field("keys");
  if (keys.open) keys.close();
  else keys.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const data = button.dataset;
  const box = button.closest("[data-unit]");
  if (box) answerUnit(box, data.answer);
  else if (data.answer) answerCard(data.answer);
  else if (data.undo !== undefined) undoCard();
  else if (data.blind !== undefined) setBlind(!document.body.classList.contains("blind"));
  else if (data.help !== undefined) toggleKeys();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, textarea, select")) return;
  const keys = field("keys");
  if (keys && keys.open && event.key !== "?") return;
  const button = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key.toLowerCase());
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
});

setBlind(sessionStorage.getItem("blind") === "yes");
const compare = document.querySelector("[data-compare]");
if (compare) showComparison(compare.dataset.compare, () => true);
if (document.querySelector("[data-queue]")) {
  enqueue(async () => {
    try {
      take(await ask("/queue.json"), unsaved);
      show();
    } catch (error) {
      alarm(error.message);
    }
  });
}
