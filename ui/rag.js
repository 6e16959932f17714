"use strict";
// The console's page: four views over the server's answers.
// What a document or a file name holds reaches the page as text nodes only, its control
// characters made visible; addresses are built with URLSearchParams; nothing is evaluated.

const PAGE = 10;
const TYPING_MS = 350; // from the last letter typed to the question asked
const LEAD = 160; // letters shown before the first mark of a passage, at most
const RETRY_MS = 2000; // between two tries to reach a server that does not answer
const LOOK_MS = 2000; // the same while the view of syncs is open
const IDLE_MS = 6000; // between two looks at whether a sync runs
const COPIED_MS = 2000; // for which a button says that it copied
const LISTED = 200; // files on one page of the list, as the server gives them
const FAILURES_SHOWN = 200;
const VIEWS = { search: "/", files: "/files", sync: "/sync", health: "/health" };
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udfff]/u;

let words = {};
let language = "en";
let view = "search";
let offline = false;
let leaving = () => {}; // what the view before must stop
let overview = null; // types and folders, once known

// --- words ---------------------------------------------------------------------------

function t(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : String(value ?? "");
  });
}

const formats = new Map(); // Intl formats are slow to make: once per language and form
function form(kind, options = {}) {
  const key = `${language} ${kind} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new Intl[kind](language, options));
  return formats.get(key);
}
function number(value) { return value == null ? "–" : form("NumberFormat").format(value); }
function percent(share) { return form("NumberFormat", { style: "percent", maximumFractionDigits: 0 }).format(share); }
function moment(text) {
  const date = text ? new Date(text) : null;
  if (!date || isNaN(date)) return t("never");
  return form("DateTimeFormat", { dateStyle: "medium", timeStyle: "short" }).format(date);
}
function bytes(count) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let at = 0;
  while (count >= 1000 && at < units.length - 1) { count /= 1000; at += 1; }
  return form("NumberFormat", { style: "unit", unit: units[at], unitDisplay: "short", maximumFractionDigits: at && count < 10 ? 1 : 0 }).format(count);
}
function span(seconds) {
  if (seconds < 90) return t("seconds", { n: Math.round(seconds) });
  if (seconds < 5400) return t("minutes", { n: Math.round(seconds / 60) });
  return t("hours", { n: Math.round(seconds / 3600) });
}
function wordOr(key, fallback) { return words[key] ?? fallback; }
function sentence(text) { return !text || /[.!?…:]$/.test(text) ? text || "" : `${text}.`; }
function scriptOf(text) { // the language in which a text is to be read and set
  const thai = (text.match(/[\u0e00-\u0e7f]/g) || []).length;
  const hangul = (text.match(/[\uac00-\ud7a3]/g) || []).length;
  if (Math.max(thai, hangul) >= text.length / 10) return thai > hangul ? "th" : "ko";
  return /[a-z]/i.test(text) ? "en" : "";
}

const PLACE = /(^|[ ,] ?)(p\.|pages?|slides?|lines?|rows?|paragraphs?) ([\d,]+(?:(?:–| to )[\d,]+)?)( notes| comment)?$/;
const PLACES = { p: "page", s: "slide", l: "line", r: "row" };
function placed(location) { // where a passage stands, in the page's language: names stay as they are
  const label = location?.label || "";
  if (language === "en") return label;
  return label.replace(/^attachment /, `${t("place_attachment")} `).replace(PLACE, (_, before, kind, n, beside) => {
    const name = kind.startsWith("para") ? "paragraph" : PLACES[kind[0]];
    return before + t(`place_${name}`, { n: n.replace(" to ", "–") }) + (beside ? ` (${t(`place_${beside.trim()}`)})` : "");
  });
}

// --- elements ------------------------------------------------------------------------

function h(tag, given = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(9).filter((part) => part != null && part !== false));
  return element;
}

function bare(text) { return seen(text).map((part) => part.textContent ?? part).join(""); } // for where no element can stand
function seen(text) { // text whose control characters can be seen
  if (!UNSEEN.test(text)) return [text];
  const parts = [];
  let plain = "";
  for (const letter of text) {
    if (!UNSEEN.test(letter)) { plain += letter; continue; }
    const code = letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(plain, h("span", { class: "control", title: t("control") }, `U+${code}`));
    plain = "";
  }
  return [...parts, plain].filter((part) => part !== "");
}

function marked(text, spans) { // offsets count code points
  const letters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(...seen(letters.slice(at, start).join("")), h("mark", {}, ...seen(letters.slice(start, end).join(""))));
    at = end;
  }
  return [...parts, ...seen(letters.slice(at).join(""))];
}

function excerpt(text, spans) { // what a card shows: from shortly before the first mark on
  const letters = Array.from(text);
  const first = spans.length ? spans[0][0] : 0;
  let start = 0;
  if (first > LEAD) {
    start = first - LEAD;
    const line = letters.indexOf("\n", start);
    const word = letters.indexOf(" ", start);
    if (line >= 0 && line < first) start = line + 1;
    else if (word >= 0 && word < first) start = word + 1;
  }
  const parts = marked(letters.slice(start).join(""), spans.map(([from, to]) => [from - start, to - start]));
  const closed = parts.map((part) => typeof part === "string" ? part.replace(/\n[ \t]*(?:\n[ \t]*)+/g, "\n") : part);
  return start ? ["… ", ...closed] : closed;
}

function button(key, run, given = {}) { return h("button", { type: "button", class: "tiny", onclick: run, ...given }, t(key)); }
function chip(text, kind = "") { return h("span", { class: `chip ${kind}` }, ...seen(text)); }
function note(kind, ...inside) { return h("p", { class: `note ${kind}` }, ...inside); }
function say(text) { document.getElementById("said").textContent = text; }
function fill(element, ...inside) { element.replaceChildren(...inside.flat(9).filter((part) => part != null && part !== false)); return element; }
function original(text) { return h("span", { class: "original", lang: "en" }, ...seen(text)); }
function problemNote(error) { // in the page's language where it has a word for it, the server's own beside it
  const own = language !== "en" && words[`problem_${error.code}`];
  if (!own) return note("bad", h("strong", {}, ...seen(sentence(error.what || t("failed")))), " ", ...seen(error.remedy || ""));
  return note("bad", h("strong", {}, own), original(`${sentence(error.what)} ${error.remedy || ""}`.trim()));
}
function whyUnread(row) { // why a file has no text, and what to do about it
  if (language === "en") return [h("p", {}, ...seen(sentence(row.reason))), row.remedy ? h("p", { class: "soft" }, ...seen(row.remedy)) : null];
  const advice = words[`advice_${row.code}`];
  return [advice ? h("p", {}, advice) : null, h("p", {}, original(`${sentence(row.reason)} ${row.remedy || ""}`.trim()))];
}
function unreadCard(row, kind) {
  return h("li", { class: "card" },
    h("div", { class: "row" }, h("strong", { class: "grow path" }, ...seen(row.path)), chip(wordOr(`code_${row.code}`, row.code || ""), kind)),
    whyUnread(row));
}
function choice(id, label, options, value, change) {
  const select = h("select", { id, onchange: (event) => change(event.target.value) }, options.map(([key, text]) => h("option", { value: key }, ...seen(text))));
  select.value = value;
  return h("label", { for: id }, label, select);
}

async function copy(text, from, key) { // `key`: the word that the button bears otherwise
  try { await navigator.clipboard.writeText(text); say(t("copied")); from.textContent = t("copied"); }
  catch { from.textContent = t("copy_failed"); }
  setTimeout(() => { from.textContent = t(key); }, COPIED_MS);
}

// --- the server ----------------------------------------------------------------------

class Problem extends Error {
  constructor(error) { super(error.what); this.code = error.code; this.what = error.what; this.remedy = error.remedy; }
}

async function ask(name, values = {}, options = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null));
  let reply, value;
  try {
    reply = await fetch(`/api/${name}?${query}`, options);
    value = await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lost();
    throw new Problem({ code: "offline", what: t("offline"), remedy: t("offline_remedy") });
  }
  if (!reply.ok) throw new Problem(value.error);
  return value;
}

function change(name, body) {
  const token = document.querySelector('meta[name="ragdoc-token"]').content;
  return ask(name, {}, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", "X-RagDoc-Token": token } });
}

function lost() {
  if (offline) return;
  offline = true;
  showBanner("bad", t("offline"), " ", t("offline_remedy"));
  setTimeout(tryAgain, RETRY_MS);
}

async function tryAgain() {
  try {
    const page = await (await fetch("/")).text(); // a new start has a new token
    const found = new DOMParser().parseFromString(page, "text/html").querySelector('meta[name="ragdoc-token"]');
    document.querySelector('meta[name="ragdoc-token"]').content = found.content;
  } catch { setTimeout(tryAgain, RETRY_MS); return; }
  offline = false;
  showBanner();
  show();
  watch();
}

function showBanner(kind, ...inside) {
  const banner = document.getElementById("banner");
  fill(banner, inside.length ? note(kind, ...inside) : null);
}

let watching = 0;
async function watch() { // says on every view that a sync runs
  clearTimeout(watching);
  let wait = IDLE_MS;
  if (!offline && !document.hidden) {
    try {
      const { job } = await ask("status");
      const runs = job && (job.status === "running" || job.status === "queued");
      if (runs) wait = Math.max(1000, job.poll_after_s * 1000);
      if (view === "sync" || !runs) showBanner();
      else showBanner("", h("a", { href: "/sync", onclick: (event) => go(event, "/sync") }, t("sync_runs", { n: job.progress_percent })));
    } catch { /* lost() says it */ }
  }
  watching = setTimeout(watch, wait);
}

// --- going from view to view ---------------------------------------------------------

function go(event, address) {
  if (event && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
  event?.preventDefault();
  history.pushState(null, "", address);
  show();
  const main = document.getElementById("main");
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true }); // the search has its field focused
  scrollTo(0, 0);
}

function show() {
  leaving();
  leaving = () => {};
  view = Object.keys(VIEWS).find((name) => VIEWS[name] === location.pathname) ?? "search";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = view === "search" ? "RagDoc" : `${t(view)} · RagDoc`;
  const main = document.getElementById("main");
  fill(main);
  if (location.pathname === "/original") { showLost(main); return; }
  ({ search: showSearch, files: showFiles, sync: showSync, health: showHealth })[view](main);
  if (view === "sync") showBanner();
}

async function showLost(main) { // an original that cannot be had: says why
  let error = null;
  try {
    const reply = await fetch(location.pathname + location.search, { headers: { Accept: "application/json" } });
    if (reply.ok) { location.reload(); return; } // it is there again
    ({ error } = await reply.json());
  } catch { lost(); }
  fill(main, h("div", { class: "stack" }, h("h1", {}, t("open")), error ? problemNote(error) : null,
    h("p", {}, h("a", { class: "button", href: "/", onclick: (event) => go(event, "/") }, t("search")))));
}

function inside(folder) { // the path filter that means: below this folder
  if (!folder) return "";
  return /[*?[]/.test(folder) ? `${folder.replace(/[*?[]/g, "[$&]")}/*` : `${folder}/`;
}

async function learnOverview() {
  if (!overview) overview = await ask("overview");
  return overview;
}

// --- search --------------------------------------------------------------------------

function showSearch(main) {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  const state = { q: given.q || "", mode: given.mode || "", path: given.path || "", type: given.type || "", after: given.after || "", page: Math.max(1, parseInt(given.page, 10) || 1) };
  const input = h("input", { id: "q", type: "search", maxlength: 4000, autocomplete: "off", spellcheck: "false", placeholder: t("ask_hint"), "aria-label": t("ask"), value: state.q });
  const results = h("div", { id: "results" });
  const filters = h("div", { class: "row filters" });
  let asking = null;
  let typing = 0;

  function address() {
    const query = new URLSearchParams(Object.entries(state).filter(([name, value]) => value && !(name === "page" && value === 1)));
    return `/${query.size ? `?${query}` : ""}`;
  }
  function renew(push) {
    clearTimeout(typing);
    history[push ? "pushState" : "replaceState"](null, "", address());
    run();
  }
  async function run() {
    asking?.abort(); // the later question wins: what is aborted never comes back from ask
    document.title = state.q.trim() ? `${state.q.trim().slice(0, 80)} · RagDoc` : "RagDoc";
    if (!state.q.trim()) { fill(results); welcome(results); return; }
    const mine = asking = new AbortController();
    results.classList.add("busy");
    results.setAttribute("aria-busy", "true");
    if (!results.childElementCount) fill(results, h("p", { class: "soft" }, t("searching")));
    try {
      const { q, mode, path, type, after, page } = state;
      const answer = await ask("search", { q, mode, path: inside(path), type, after, offset: (page - 1) * PAGE, limit: PAGE }, { signal: mine.signal });
      showAnswer(results, answer, state, turn);
    } catch (error) {
      if (error.name !== "AbortError" && mine === asking) fill(results, failure(error));
    } finally {
      if (mine === asking) { results.classList.remove("busy"); results.removeAttribute("aria-busy"); }
    }
  }
  function turn(page) { state.page = page; renew(true); scrollTo(0, 0); }
  function filter(name) { return (value) => { state[name] = value; state.page = 1; renew(true); }; }
  function drawFilters(found) {
    const folders = (found?.folders || []).map((path) => [path, path]);
    const types = (found?.types || []).filter((row) => row.type && row.documents).map((row) => [row.type, row.type]);
    if (state.path && !folders.some(([path]) => path === state.path)) folders.push([state.path, state.path]);
    if (state.type && !types.some(([type]) => type === state.type)) types.push([state.type, state.type]);
    fill(filters,
      choice("mode", t("mode"), [["", t("mode_auto")], ["lexical", t("mode_lexical")], ["semantic", t("mode_semantic")]], state.mode, filter("mode")),
      choice("folder", t("folder"), [["", t("all_folders")], ...folders], state.path, filter("path")),
      choice("type", t("type"), [["", t("all_types")], ...types], state.type, filter("type")),
      h("label", { for: "after" }, t("after"), h("input", { id: "after", type: "date", value: state.after, onchange: (event) => filter("after")(event.target.value) })));
  }

  input.addEventListener("input", (event) => {
    clearTimeout(typing);
    if (event.isComposing) return;
    typing = setTimeout(() => {
      if (input.value === state.q) return;
      state.q = input.value;
      state.page = 1;
      renew(false);
    }, TYPING_MS);
  });
  input.addEventListener("compositionend", () => input.dispatchEvent(new Event("input")));
  fill(main, h("div", { class: "stack" },
    h("h1", { class: "hidden" }, t("search")),
    h("form", { role: "search", onsubmit: (event) => { event.preventDefault(); state.q = input.value; state.page = 1; renew(true); } },
      h("div", { class: "ask" }, input, h("button", { class: "main", type: "submit" }, t("search"))), filters),
    results));
  drawFilters(overview);
  learnOverview().then((found) => { if (view === "search" && filters.isConnected) drawFilters(found); }, () => {});
  leaving = () => { asking?.abort(); clearTimeout(typing); };
  if (!state.q) input.focus();
  run();
}

async function welcome(results) {
  try {
    const base = await ask("status");
    if (view !== "search" || results.childElementCount) return;
    if (!base.documents && base.status !== "syncing") fill(results, emptyIndex());
    else fill(results, h("p", { class: "soft" }, t(base.status === "syncing" ? "indexing_hint" : "welcome", { documents: base.documents, chunks: base.chunks }), " ", ...seen(base.source)));
  } catch (error) { if (view === "search") fill(results, failure(error)); }
}

function emptyIndex() {
  return h("div", { class: "empty" }, h("h2", {}, t("nothing_indexed")), h("p", {}, t("nothing_indexed_hint")),
    h("a", { class: "button main", href: "/sync", onclick: (event) => go(event, "/sync") }, t("go_sync")));
}

function failure(error) { return error.code === "no_index" ? emptyIndex() : problemNote(error); }

function showAnswer(results, answer, state, turn) {
  const first = (state.page - 1) * PAGE;
  const total = first + answer.results.length + answer.more;
  const hints = legHints(answer, state);
  if (!answer.results.length) {
    say(t("no_hits"));
    fill(results, hints, h("div", { class: "empty" }, h("h2", {}, t("no_hits")), h("p", {}, t(state.path || state.type || state.after ? "no_hits_filtered" : "no_hits_hint"))));
    return;
  }
  const told = t("hits", { n: total });
  say(told);
  fill(results, hints,
    h("p", { class: "soft small" }, told, " · ", t("took", { n: Math.round(Object.values(answer.legs).reduce((most, leg) => Math.max(most, leg.ms || 0), 0)) })),
    h("ol", { class: "results", start: first + 1 }, answer.results.map((result, index) => h("li", {}, card(result, index)))),
    pager(state.page, Math.ceil(total / PAGE), turn));
}

function legHints(answer, state) {
  const notes = Object.entries(answer.legs)
    .filter(([name, leg]) => name === "semantic" && !leg.ran && leg.reason && state.mode !== "lexical")
    .map(([, leg]) => note("warn", t("meaning_off"), " ", ...seen(leg.reason)));
  const share = answer.index.embedded_fraction;
  if (answer.legs.semantic?.ran && share < 1) notes.push(note("", t("half_embedded", { n: Math.floor(share * 100) })));
  if (answer.index.unread_files) notes.push(h("p", { class: "small" }, h("a", { href: "/files?unread=first", onclick: (event) => go(event, "/files?unread=first") }, t("unread_hint", { n: answer.index.unread_files }))));
  return notes;
}

function pager(page, pages, turn) {
  if (pages < 2) return null;
  return h("nav", { class: "row", "aria-label": t("pages") },
    button("previous", () => turn(page - 1), { disabled: page <= 1 }),
    h("span", { class: "small" }, t("page_of", { page, pages })),
    button("next", () => turn(page + 1), { disabled: page >= pages }));
}

function originalOf(result) { // its address: a PDF at its page, a recording at its second
  const { kind, page, time } = result.location ?? {};
  let place = "";
  if (/\.pdf$/i.test(result.path) && page) place = `#page=${page}`;
  if (kind === "time" && time) place = `#t=${time}`;
  return `/original?${new URLSearchParams({ chunk: result.chunk_id })}${place}`;
}

function card(result, index) {
  const name = result.title || result.path.split("/").pop();
  const passage = h("p", { class: "passage short", lang: scriptOf(result.text) || null }, excerpt(result.text, result.highlights));
  const around = h("div", { class: "stack", hidden: true });
  const details = h("div", { class: "small", hidden: true },
    h("p", { class: "path" }, t("absolute_path"), ": ", ...seen(result.absolute_path), " ",
      button("copy_path", (event) => copy(result.absolute_path, event.target, "copy_path"))),
    h("p", {}, t("score"), ": ", String(result.score), " · ", t("modified"), ": ", moment(result.modified), " · ", result.chunk_id));
  const read = button("read", () => toggle(), { "aria-expanded": "false" });
  async function toggle() {
    const open = around.hidden;
    around.hidden = !open;
    passage.hidden = open;
    read.setAttribute("aria-expanded", String(open));
    read.textContent = t(open ? "read_less" : "read");
    if (open && !around.childElementCount) {
      fill(around, h("p", { class: "soft" }, t("loading")));
      try { drawAround(around, await ask("chunk", { id: result.chunk_id, before: 2, after: 2 }), result); }
      catch (error) { fill(around, problemNote(error)); }
    }
  }
  const article = h("article", { class: "hit card", tabindex: "-1", "data-index": index, "aria-labelledby": `hit-${index}` },
    h("div", { class: "row" }, h("h2", { class: "grow", id: `hit-${index}`, lang: scriptOf(name) || null }, h("a", { href: originalOf(result), target: "_blank", rel: "noopener", class: "open" }, ...seen(name))),
      result.location?.label ? chip(placed(result.location), "place") : null),
    h("p", { class: "path" }, ...seen(result.path)), passage, around,
    h("div", { class: "row" },
      h("span", { class: "small soft" }, t("why")), result.matched_by.map((leg) => chip(t(`leg_${leg}`))),
      result.recognised ? h("span", { class: "chip warn", title: t("recognised_hint") }, t("recognised")) : null,
      h("span", { class: "grow" }), read,
      button("cite", (event) => copy(citation(result), event.target, "cite"), { class: "tiny cite" }),
      button("details", (event) => { details.hidden = !details.hidden; event.target.setAttribute("aria-expanded", String(!details.hidden)); }, { "aria-expanded": "false" }),
      h("a", { class: "button tiny", href: originalOf(result), target: "_blank", rel: "noopener" }, t("open"))), details);
  article.addEventListener("focusin", () => select(index));
  article.read = toggle;
  return article;
}

function drawAround(around, found, result) {
  fill(around, found.chunks.map((chunk) => {
    const asked = chunk.chunk_id === result.chunk_id;
    return h("div", { class: `around ${asked ? "asked" : ""}`, lang: scriptOf(chunk.text) || null },
      h("p", { class: "small soft" }, ...seen(placed(chunk.location)), chunk.recognised ? ` · ${t("recognised")}` : ""),
      h("p", { class: "passage" }, asked ? marked(result.text, result.highlights) : seen(chunk.text)));
  }));
}

function citation(result) {
  const name = result.title || result.path.split("/").pop();
  return `${[name, placed(result.location)].filter(Boolean).join(", ")} (${result.path})`;
}

function cards() { return Array.from(document.querySelectorAll(".hit")); }
function select(index) {
  for (const article of cards()) {
    if (Number(article.dataset.index) === index) article.setAttribute("aria-current", "true");
    else article.removeAttribute("aria-current");
  }
}
function selected() { return document.querySelector('.hit[aria-current="true"]'); }

// --- files ---------------------------------------------------------------------------

const COLUMNS = [["path", "name"], ["type", ""], ["size", "number"], ["chunks", "number"], ["modified", ""], ["state", ""]];

function showFiles(main) {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  const state = { text: given.text || "", type: given.type || "", sort: given.sort || "path", order: given.order || "", unread: given.unread || "", offset: parseInt(given.offset, 10) || 0 };
  const table = h("div", { class: "stack", id: "list" }, h("p", { class: "soft" }, t("loading")));
  const types = h("span");
  let asking = null;
  let typing = 0;

  function renew(changes) {
    Object.assign(state, { offset: 0 }, changes);
    const query = new URLSearchParams(Object.entries(state).filter(([name, value]) => value && !(name === "sort" && value === "path")));
    history.replaceState(null, "", `/files${query.size ? `?${query}` : ""}`);
    run();
  }
  async function run() {
    asking?.abort();
    const mine = asking = new AbortController();
    try {
      const found = await ask("files", state, { signal: mine.signal });
      if (found.total && state.offset >= found.total) { renew({}); return; } // the list has become shorter
      drawFiles(table, found, state, renew);
    } catch (error) { if (error.name !== "AbortError" && mine === asking) fill(table, failure(error)); }
  }
  function drawTypes(found) {
    const known = (found?.types || []).filter((row) => row.type).map((row) => [row.type, `${row.type} (${number(row.files)})`]);
    fill(types, choice("file-type", t("type"), [["", t("all_types")], ...known], state.type, (type) => renew({ type })));
  }
  fill(main, h("div", { class: "stack" }, h("h1", {}, t("files")),
    h("div", { class: "row filters", role: "search" },
      h("input", { id: "q", type: "search", class: "grow", value: state.text, placeholder: t("files_hint"), "aria-label": t("files_hint"), oninput: (event) => { clearTimeout(typing); if (!event.isComposing) typing = setTimeout(() => renew({ text: event.target.value }), TYPING_MS); }, oncompositionend: (event) => event.target.dispatchEvent(new Event("input")) }),
      types,
      h("label", {}, h("input", { type: "checkbox", id: "unread", ...(state.unread ? { checked: true } : {}), onchange: (event) => renew({ unread: event.target.checked ? "first" : "" }) }), t("unread_first"))),
    table));
  drawTypes(overview);
  learnOverview().then((found) => { if (view === "files" && types.isConnected) drawTypes(found); }, () => {});
  leaving = () => { asking?.abort(); clearTimeout(typing); };
  run();
}

function drawFiles(table, found, state, renew) {
  if (!found.total) { fill(table, state.text || state.type ? h("p", { class: "empty soft" }, t("no_files")) : emptyIndex()); return; }
  const last = state.offset + found.documents.length;
  say(t("files_told", { first: state.offset + 1, last, total: found.total }));
  const turn = (step) => renew({ offset: Math.max(0, state.offset + step * LISTED) });
  fill(table,
    h("p", { class: "soft small" }, t("files_told", { first: state.offset + 1, last, total: found.total })),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("files") }, h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map(([name, kind]) => heading(name, kind, state, renew)))),
      h("tbody", {}, found.documents.map(fileRow)))),
    found.total > LISTED ? h("div", { class: "row" },
      button("previous", () => turn(-1), { disabled: !state.offset }), button("next", () => turn(1), { disabled: last >= found.total })) : null);
}

function heading(name, kind, state, renew) {
  const current = state.sort === name;
  const down = state.order === "desc";
  return h("th", { scope: "col", class: kind, "aria-sort": current ? (down ? "descending" : "ascending") : null },
    h("button", { type: "button", onclick: () => renew({ sort: name, order: current && !down ? "desc" : "" }) }, t(`column_${name}`), current ? (down ? " ▼" : " ▲") : ""));
}

function fileRow(file) {
  const why = file.code ? h("div", { class: "small why" }, h("strong", {}, wordOr(`code_${file.code}`, file.code)), whyUnread(file)) : null;
  const noticed = file.notices.slice(0, 20).map((entry) => h("p", {},
    h("strong", {}, wordOr(`notice_${entry.code}`, wordOr(`code_${entry.code}`, entry.code || ""))), ": ", ...seen(entry.message)));
  const notices = noticed.length ? h("details", { class: "small soft" }, h("summary", {}, t("notices", { n: file.notices.length })), noticed,
    file.notices.length > noticed.length ? h("p", {}, t("and_more", { n: file.notices.length - noticed.length })) : null) : null;
  return h("tr", {},
    h("td", { class: "name" }, h("a", { href: `/original?document=${file.id}`, target: "_blank", rel: "noopener" }, ...seen(file.path)),
      h("p", { class: "path small" }, ...seen(file.absolute_path)), why, notices),
    h("td", {}, ...seen(file.type || "–")), h("td", { class: "number" }, bytes(file.size)), h("td", { class: "number" }, number(file.chunks)),
    h("td", {}, moment(file.modified_ms ? new Date(file.modified_ms).toISOString() : "")),
    h("td", {}, stateChip(file.code ? (file.state === "needs_action" ? "needs_action" : "failed") : file.state)));
}

function stateChip(state) {
  const kind = { ready: "good", pending: "", degraded: "warn", needs_action: "warn", failed: "bad", done: "good", running: "", queued: "", cancelled: "warn", interrupted: "warn" }[state] ?? "";
  return chip(t(`state_${state}`), kind);
}

// --- sync ----------------------------------------------------------------------------

function showSync(main) {
  const now = h("div", { class: "card stack", id: "now" }, h("p", { class: "soft" }, t("loading")));
  const failures = h("div", { class: "stack", id: "failures" });
  const changesBox = h("div", { class: "stack", id: "changes" });
  const past = h("div", { class: "stack", id: "history" });
  let timer = 0;
  let shownJob = "";
  let stopped = false;

  async function refresh() {
    clearTimeout(timer);
    let wait = LOOK_MS;
    try {
      const job = await ask("job");
      if (stopped) return;
      drawJob(now, job, refresh);
      if (job.status === "running" || job.status === "queued") wait = Math.min(1000, job.poll_after_s * 1000);
      const key = job.job_id + job.status + job.failures.length;
      if (key !== shownJob) { shownJob = key; overview = null; drawFailures(failures, job); drawHistory(past); }
    } catch (error) {
      if (stopped) return;
      if (error.code === "unknown_job") drawJob(now, null, refresh);
      else fill(now, problemNote(error));
    }
    timer = setTimeout(refresh, wait);
  }
  async function dryRun(event) {
    event.target.disabled = true;
    fill(changesBox, h("p", { class: "soft" }, t("looking")));
    try { drawChanges(changesBox, await ask("changes")); } catch (error) { fill(changesBox, problemNote(error)); }
    event.target.disabled = false;
  }
  fill(main, h("div", { class: "stack" }, h("h1", {}, t("sync")), now,
    h("div", { class: "row" }, button("dry_run", dryRun, { id: "dry-run" }), h("span", { class: "soft small" }, t("dry_run_hint"))), changesBox, failures, past));
  leaving = () => { stopped = true; clearTimeout(timer); };
  refresh();
}

function drawJob(box, job, refresh) {
  const runs = job && (job.status === "running" || job.status === "queued");
  const signature = runs ? `${job.job_id}-runs` : `${job?.job_id}-${job?.status}`;
  if (box.dataset.signature !== signature || !runs) { // what has focus is not drawn anew while a job runs
    box.dataset.signature = signature;
    fill(box, h("div", { class: "row" }, h("h2", { class: "grow", id: "now-title" }), h("span", { id: "now-state" })),
      runs ? h("progress", { max: 100, value: 0, "aria-labelledby": "now-title" }) : null,
      h("p", { id: "now-line" }), h("p", { id: "now-file", class: "path" }), runs ? button("cancel", (event) => stop(event, job.job_id, refresh), { id: "cancel" }) : startRow(refresh));
  }
  fill(box.querySelector("#now-title"), t(!job ? "never_synced" : runs ? "sync_now" : "last_sync"));
  fill(box.querySelector("#now-state"), job ? stateChip(job.status) : "");
  if (!job) return;
  if (runs) {
    box.querySelector("progress").value = job.progress_percent;
    if (job.cancel_requested) fill(box.querySelector("#cancel"), t("cancelling"));
  }
  fill(box.querySelector("#now-line"), jobLine(job, runs));
  fill(box.querySelector("#now-file"), runs ? seen(job.current_file || "") : job.error ? seen(job.error) : "");
}

function jobLine(job, runs) {
  if (!runs) return `${moment(job.finished_at || job.updated_at)} · ${t("job_counts", job)}`;
  const parts = [`${number(job.progress_percent)} %`, t(`phase_${job.phase}`)];
  if (job.phase === "semantic") parts.push(t("vectors_of", { done: job.semantic_done, total: job.semantic_total }));
  else if (job.total_files) parts.push(t("files_of", { done: job.completed_files, total: job.total_files }));
  if (job.eta_s) parts.push(t("left", { time: span(job.eta_s) }));
  return parts.join(" · ");
}

function startRow(refresh) {
  const force = h("input", { type: "checkbox", id: "force" });
  return h("div", { class: "row" }, button("start", async (event) => {
    event.target.disabled = true;
    try { await change("sync", { force: force.checked }); } catch (error) { event.target.after(problemNote(error)); event.target.disabled = false; return; }
    say(t("started"));
    await refresh();
    document.getElementById("cancel")?.focus();
  }, { class: "main", id: "start" }), h("label", { class: "row small" }, force, t("force")));
}

async function stop(event, jobId, refresh) {
  event.target.disabled = true;
  try {
    const { status } = await change("cancel", { job_id: jobId });
    say(t(`cancel_${status}`));
    fill(event.target, t(`cancel_${status}`));
  } catch (error) { event.target.after(problemNote(error)); event.target.disabled = false; }
  refresh();
}

function drawFailures(box, job) {
  if (!job?.failures?.length) { fill(box); return; }
  const rows = job.failures.slice(0, FAILURES_SHOWN);
  fill(box, h("h2", {}, t("failures", { n: job.failures.length })),
    h("ul", { class: "list" }, rows.map((row) => unreadCard(row, "warn"))),
    job.failures.length > rows.length ? h("p", { class: "soft" }, t("and_more", { n: job.failures.length - rows.length })) : null);
}

const COUNTS = ["added", "updated", "deleted", "failed"];

async function drawHistory(box) {
  let found;
  try { found = (await ask("jobs")).jobs; } catch { return; }
  if (!found.length) { fill(box); return; }
  const opened = h("div", { class: "stack", id: "past-job" });
  const columns = ["started_at", "state", ...COUNTS, "took_time"];
  fill(box, h("h2", {}, t("history")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("history") }, h("table", { class: "past" },
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: COUNTS.includes(name) ? "number" : null }, t(`job_${name}`))))),
      h("tbody", {}, found.map((job) => pastRow(job, opened))))),
    opened);
}

function pastRow(job, opened) {
  const took = job.started_at && job.finished_at ? span((new Date(job.finished_at) - new Date(job.started_at)) / 1000) : "–";
  const when = h("button", { type: "button", class: "quiet tiny", onclick: () => openJob(opened, job.job_id) }, moment(job.started_at || job.updated_at));
  return h("tr", {}, h("td", {}, when), h("td", {}, stateChip(job.status)),
    COUNTS.map((name) => h("td", { class: "number" }, number(job[name]))), h("td", {}, took));
}

async function openJob(box, jobId) { // one earlier sync: what it did, and what it could not read
  let job;
  try { job = await ask("job", { id: jobId }); } catch (error) { fill(box, problemNote(error)); return; }
  const failures = h("div", { class: "stack" });
  drawFailures(failures, job);
  fill(box, h("div", { class: "card stack", tabindex: "-1" }, h("div", { class: "row" },
    h("h3", { class: "grow" }, moment(job.started_at || job.updated_at)), stateChip(job.status)),
    h("p", {}, t("job_counts", job)), job.error ? h("p", {}, original(job.error)) : null), failures);
  box.firstElementChild.focus();
}

function drawChanges(box, found) {
  const groups = ["added", "modified", "deleted", "failed"].filter((name) => found[name].count);
  fill(box, groups.length ? groups.map((name) => h("details", { class: "card", open: true },
    h("summary", {}, t(`change_${name}`, { n: found[name].count })),
    h("ul", {}, found[name].paths.map((path) => h("li", { class: "path" }, ...seen(typeof path === "string" ? path : path.path))),
      found[name].count > found[name].paths.length ? h("li", {}, t("and_more", { n: found[name].count - found[name].paths.length })) : null)))
    : note("good", t("no_changes")));
}

// --- health --------------------------------------------------------------------------

async function showHealth(main) {
  fill(main, h("h1", {}, t("health")), h("p", { class: "soft" }, t("loading")));
  let stopped = false;
  leaving = () => { stopped = true; };
  try {
    const found = await ask("health");
    let made = null;
    try { made = await learnOverview(); } catch { /* there may be no index yet */ }
    if (!stopped) drawHealth(main, found, made);
  } catch (error) { if (!stopped) fill(main, h("h1", {}, t("health")), failure(error)); }
}

function drawHealth(main, found, made) {
  const { index, semantic, source, files, ocr } = found;
  const fact = (key, value, long) => h("div", {}, h("dt", {}, t(key)), h("dd", { class: long ? "long" : "number" }, ...seen(String(value))));
  fill(main, h("div", { class: "stack" }, h("h1", {}, t("health")),
    found.problems.length ? h("ul", { class: "list" }, found.problems.map((problem) => h("li", {}, problemNote(problem)))) : null,
    found.unread_total ? note("warn", t("unread", { n: found.unread_total })) : null,
    found.problems.length || found.unread_total ? null : note("good", t("all_well")),
    h("dl", { class: "facts" }, fact("documents", number(index.documents)), fact("passages", number(index.chunks)), fact("vectors", number(semantic.embedded)),
      fact("index_size", bytes(index.bytes)), fact("synced_at", moment(index.synced_at), true), fact("integrity", wordOr(`integrity_${index.integrity}`, index.integrity), true)),
    made?.types?.length ? h("div", { class: "two" },
      h("section", { class: "card" }, h("h2", {}, t("by_type")), plot(t("by_type"), topTypes(made.types).map((row) => [row.type || t("unknown"), row.documents, row.files]))),
      h("section", { class: "card" }, h("h2", {}, t("by_language")), plot(t("by_language"), made.languages.map((row) => [t(`script_${row.language}`), row.share, 1]), percent), h("p", { class: "soft small" }, t("by_language_hint")))) : null,
    section("source", [h("p", { class: "path" }, ...seen(source.dir)), h("p", {}, t(source.readable ? "source_ok" : "source_gone")),
      source.files_supported == null ? null : h("p", {}, t("source_counts", source)), excluded(source)]),
    section("index", [h("p", { class: "path" }, ...seen(index.path)), h("p", {}, t("index_line", { schema: index.schema ?? 0, kb: found.kb_id }))]),
    section("meaning", meaningLines(semantic)),
    section("ocr", [ocrLines(ocr)]),
    section("context", [h("p", {}, found.contextualization.provider ? t("context_on", found.contextualization) : t("context_off"))]),
    section("queue", [h("p", {}, found.active_job ? t("queue_active", { job: found.active_job }) : t("queue_idle")), found.queue.map(queueLine)]),
    section("formats", [formatLines(found.formats)]),
    section("file_states", [h("div", { class: "row" }, Object.entries(files).map(([name, count]) => chip(`${t(`state_${name}`)}: ${number(count)}`)))]),
    unreadSection(found, source)));
}

function meaningLines(semantic) {
  return [h("p", {}, semantic.ready ? t("meaning_on", { model: semantic.model, dimension: semantic.dimension }) : t("meaning_missing")),
    semantic.reason ? h("p", {}, original(semantic.reason)) : null,
    h("p", {}, t("meaning_counts", semantic)),
    semantic.fingerprint ? h("p", { class: "soft small path" }, t("meaning_fingerprint"), ": ", ...seen(semantic.fingerprint)) : null];
}
function ocrLines(ocr) {
  return [h("p", {}, ocr.engine ? t("ocr_on", { engine: ocr.engine, languages: ocr.languages.join(", ") }) : t("ocr_off")),
    ocr.reason ? h("p", {}, original(ocr.reason)) : null,
    ocr.vision_model ? h("p", {}, t("ocr_vision", { model: ocr.vision_model })) : null,
    h("p", {}, ocr.sound ? t("sound_on", { engine: ocr.sound }) : t("sound_off"))];
}
function queueLine(job) {
  return [h("p", {}, t(job.deferred ? "queue_deferred" : "queue_waits", job)), job.last_error ? h("p", {}, original(job.last_error)) : null];
}
function section(key, inside) { return h("section", { class: "card stack" }, h("h2", {}, t(`about_${key}`)), inside); }
function topTypes(rows) {
  const top = rows.slice(0, 8);
  const rest = rows.slice(8);
  const sum = (name) => rest.reduce((total, row) => total + row[name], 0);
  return rest.length ? [...top, { type: t("others"), documents: sum("documents"), files: sum("files") }] : top;
}
function excluded(source) {
  const rules = Object.entries(source.excluded || {});
  return rules.length ? h("details", { class: "small" }, h("summary", {}, t("excluded", { n: rules.reduce((total, [, count]) => total + count, 0) })), rules.map(([rule, count]) => h("p", {}, ...seen(rule), `: ${number(count)}`))) : null;
}
function formatLines(formats) {
  const names = (wanted) => Object.entries(formats).filter(([, state]) => wanted(state)).map(([name]) => name);
  const missing = Object.entries(formats).filter(([, state]) => state.startsWith("missing"));
  return [h("p", {}, t("formats_ok"), " ", names((state) => state === "ok").join(", ")),
    missing.length ? note("warn", missing.map(([name, state]) => `${name}: ${state}`).join(" · ")) : null,
    h("p", { class: "soft small" }, t("formats_not"), " ", names((state) => state === "unsupported").join(", "))];
}
function unreadSection(found, source) {
  const rows = [...found.unread, ...(source.refused || []).map((row) => ({ ...row, state: "failed" }))];
  if (!rows.length) return null;
  const total = found.unread_total ?? found.unread.length;
  return h("section", { class: "stack" }, h("h2", {}, t("unread", { n: total + rows.length - found.unread.length })),
    h("ul", { class: "list" }, rows.map((row) => unreadCard(row, row.state === "needs_action" ? "warn" : "bad"))),
    total > found.unread.length ? h("p", {}, h("a", { href: "/files?unread=first", onclick: (event) => go(event, "/files?unread=first") },
      t("and_more", { n: total - found.unread.length }))) : null);
}

function plot(title, rows, told = number) { // bars: [label, part, whole]
  const space = "http://www.w3.org/2000/svg";
  const draw = (tag, given, text) => {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
    if (text != null) element.textContent = text;
    return element;
  };
  const most = Math.max(...rows.map(([, , whole]) => whole), 1e-9);
  const svg = draw("svg", { class: "plot", viewBox: `0 0 360 ${rows.length * 26 + 4}`, role: "img", "aria-label": `${title}: ${rows.map(([label, part]) => `${label} ${told(part)}`).join(", ")}` });
  rows.forEach(([label, part, whole], index) => {
    const y = index * 26 + 4;
    svg.append(draw("text", { x: 0, y: y + 14 }, bare(label)), draw("rect", { class: "rest", x: 110, y, width: 180 * whole / most, height: 18, rx: 3 }),
      draw("rect", { class: "bar-of", x: 110, y, width: 180 * part / most, height: 18, rx: 3 }), draw("text", { x: 298, y: y + 14 }, told(part)));
  });
  return svg;
}

// --- keys ----------------------------------------------------------------------------

const KEYS = [["/", "key_search"], ["j / k", "key_move"], ["Enter", "key_read"], ["o", "key_open"], ["c", "key_cite"], ["g s · g f · g y · g h", "key_go"], ["?", "key_list"], ["Esc", "key_leave"]];
let going = 0; // when g was typed

function showKeys() {
  const dialog = document.getElementById("keys");
  fill(dialog, h("h2", { id: "keys-title" }, t("keys_title")), h("dl", { class: "keys" }, KEYS.map(([key, name]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, t(name))])),
    button("close", () => dialog.close(), { class: "main" }));
  dialog.showModal();
}

function move(step) {
  const all = cards();
  if (!all.length) return;
  const at = all.indexOf(selected());
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function keyOf(event) { // what the key bears on a Latin keyboard: Thai and Korean ones type their own letters
  if (event.key.length > 1 || event.key <= "~") return event.key;
  if (event.code === "Slash") return event.shiftKey ? "?" : "/";
  return /^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : event.key;
}

function pressed(event) {
  if (event.isComposing || event.keyCode === 229) return; // an input method is composing
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field) { if (event.key === "Escape") field.blur(); return; }
  const article = selected();
  const key = keyOf(event);
  const run = {
    "/": () => { const field = document.getElementById("q"); if (field) field.focus(); else go(null, "/"); },
    j: () => move(1), k: () => move(-1), "?": showKeys,
    o: () => article?.querySelector("a.open").click(),
    c: () => article?.querySelector("button.cite").click(),
    g: () => { going = Date.now(); },
  };
  if (Date.now() - going < 1500 && { s: 1, f: 1, y: 1, h: 1 }[key]) {
    event.preventDefault();
    going = 0;
    go(null, { s: "/", f: "/files", y: "/sync", h: "/health" }[key]);
  } else if (key === "Enter" && event.target === article) {
    event.preventDefault();
    article.read();
  } else if (Object.hasOwn(run, key)) {
    event.preventDefault();
    run[key]();
  }
}

// --- start ---------------------------------------------------------------------------

function remember(name, value) { try { localStorage.setItem(name, value); } catch { /* private mode */ } }
function recall(name) { try { return localStorage.getItem(name); } catch { return null; } }

async function speak(chosen) {
  language = ["en", "ko", "th"].includes(chosen) ? chosen : "en";
  words = await (await fetch(`/words/${language}.json`)).json();
  document.documentElement.lang = language;
  document.getElementById("language").value = language;
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = t(element.dataset.word);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
}

function paint(theme) {
  document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
  document.getElementById("theme").value = document.documentElement.dataset.theme;
}

async function start() {
  paint(recall("theme"));
  const own = navigator.languages.map((name) => name.slice(0, 2)).find((name) => ["en", "ko", "th"].includes(name));
  await speak(recall("language") || own || "en");
  document.getElementById("theme").addEventListener("change", (event) => { paint(event.target.value); remember("theme", event.target.value); });
  document.getElementById("language").addEventListener("change", async (event) => { await speak(event.target.value); remember("language", language); show(); });
  document.getElementById("keys-button").addEventListener("click", showKeys);
  for (const link of document.querySelectorAll("a[data-view]")) link.addEventListener("click", (event) => go(event, VIEWS[link.dataset.view]));
  addEventListener("keydown", pressed);
  addEventListener("popstate", show);
  addEventListener("visibilitychange", watch);
  show();
  watch();
}

start();
