#!/usr/bin/env bash
# Makes docs/img/page.png, the picture in README: the page of a demo, in a headless Chromium
# (CHROMIUM names another one). The made-up events are the same in every run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run ./cmd/runner demo --report "$work/page.html" >/dev/null
"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-color-profile=srgb \
  --user-data-dir="$work/profile" --window-size="${SIZE:-1000,760}" --virtual-time-budget=5000 \
  --screenshot="$PWD/docs/img/page.png" "file://$work/page.html"
