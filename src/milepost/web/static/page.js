// What pages do beyond plain HTML: drop a file, follow a job, explore a chart. All of it works
// without this script, by forms and by loading the page again.

// A form that was sent leads elsewhere: loading this page again would call it back.
let leaving = false;
document.addEventListener("submit", (event) => { leaving ||= !event.defaultPrevented; });
addEventListener("pageshow", () => { leaving = false; });
const reload = () => { if (!leaving) location.reload(); };

const drop = document.querySelector("[data-drop]");
if (drop) {
  const input = drop.querySelector("input[type=file]");
  const told = drop.querySelector("[data-told]");
  const over = (on) => (event) => {
    event.preventDefault();
    drop.classList.toggle("over", on);
  };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) {
      input.files = event.dataTransfer.files;
      drop.requestSubmit();
    }
  });
  drop.addEventListener("submit", async (event) => {
    event.preventDefault();
    told.textContent = "Sending…";
    const body = new FormData(drop);
    body.set("analyse", drop.querySelector("#analyse").checked ? "true" : "false");
    try {
      const answer = await fetch("/api/v1/sets", { method: "POST", body });
      const said = await answer.json();
      if (answer.ok) location.assign(`/sets/${said.id}`);
      else told.textContent = `${said.title}: ${said.detail}`;
    } catch {
      told.textContent = "The server does not answer.";
    }
  });
}

const job = document.querySelector("[data-job]");
const WORKING = ["waiting", "running", "stopping"];
if (job && WORKING.includes(job.dataset.state)) follow(job);

function follow(section) {
  const phases = {
    reading: "Reading the games", history: "Fitting skill through time",
    analysing: "The engine looks at the moves", rating: "Rating",
    looking: "The engine looks deeper at the costly turns",
  };
  const told = section.querySelector("[data-told]");
  const bar = section.querySelector("[data-bar]");
  const count = new Intl.NumberFormat("en");
  let announced = 0;
  const say = (text, now = false) => {
    // A screen reader is told at most every ten seconds.
    const late = Date.now() - announced > 10000;
    if (!now && !late && told.getAttribute("aria-live") !== "off") {
      told.setAttribute("aria-live", "off");
    } else if (now || late) {
      told.setAttribute("aria-live", "polite");
      announced = Date.now();
    }
    told.textContent = text;
  };
  const stream = new EventSource(`/api/v1/jobs/${section.dataset.job}/events`);
  const on = (kind, act) =>
    stream.addEventListener(kind, (event) => act(JSON.parse(event.data), event));
  const progress = (news) => {
    if (!news.phase) return; // just begun: the page says what it is
    let text = phases[news.phase] ?? "At work";
    if (["analysing", "looking"].includes(news.phase) && news.total) {
      text += `: ${count.format(news.done)} of ${count.format(news.total)} positions`;
      if (news.eta) text += `, ${lasting(news.eta)} left`;
    }
    if (news.total) bar.value = news.done / news.total;
    else bar.removeAttribute("value");
    bar.hidden = false;
    say(`${text}.`);
  };
  on("snapshot", (news) => {
    if (news.state === "running") progress(news);
    else if (!WORKING.includes(news.state)) reload();
  });
  on("progress", progress);
  on("warning", (news) => say(news.text, true));
  on("rating", (news) => grow(news, say));
  on("state", (news) => {
    if (news.state === "stopped") reload();
  });
  on("done", () => { stream.close(); reload(); });
  on("failed", () => { stream.close(); reload(); });
}

function lasting(seconds) {
  if (seconds < 120) return `about ${Math.max(Math.round(seconds), 1)} seconds`;
  if (seconds < 7200) return `about ${Math.round(seconds / 60)} minutes`;
  return `about ${Math.round(seconds / 3600)} hours`;
}

function points(value) {
  return value.toFixed(0).replace("-", "−");
}

function between(low, high) {
  if (low === null && high === null) return "no bound";
  if (low === null) return `at most ${points(high)}`;
  if (high === null) return `at least ${points(low)}`;
  return `${points(low)} to ${points(high)}`;
}

function grow(news, say) {
  const body = document.querySelector("[data-ratings]");
  if (!body) {
    // The first ratings: the page brings the table.
    reload();
    return;
  }
  const count = new Intl.NumberFormat("en");
  for (const row of news.rows) {
    const line = body.querySelector(`[data-player="${row.id}"]`);
    if (!line) continue;
    const put = (part, text) => { line.querySelector(`[data-part=${part}]`).textContent = text; };
    const known = row.rating !== null;
    put("rating", known ? points(row.rating) : "–");
    put("performance", known ? between(row.low, row.high) : "–");
    put("player", known ? between(row.player_low, row.player_high) : "–");
    put("n", count.format(row.n));
    put("games", count.format(row.games));
    line.classList.remove("changed");
    void line.offsetWidth;
    line.classList.add("changed");
  }
  const told = document.querySelector("[data-turns]");
  if (told) {
    told.textContent = `${count.format(news.turns)} turns are rated` + (news.missing
      ? `; ${count.format(news.missing)} are not scored yet, and the intervals will narrow.` : ".");
  }
  if (news.rows.some((row) => !body.querySelector(`[data-player="${row.id}"]`))) reload();
}

// A chart can be explored: Vega, which comes with this server, draws it with values at each mark.
for (const figure of document.querySelectorAll("figure[data-spec]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Explore this chart";
  button.addEventListener("click", async () => {
    button.disabled = true;
    const [spec] = await Promise.all([
      fetch(figure.dataset.spec).then((answer) => answer.json()), vega(),
    ]);
    const place = document.createElement("div");
    figure.querySelector("picture").replaceWith(place);
    await window.vegaEmbed(place, spec, {
      ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: false,
    });
    button.remove();
  });
  figure.append(button);
}

let loading;
function vega() {
  loading ??= import("/vega.js");
  return loading;
}

// A table that is wider than the screen says so.
function measure() {
  for (const part of document.querySelectorAll(".wide")) {
    part.classList.toggle("more", part.scrollWidth > part.clientWidth + 1);
  }
}
measure();
window.addEventListener("resize", measure);
document.addEventListener("toggle", measure, true); // what was folded has a width now

// Keys on the page of a game go where its links go.
const turns = document.querySelector("[data-turns-nav]");
if (turns) {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea, [role=region]")) return;
    const link = turns.querySelector(`[data-key="${event.key}"]`);
    if (!link) return;
    event.preventDefault();
    location.assign(link.href);
  });
}
