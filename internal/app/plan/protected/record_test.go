package protected

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func record1(t *testing.T) string { return RecordOf(filepath.Join(t.TempDir(), "noise.key")) }

func choiceOf(t *testing.T, share float64, from int64) *Choice {
	return choice(t, Options{Window: time.Second, Budget: budget(t, share), Key: noisereduction.NoiseKey{ID: "1"}, From: from}, population(3))
}

// charge makes a choice, of which the record may know.
func charge(path string, c *Choice) error {
	_, err := Choose(path, c, false, func() error { return nil })
	return err
}

// What choices have spent is in the promise of the deployment that begins, or it does not begin;
// and after it has begun nothing more is released.
func TestRuleADeploymentKnowsWhatChoicesSpent(t *testing.T) {
	path := record1(t)
	for range 2 { // the same choice is charged once
		if err := charge(path, choiceOf(t, .05, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || os.WriteFile(path, append(text, text...), 0o600) != nil { // as two processes at once may
		t.Fatal(err)
	}
	if err := Begin(path, "d", 0, budget(t, .05)); err != nil {
		t.Errorf("a deployment that has planned what was spent is refused: %v", err)
	}
	path = record1(t)
	for from := range int64(2) { // two choices
		if err := charge(path, choiceOf(t, .05, -1-from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, share := range []float64{0, .05, .0999} {
		var b budgets.Budget
		if b = budget(t, .1).Whole(); share > 0 {
			b = budget(t, share)
		}
		if err := Begin(path, "d", 0, b); !errors.Is(err, ErrNotPlanned) || !strings.Contains(err.Error(), "privacy.planned: 0.1") {
			t.Errorf("planned %v of 0.1: %v", share, err)
		}
	}
	// The δ of keys alone can be too little: enough is planned of B², and a tenth of the δ.
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-8)
	if err == nil {
		b, err = b.Plan(.5)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Begin(path, "d", 0, b); !errors.Is(err, ErrNotPlanned) {
		t.Errorf("more was spent of the δ for private keys than is planned: %v", err)
	}
	if err := Begin(path, "d", time.Hour, budget(t, .5)); err == nil || !strings.Contains(err.Error(), "different units of privacy") {
		t.Errorf("another unit of privacy: %v", err)
	}
	if err := Begin(path, "d", 0, budget(t, .1)); err != nil {
		t.Errorf("the configuration was corrected, and is refused: %v", err)
	}
	if err := charge(path, choiceOf(t, .05, -7)); !errors.Is(err, ErrBegun) {
		t.Errorf("a choice after the deployment has begun: %v", err)
	}
	if err := charge(path, choiceOf(t, .05, -1)); err != nil {
		t.Errorf("a choice of before cannot be looked at again: %v", err)
	}
}

// A deployment that begins while choices are made: each of them is in its promise, or is not
// released.
func TestRuleAChoiceAndABeginningAtOnceAreInOrder(t *testing.T) {
	for range 20 {
		path := record1(t)
		var wait sync.WaitGroup
		charged := make([]error, 4)
		for i := range charged {
			wait.Go(func() { charged[i] = charge(path, choiceOf(t, .05, int64(-1-i))) })
		}
		var begun error
		wait.Go(func() { begun = Begin(path, "d", 0, budget(t, .05)) })
		wait.Wait()
		released := 0
		for _, err := range charged {
			if err == nil {
				released++
			} else if !errors.Is(err, ErrBegun) {
				t.Fatal(err)
			}
		}
		if begun == nil && released > 1 {
			t.Fatalf("%d choices were released, and the deployment has planned one", released)
		}
	}
}

func TestADamagedRecordIsRefused(t *testing.T) {
	path := record1(t)
	if err := charge(path, choiceOf(t, .05, 0)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"half": string(whole[:len(whole)/2]), "without an end": strings.TrimSpace(string(whole)), "foreign": "x\n", "empty entry": "{}\n",
		"no share": `{"choice":"aa","mu2":5}` + "\n", "negative": `{"choice":"aa","mu2":5,"share":0.1,"keys":-1}` + "\n",
		"other tables": `{"released":"aa","tables":{"shape":[[]],"windows":[]}}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := charge(path, choiceOf(t, .05, 0)); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Begin(path, "d", 0, budget(t, .05)); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutARecordADeploymentBegins(t *testing.T) {
	if err := Begin(filepath.Join(t.TempDir(), "none", "noise.key.planned"), "d", 0, budget(t, .05).Whole()); err != nil {
		t.Error(err)
	}
}

// Every name of a key leads to the same record: what is spent under one of them is found under all.
func TestRuleAKeyHasOneRecordUnderAllItsNames(t *testing.T) {
	dir := t.TempDir()
	key, link := filepath.Join(dir, "noise.key"), filepath.Join(t.TempDir(), "link.key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(key, link); err != nil {
		t.Skip(err)
	}
	if err := charge(RecordOf(link), choiceOf(t, .05, 0)); err != nil {
		t.Fatal(err)
	}
	if err := Begin(RecordOf(key), "d", 0, budget(t, .1).Whole()); !errors.Is(err, ErrNotPlanned) {
		t.Errorf("spent under another name of the key: %v", err)
	}
}

// A deployment that goes on with another key takes none under which something was spent, and
// nothing is spent under that key afterwards.
func TestRuleARotatedKeyHasPaidForNothing(t *testing.T) {
	path := record1(t)
	if err := charge(path, choiceOf(t, .05, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Continue(path, "d"); !errors.Is(err, ErrOtherPromise) {
			t.Errorf("a key under which bounds were chosen: %v", err)
		}
	}
	path = record1(t)
	for range 2 {
		if err := Continue(path, "d"); err != nil {
			t.Fatal(err)
		}
	}
	if err := charge(path, choiceOf(t, .05, 0)); !errors.Is(err, ErrBegun) {
		t.Errorf("a choice under the new key: %v", err)
	}
	if err := Continue(path, "d"); err != nil {
		t.Errorf("the same change again, after a choice that was refused: %v", err)
	}
}

// A line of two entries, and a record that could not be written, are errors.
func TestARecordIsReadWholeOrNotAtAll(t *testing.T) {
	path := record1(t)
	if err := os.WriteFile(path, []byte(`{"begun":"d"}{"choice":"00","mu2":5}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); !errors.Is(err, ErrRecord) {
		t.Errorf("two entries on a line: %v", err)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	const full = "the file /dev/full cannot be written: no space left on device (it records what choosing bounds spends"
	if err := (&history{empty: true}).begin("/dev/full", "d"); err == nil || !strings.HasPrefix(err.Error(), full) {
		t.Errorf("a deployment began, and a choice that comes later cannot know that the disk was full: %v", err)
	}
}

// A line that another process has written is on the disk too before anything is released for it:
// that process may have been killed before, or its disk may have failed.
func TestRuleAChargeIsOnTheDiskAlsoThatOfAnotherProcess(t *testing.T) {
	real := fsync
	defer func() { fsync = real }()
	var synced []string
	disk := func(err error) func(*os.File) error {
		return func(f *os.File) error { synced = append(synced, filepath.Base(f.Name())); return err }
	}
	path := record1(t)
	for _, err := range []error{syscall.EIO, syscall.EIO, nil} {
		synced, fsync = nil, disk(err)
		if got := charge(path, choiceOf(t, .05, 0)); !errors.Is(got, err) || len(synced) == 0 || synced[0] != filepath.Base(path) {
			t.Errorf("the disk says %v, the charge %v, with %v on it", err, got, synced)
		}
	}
	if len(synced)%2 != 0 || synced[1] != filepath.Base(filepath.Dir(path)) {
		t.Errorf("the name of the record is not on the disk: %v", synced)
	}
	// So is the release, before it is shown again.
	for _, err := range []error{syscall.EIO, nil} {
		fsync = disk(err)
		if got := charge(path, choiceOf(t, .05, 0)); !errors.Is(got, err) {
			t.Errorf("the disk says %v, a choice that is shown again %v", err, got)
		}
	}
	path = record1(t)
	for _, err := range []error{syscall.EIO, syscall.EIO, nil} {
		fsync = disk(err)
		if got := Continue(path, "d"); !errors.Is(got, err) {
			t.Errorf("the disk says %v, a deployment that goes on %v", err, got)
		}
	}
}

// A choice that came too late leaves nothing: the deployment that begins again, because it was
// interrupted before its HEADER, needs no more than before.
func TestAChoiceThatIsTooLateIsNotCharged(t *testing.T) {
	path := record1(t)
	if err := Begin(path, "d", 0, budget(t, .1).Whole()); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	if err := charge(path, choiceOf(t, .05, 0)); !errors.Is(err, ErrBegun) {
		t.Errorf("too late: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%v, the record is %s", err, after)
	}
	if err := add(path, entry{Choice: "00", Mu2: 5, Share: .5}); err != nil { // between the reading and the writing of another process
		t.Fatal(err)
	}
	if err := Begin(path, "d", 0, budget(t, .1).Whole()); err != nil {
		t.Errorf("nothing was released: %v", err)
	}
}
