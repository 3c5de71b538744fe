#!/usr/bin/env bash
# Starts Apache Kafka on this machine, for trying things out and for tests, and prints its address.
#
#   deploy/kafka-local/start.sh                       one node at localhost:9092
#   deploy/kafka-local/start.sh --nodes 3 --port 9192 three, at 9192, 9193 and 9194
#   deploy/kafka-local/start.sh --dir DIR             data, logs and settings there
#   deploy/kafka-local/start.sh --version 3.9.2       another version of Kafka (or TOLLGATE_KAFKA_VERSION)
#   deploy/kafka-local/stop.sh [--delete] [--dir DIR]
#
# The jars are fetched once (fetch.sh: Maven, 46 MB); the storage is formatted the first time. What
# was written stays until stop.sh --delete. It listens on 127.0.0.1 only, without passwords. Needs
# java 17 or newer. DIR is by default ${XDG_STATE_HOME:-~/.local/state}/tollgate/kafka-local.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${XDG_STATE_HOME:-$HOME/.local/state}/tollgate/kafka-local nodes=1 port=9092
usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
die() { echo "start.sh: $*" >&2; exit 1; }
while (($#)); do
  case $1 in
    --dir) dir=${2:?--dir needs a directory}; shift 2 ;;
    --nodes) nodes=${2:?--nodes needs a number}; shift 2 ;;
    --version) export TOLLGATE_KAFKA_VERSION=${2:?--version needs a version of Kafka}; shift 2 ;;
    --port) port=${2:?--port needs a number}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "there is no option $1" ;;
  esac
done
[[ ${TOLLGATE_KAFKA_VERSION:-0.0.0} =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "--version is $TOLLGATE_KAFKA_VERSION: it must be one as 4.3.1"
[[ $nodes =~ ^[1-9]$ ]] || die "--nodes is $nodes: it must be 1 to 9"
[[ $port =~ ^[1-9][0-9]{0,4}$ ]] && ((port + nodes + 100 <= 65535)) || die "--port is $port: it must be a port, with $((nodes + 100)) more above it"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
command -v java >/dev/null || die "java is not in the path: install java 17 or newer"
version=$(java -version 2>&1 | sed -n '/version "/{s/.*version "\([0-9]*\).*/\1/p;q}')
((${version:-0} >= 17)) || die "java is version ${version:-unknown}: Kafka needs 17 or newer"

taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
alive() { [[ -f $1 ]] && kill -0 "$(<"$1")" 2>/dev/null; }
addresses=() voters=()
for ((i = 1; i <= nodes; i++)); do
  alive "$dir/$i/pid" && die "Kafka runs already in $dir: deploy/kafka-local/stop.sh --dir $dir ends it"
  for p in $((port + i - 1)) $((port + 100 + i - 1)); do
    ! taken "$p" || die "port $p is taken: end what listens there, or choose another --port"
  done
  addresses+=("localhost:$((port + i - 1))")
  voters+=("$i@127.0.0.1:$((port + 100 + i - 1))")
done
jars=$("$here/fetch.sh")
# One id for all nodes of a cluster, and another for every cluster: deployments are told apart by it.
id=$(sed -s -n 's/^cluster\.id=//p' "$dir"/[1-9]/data/meta.properties 2>/dev/null | head -n 1 || true)
[[ -n $id ]] || id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'AB' | tr -d =)
replicas=$((nodes < 3 ? nodes : 3)) least=$((nodes < 3 ? 1 : 2))

for ((i = 1; i <= nodes; i++)); do
  mkdir -p "$dir/$i"
  # Written anew each time: ports may differ.
  cat >"$dir/$i/server.properties" <<END
process.roles=broker,controller
node.id=$i
controller.quorum.voters=$(IFS=,; echo "${voters[*]}")
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=PLAINTEXT://127.0.0.1:$((port + i - 1)),CONTROLLER://127.0.0.1:$((port + 100 + i - 1))
advertised.listeners=PLAINTEXT://localhost:$((port + i - 1))
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$dir/$i/data
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
default.replication.factor=$replicas
min.insync.replicas=$least
offsets.topic.num.partitions=1
offsets.topic.replication.factor=$replicas
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$least
share.coordinator.state.topic.replication.factor=$replicas
share.coordinator.state.topic.min.isr=$least
# A broker that was killed waits for its own old session to end.
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=2000
# Events of long ago stay, and keep their times.
log.retention.ms=-1
log.message.timestamp.before.max.ms=9223372036854775807
log.message.timestamp.after.max.ms=9223372036854775807
END
  cat >"$dir/$i/log4j2.xml" <<'END'
<Configuration status="WARN">
  <Appenders><Console name="out"><PatternLayout pattern="%d{HH:mm:ss.SSS} %p %m (%c{1})%n"/></Console></Appenders>
  <Loggers><Logger name="kafka.server.KafkaRaftServer" level="INFO"/><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
END
  if [[ ! -f $dir/$i/data/meta.properties ]]; then
    java -cp "$jars/*" kafka.tools.StorageTool format -t "$id" -c "$dir/$i/server.properties" >"$dir/$i/format.log" 2>&1 ||
      die "formatting the storage failed; $dir/$i/format.log says why: $(tail -n 3 "$dir/$i/format.log")"
  fi
done

# The last start's log says "started", too: it must be gone before anything looks.
for ((i = 1; i <= nodes; i++)); do
  : >"$dir/$i/log"
done
pids=() detach=$(command -v setsid || true) # a Ctrl-C in this terminal is not meant for it
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT # where a node does not start, none stays
for ((i = 1; i <= nodes; i++)); do
  # shellcheck disable=SC2086 # empty where there is no setsid
  (cd "$dir/$i" && exec $detach nohup java -Xmx512m -XX:+UseSerialGC -cp "$jars/*" "-Dlog4j2.configurationFile=$dir/$i/log4j2.xml" kafka.Kafka "$dir/$i/server.properties" >"$dir/$i/log" 2>&1 </dev/null) &
  pids+=($!)
  echo $! >"$dir/$i/pid"
done
for ((i = 1; i <= nodes; i++)); do
  for ((tries = 0; ; tries++)); do
    grep -qs 'Kafka Server started' "$dir/$i/log" && break
    kill -0 "${pids[i - 1]}" 2>/dev/null || die "node $i ended; $dir/$i/log says why: $(tail -n 3 "$dir/$i/log")"
    ((tries < 450)) || die "node $i has not started within 90 s; $dir/$i/log says how far it came: $(tail -n 3 "$dir/$i/log")"
    sleep 0.2
  done
done
trap - EXIT
echo "Kafka runs; deploy/kafka-local/stop.sh --dir $dir ends it" >&2
(IFS=,; echo "${addresses[*]}")
