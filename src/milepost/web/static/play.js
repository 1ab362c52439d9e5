// The board: it shows what the server says, and sends what the user does. The rules are the
// server's; nothing is decided here.

const root = document.querySelector("[data-play]");
const board = root.querySelector("[data-board]");
const told = root.querySelector("[data-told]");
const slip = root.querySelector("[data-slip]");
const list = root.querySelector("[data-moves]");
const textBoard = root.querySelector("[data-text]");
const elo = root.querySelector("#elo");
const shown = root.querySelector("#elo-shown");
const sending = root.querySelector("[data-send]");
const typed = root.querySelector("#move");
const promotion = root.querySelector("#promotion");

const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };
let human = "white";
// With a number in the address the bot's replies can be had again.
let game = Number(new URLSearchParams(location.search).get("game")) || anyNumber();
let now = null; // what the server said last
let chosen = null; // the square that a move begins at
let focus = "e2";
let busy = false;
let resigned = false;

function anyNumber() {
  return 1 + Math.floor(Math.random() * 1e8);
}

async function ask(moves) {
  busy = true;
  told.textContent = "The bot thinks…";
  try {
    const answer = await fetch("/api/v1/play", {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ moves, human, elo: Number(elo.value), game }),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(`${said.title}: ${said.detail}`);
    const before = moves.length;
    now = said;
    say(before);
  } catch (error) {
    told.textContent = error.message;
  }
  busy = false;
  chosen = null;
  if (!now) return; // the server never answered: there is nothing to draw
  draw();
  guess();
}

function say(before) {
  const mine = now.turn === human ? "Your turn." : "";
  const reply = now.moves.length > before ? `The bot: ${now.spoken.at(-1)}. ` : "";
  if (now.result) told.textContent = `${reply}${ended()}`;
  else told.textContent = reply + mine;
}

function ended() {
  const won = { "1-0": "white", "0-1": "black" }[now.result];
  const who = won === undefined ? "Draw" : won === human ? "You won" : "The bot won";
  return `${who}: ${now.reason}.`;
}

function squares() {
  const files = [..."abcdefgh"];
  const ranks = [8, 7, 6, 5, 4, 3, 2, 1];
  if (human === "black") { files.reverse(); ranks.reverse(); }
  return ranks.map((rank) => files.map((file) => `${file}${rank}`));
}

function draw() {
  const had = board.contains(document.activeElement);
  const last = now.moves.at(-1) ?? "";
  const targets = chosen ? Object.keys(now.legal)
    .filter((move) => move.startsWith(chosen)).map((move) => move.slice(2, 4)) : [];
  const lines = squares().map((line) => {
    const row = document.createElement("div");
    row.setAttribute("role", "row");
    row.append(...line.map((square) => cell(square, last, targets)));
    return row;
  });
  board.replaceChildren(...lines);
  if (had) board.querySelector(`[data-square=${focus}]`)?.focus();
  list.replaceChildren(...pairs());
  const order = squares().flat();
  const letters = order.map((square) => now.pieces[square] ?? ".");
  textBoard.textContent = [0, 1, 2, 3, 4, 5, 6, 7]
    .map((line) => `${order[8 * line][1]}  ${letters.slice(8 * line, 8 * line + 8).join(" ")}`)
    .concat([`   ${order.slice(0, 8).map((square) => square[0]).join(" ")}`]).join("\n");
  for (const [name, value] of Object.entries({
    moves: now.moves.join(" "), human, elo: elo.value, resigned: resigned ? "yes" : "",
  })) sending.elements[name].value = value;
  const over = Boolean(now.result) || resigned;
  root.querySelector("[data-back]").disabled = now.moves.length < 2;
  root.querySelector("[data-resign]").disabled = over;
  for (const button of sending.querySelectorAll("button")) button.disabled = now.moves.length < 2;
}

function cell(square, last, targets) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("role", "gridcell");
  button.dataset.square = square;
  button.tabIndex = square === focus ? 0 : -1;
  const dark = ("abcdefgh".indexOf(square[0]) + Number(square[1])) % 2 === 1;
  const piece = now.pieces[square];
  button.classList.toggle("dark", dark);
  button.classList.toggle("last", last.slice(0, 2) === square || last.slice(2, 4) === square);
  button.classList.toggle("chosen", chosen === square);
  button.classList.toggle("check", now.check === square);
  button.classList.toggle("target", targets.includes(square));
  let label = square;
  if (piece) {
    const colour = piece === piece.toUpperCase() ? "white" : "black";
    label += `, ${colour} ${NAMES[piece.toLowerCase()]}`;
    const image = document.createElement("img");
    image.src = `/piece/${colour[0]}${piece.toUpperCase()}.svg`;
    image.alt = "";
    button.append(image);
    button.draggable = colour === human;
  }
  if (targets.includes(square)) label += ", can be reached";
  if (chosen === square) label += ", chosen";
  button.setAttribute("aria-label", label);
  const edge = squares()[7][0];
  for (const [at, kind] of [[0, "name"], [1, "name file"]]) {
    if (square[at] !== edge[at]) continue;
    const name = document.createElement("span");
    name.className = kind;
    name.setAttribute("aria-hidden", "true");
    name.textContent = square[1 - at];
    button.append(name);
  }
  return button;
}

function pairs() {
  const items = [];
  for (let place = 0; place < now.sans.length; place += 2) {
    const item = document.createElement("li");
    item.textContent = now.sans.slice(place, place + 2).join(" ");
    items.push(item);
  }
  return items;
}

function touch(square) {
  if (busy || now.result || resigned || now.turn !== human) return;
  if (chosen && go(chosen + square)) return;
  chosen = Object.keys(now.legal).some((move) => move.startsWith(square)) ? square : null;
  draw();
}

function go(move) {
  const found = [move, move + promotion.value].find((each) => each in now.legal);
  if (!found) return false;
  ask([...now.moves, found]);
  return true;
}

board.addEventListener("click", (event) => {
  const square = event.target.closest("[data-square]")?.dataset.square;
  if (square) { focus = square; touch(square); }
});
// However a square got the focus, the arrow keys go on from there.
board.addEventListener("focusin", (event) => {
  focus = event.target.closest("[data-square]")?.dataset.square ?? focus;
});
board.addEventListener("dragstart", (event) => {
  const square = event.target.closest("[data-square]").dataset.square;
  event.dataTransfer.setData("text/plain", square);
  event.dataTransfer.effectAllowed = "move";
});
board.addEventListener("dragover", (event) => event.preventDefault());
board.addEventListener("drop", (event) => {
  event.preventDefault();
  const from = event.dataTransfer.getData("text/plain");
  const to = event.target.closest("[data-square]")?.dataset.square;
  if (/^[a-h][1-8]$/.test(from) && to && !busy && now.turn === human && !resigned) go(from + to);
});
board.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const grid = squares();
  const row = grid.findIndex((line) => line.includes(focus));
  const column = grid[row].indexOf(focus);
  const inside = (value) => Math.min(Math.max(value, 0), 7);
  board.querySelector(`[data-square=${focus}]`).tabIndex = -1;
  focus = grid[inside(row + step[0])][inside(column + step[1])];
  const next = board.querySelector(`[data-square=${focus}]`);
  next.tabIndex = 0;
  next.focus();
});
root.querySelector("[data-move-form]").addEventListener("submit", (event) => {
  event.preventDefault();
  if (busy || resigned) return;
  const text = typed.value.trim();
  const bare = (san) => san.replace(/[+#x=]/g, "").toLowerCase();
  const entries = Object.entries(now.legal);
  const found = entries.find(([uci, san]) => uci === text.toLowerCase() || san === text)
    ?? entries.find(([uci]) => uci === text.toLowerCase() + promotion.value)
    ?? entries.find(([, san]) => san.replace(/[+#]/g, "") === text.replace(/[+#]/g, ""))
    ?? entries.find(([, san]) => bare(san) === bare(text.replace(/0/g, "O")));
  if (!found) { told.textContent = `${text || "Nothing"} is no legal move here.`; return; }
  typed.value = "";
  ask([...now.moves, found[0]]);
});
root.querySelector("[data-back]").addEventListener("click", () => {
  if (busy) return;
  resigned = false;
  // Back to the user's own turn before the last one.
  const turns = now.turn === human ? 2 : 1;
  ask(now.moves.slice(0, Math.max(now.moves.length - turns, 0)));
});
for (const button of root.querySelectorAll("[data-new]")) {
  button.addEventListener("click", () => {
    if (busy) return;
    human = button.dataset.new;
    game = anyNumber();
    resigned = false;
    focus = human === "white" ? "e2" : "e7";
    ask([]);
  });
}
root.querySelector("[data-resign]").addEventListener("click", () => {
  resigned = true;
  told.textContent = "You resigned.";
  draw();
});

let waiting;
elo.addEventListener("input", () => {
  shown.textContent = elo.value;
  clearTimeout(waiting);
  waiting = setTimeout(guess, 300);
});

async function guess() {
  if (!now || now.result) return;
  sending.elements.elo.value = elo.value;
  if (now.moves.length < 16) {
    slip.textContent = "How often players slip is told from the ninth move on.";
    return;
  }
  const answer = await fetch("/api/v1/move", {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ fen: now.fen, elo: Number(elo.value) }),
  });
  if (!answer.ok) return;
  const said = await answer.json();
  const share = 100 * said.slip;
  slip.textContent = `Players of Elo ${elo.value} give away a pawn or more here `
    + `${share < 0.1 ? "less than 0.1" : share.toFixed(1)}% of the time.`;
}

ask([]);
