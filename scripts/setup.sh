#!/bin/sh
# Install what a fresh Debian machine lacks.
#   setup.sh python REQUIREMENTS   uv (through pip), a virtual environment, the package
#   setup.sh engine                Debian's stockfish, if no engine is found
#   setup.sh browser               Debian's chromium, for tests of the workbench
#   setup.sh clients               XBoard, its UCI adapter and a display without a screen, for tests
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

find_uv() {
    if command -v uv >/dev/null 2>&1; then
        echo uv
    elif "${PYTHON:-python3}" -m uv --version >/dev/null 2>&1; then
        echo "${PYTHON:-python3} -m uv"
    fi
}

install_uv() {
    python="${PYTHON:-python3}"
    say "setup: installing uv through pip"
    # A Debian that manages its own Python refuses pip; then uv gets a small environment of its own.
    if ! "$python" -m pip install --quiet --disable-pip-version-check uv 2>/dev/null; then
        if ! "$python" -m venv .venv-uv 2>/dev/null; then
            apt_install python3-venv
            "$python" -m venv .venv-uv
        fi
        .venv-uv/bin/pip install --quiet --disable-pip-version-check uv
    fi
}

apt_install() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        return 1
    fi
    say "setup: installing $* through apt-get"
    apt-get install -y -q "$@" >/dev/null 2>&1 || {
        apt-get update -q >/dev/null 2>&1 && apt-get install -y -q "$@" >/dev/null 2>&1
    }
}

engine_found() {
    [ -n "${STOCKFISH_EXECUTABLE:-}" ] && [ -x "${STOCKFISH_EXECUTABLE}" ] && return 0
    command -v stockfish >/dev/null 2>&1 && return 0
    [ -x /usr/games/stockfish ]
}

case "${1:-}" in
python)
    uv=$(find_uv)
    if [ -z "$uv" ]; then
        install_uv
        uv=$(find_uv)
        [ -n "$uv" ] || uv=.venv-uv/bin/uv
    fi
    [ -x .venv/bin/python ] || $uv venv --quiet --python "${PYTHON:-python3}" .venv
    say "setup: installing the package and what it needs (${2})"
    $uv pip install --quiet --python .venv/bin/python -r "$2"
    $uv pip install --quiet --python .venv/bin/python --no-deps -e .
    ;;
engine)
    if engine_found; then
        exit 0
    fi
    apt_install stockfish && engine_found && exit 0
    say "setup: no chess engine found, and it cannot be installed here (no root, or no apt-get)."
    say "       Going on with the bundled evaluations. Put a UCI engine on the PATH, or set"
    say "       STOCKFISH_EXECUTABLE, to analyse games of your own."
    ;;
browser)
    if [ -n "${CHROMIUM_EXECUTABLE:-}" ] || command -v chromium >/dev/null 2>&1; then
        exit 0
    fi
    apt_install chromium && exit 0
    say "setup: no Chromium found, and it cannot be installed here (no root, or no apt-get)."
    say "       Tests in the browser are skipped. Set CHROMIUM_EXECUTABLE to use another one."
    ;;
clients)
    if command -v Xvfb >/dev/null 2>&1 && [ -x /usr/games/xboard ] && [ -x /usr/games/polyglot ]; then
        exit 0
    fi
    apt_install xboard polyglot xvfb ||
        say "setup: no XBoard, and it cannot be installed here: the tests that need it are skipped."
    ;;
*)
    say "usage: setup.sh python REQUIREMENTS | engine | browser | clients"
    exit 2
    ;;
esac
