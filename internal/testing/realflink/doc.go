// Package realflink runs a session cluster of Apache Flink as local processes, to test what happens
// when workers, TaskManagers or the JobManager die.
//
// A [Cluster] is one JobManager and one or more TaskManagers on free ports of 127.0.0.1.
// deploy/flink/cluster starts them with the settings of deploy/flink/conf. Each can be killed with
// SIGKILL and started again. It needs JDK 17 or newer. If the jars are missing, the script
// downloads them, which takes minutes and needs mvn.
//
// Guarantees: Start returns a cluster with all its slots. JobManager and TaskManagers end with the
// process that started them (on Linux, even if it is killed), and Close ends their workers.
//
// Not guaranteed: that workers end when the test is killed; they end once their TaskManager no
// longer responds. Workers are found only on Linux, in /proc.
package realflink
