//go:build unix

package realflink

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Workers returns the pids of the cluster's running workers in ascending order, including workers
// of killed TaskManagers.
func (c *Cluster) Workers() ([]int, error) { return c.workerPIDs("") }

// WorkersOf returns the pids of the workers of TaskManager i.
func (c *Cluster) WorkersOf(i int) ([]int, error) { return c.workerPIDs(c.taskManagers[i].name) }

// KillWorker kills a worker with SIGKILL.
func (c *Cluster) KillWorker(pid int) error { return signal(pid, syscall.SIGKILL) }

// FreezeTaskManager pauses TaskManager i and its workers (SIGSTOP), except one that is starting.
func (c *Cluster) FreezeTaskManager(i int) error {
	tm := c.taskManagers[i]
	// The TaskManager is paused first, so that it starts no further worker.
	if err := signal(tm.Pid(), syscall.SIGSTOP); err != nil {
		return err
	}
	workers, err := c.WorkersOf(i)
	tm.frozen = append(workers, tm.Pid())
	for _, pid := range workers {
		err = errors.Join(err, signal(pid, syscall.SIGSTOP))
	}
	return err
}

// ThawTaskManager resumes the processes that FreezeTaskManager paused, except those killed since.
func (c *Cluster) ThawTaskManager(i int) error {
	tm := c.taskManagers[i]
	var errs error
	for _, pid := range tm.frozen {
		errs = errors.Join(errs, signal(pid, syscall.SIGCONT))
	}
	tm.frozen = nil
	return errs
}

// signal sends a signal. It ignores a process that has ended.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to process %d: %w", s, pid, err)
	}
	return nil
}

// workerPIDs returns the pids of the workers of a TaskManager, or of all for "". It recognises them
// by their inherited environment, which remains when their TaskManager is killed.
func (c *Cluster) workerPIDs(taskManager string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for workers: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || c.isNode(pid) {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // another user's process, or one that has ended
		}
		var ofCluster, ofTaskManager bool
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			name, value, _ := bytes.Cut(v, []byte{'='})
			ofCluster = ofCluster || string(name) == clusterVariable && string(value) == c.dir
			ofTaskManager = ofTaskManager ||
				string(name) == taskManagerVariable && (taskManager == "" || string(value) == taskManager)
		}
		// Java starts a program through a short-lived helper.
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		ours := ofCluster && ofTaskManager && err == nil
		if ours && filepath.Base(exe) != "jspawnhelper" && filepath.Base(exe) != "java" {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// isNode reports whether a process is the JobManager or a TaskManager.
func (c *Cluster) isNode(pid int) bool {
	return slices.ContainsFunc(append([]*node{c.jobManager}, c.taskManagers...), func(n *node) bool {
		return n != nil && n.Process != nil && n.Pid() == pid
	})
}

func (c *Cluster) killRemaining() error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left, err := c.Workers()
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("killing the workers of a cluster: %v are left", left)
		}
		for _, pid := range left {
			if err := signal(pid, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
}
