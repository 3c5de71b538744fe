#!/usr/bin/env bash
# Makes the files of a release: stripped binaries, images, lists of what is in them (CycloneDX), and
# checksums. Needs Go, and the module proxy or filled caches; no Docker engine.
#
#   deploy/release/build.sh                                    everything, to dist
#   deploy/release/build.sh --targets linux/amd64 --engines direct --out /tmp/dist
#
# The same source, version, revision and Go give the same bytes, whatever the directory and the caches;
# a test compares them. (The lists name the tool that made them by its hash, which is another one on a
# machine of another platform.) --version and --revision are by default what git says of the tree.
#
#   dist/tollgate-linux-amd64             the program; with the other engine tollgate-flink-…
#   dist/tollgate-linux-amd64.cdx.json    the modules in it, with versions and hashes
#   dist/image-amd64.tar                docker load -i, ctr images import
#   dist/SHA256SUMS                     sha256sum -c
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
readonly sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

targets="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64" engines="direct flink" out=$root/dist version= revision=
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || { echo "$1 needs a value" >&2; exit 2; }
  case $1 in
    --targets) targets=$2 ;;
    --engines) engines=$2 ;;
    --out) out=$2 ;;
    --version) version=$2 ;;
    --revision) revision=$2 ;;
    *) echo "unknown flag $1: there are --targets, --engines, --out, --version, --revision" >&2; exit 2 ;;
  esac
  shift 2
done

git_says() { git -C "$root" "$@" 2>/dev/null; }
version=${version:-$(git_says describe --tags --always --dirty)} || { echo "no git tree: give --version" >&2; exit 2; }
revision=${revision:-$(git_says rev-parse HEAD)} || { echo "no git tree: give --revision" >&2; exit 2; }
case $version$revision in *[!A-Za-z0-9._+-]*) echo "--version and --revision have letters, digits and . _ + - only" >&2; exit 2 ;; esac

# Whatever of the environment would change the bytes.
unset GOFLAGS GOEXPERIMENT GODEBUG GOOS GOARCH
export CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOWORK=off LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)
GOBIN=$work go install -trimpath "$sbom"
(cd "$here" && go build -buildvcs=false -o "$work/image" .)

made=()
for target in $targets; do
  for engine in $engines; do
    tags=$engine name=tollgate-$engine-${target/\//-}
    [[ $engine != direct ]] || tags='' name=tollgate-${target/\//-}
    (cd "$root" && GOOS=${target%/*} GOARCH=${target#*/} go build -trimpath -buildvcs=false -tags "$tags" \
      -ldflags "-s -w -buildid= -X main.version=$version -X main.revision=$revision" -o "$out/$name" ./cmd/runner)
    "$work/cyclonedx-gomod" bin -json -std -notimestamp -noserial -version "$version" -output "$out/$name.cdx.json" "$out/$name" 2>"$work/log" ||
      { cat "$work/log" >&2; exit 1; }
    made+=("$name" "$name.cdx.json")
    if [[ $engine == direct && ${target%/*} == linux ]]; then
      mkdir -p "$work/context"
      cp "$out/$name" "$work/context/tollgate"
      "$work/image" --dockerfile "$root/deploy/image/Dockerfile" --context "$work/context" --arch "${target#*/}" \
        --tag "tollgate/tollgate:$version" --tag tollgate/tollgate:latest --arg "VERSION=$version" --arg "REVISION=$revision" --out "$out/image-${target#*/}.tar"
      made+=("image-${target#*/}.tar")
    fi
  done
done
(cd "$out" && sha256sum "${made[@]}" >SHA256SUMS)
echo "$version, revision $revision, $(go env GOVERSION): ${#made[@]} files and SHA256SUMS in $out"
