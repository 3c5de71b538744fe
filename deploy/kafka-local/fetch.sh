#!/usr/bin/env bash
# Fetches the jars of Apache Kafka with Maven, once, and prints where they are: of 4.3.1, or of the
# version that TOLLGATE_KAFKA_VERSION names.
#
# They go to TOLLGATE_KAFKA_DIR, by default ${XDG_CACHE_HOME:-~/.cache}/tollgate/kafka-<version>,
# where internal/testing/realkafka looks for them. Nothing else is touched; a directory that is complete
# is left as it is. Needs mvn, and java 17 or newer to run the broker.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${TOLLGATE_KAFKA_VERSION:-4.3.1}
dir=${TOLLGATE_KAFKA_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/tollgate/kafka-$version}
main=kafka_2.13-$version.jar

if [[ ! -f $dir/complete ]]; then
  command -v mvn >/dev/null || { echo "mvn is not installed: it fetches Kafka's jars" >&2; exit 1; }
  mkdir -p "$(dirname "$dir")"
  # Beside the target and moved there whole: an interrupted download leaves nothing that looks complete.
  half=$(mktemp -d "$dir.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies "-Dkafka.version=$version" -DincludeScope=runtime -DoutputDirectory="$half" >&2
  [[ -f $half/$main ]] || { echo "mvn brought no $main" >&2; exit 1; }
  chmod 755 "$half"
  touch "$half/complete"
  if [[ -d $dir && ! -f $dir/complete ]]; then rm -rf "$dir"; fi
  mv -T "$half" "$dir" 2>/dev/null || [[ -f $dir/complete ]] # another process was quicker
fi
echo "$dir"
