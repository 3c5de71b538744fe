// Package realflink runs a session cluster of Apache Flink as local processes, to test the death of
// workers, TaskManagers and the JobManager.
//
// A [Cluster] is one JobManager and some TaskManagers on free ports of 127.0.0.1.
// deploy/flink/cluster starts them with the settings of deploy/flink/conf, and each can be killed
// (−9) and started again. It needs JDK 17 or newer. If the jars are missing, the script downloads
// them, which takes minutes and needs mvn.
//
// Guarantees: Start returns a cluster with all its slots. JobManager and TaskManagers end with the
// process that started them (on Linux, even if that one is killed), and Close ends their workers.
//
// Not guaranteed: that workers end when the test is killed; they end once their TaskManager no
// longer responds. Workers are found in /proc, and so only on Linux.
package realflink
