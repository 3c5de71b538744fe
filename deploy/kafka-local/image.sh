#!/usr/bin/env bash
# Makes an image with Java and the jars of fetch.sh, for machines that can pull no image:
#
#   deploy/kafka-local/image.sh
#   TOLLGATE_BROKER=docker TOLLGATE_KAFKA_IMAGE=tollgate/kafka-local:4.3.1 go test ./integration
#
# Needs docker (DOCKER_HOST or the default socket), mmdebstrap and root. The base image takes
# half a minute, once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly base=tollgate/jre:17 image=tollgate/kafka-local:4.3.1
jars=$("$here/fetch.sh")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! docker image inspect "$base" >/dev/null 2>&1; then
  mmdebstrap --quiet --variant=minbase --include=openjdk-17-jre-headless bookworm "$work/rootfs.tar"
  docker import "$work/rootfs.tar" "$base" >/dev/null
fi
cp -r "$jars" "$work/libs"
printf 'FROM %s\nCOPY libs /opt/kafka/libs\n' "$base" >"$work/Dockerfile"
docker build -q -t "$image" -f "$work/Dockerfile" "$work" >/dev/null
echo "$image"
