package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// makesKey matches the command of the shell that makes a key file.
var makesKey = regexp.MustCompile(`\(umask 077; [^)]*\)`)

var keyRemedies = []remedy{
	{texts: []string{"there is no file %s: make it with tollgate init --generate-keys", "(umask 077; openssl rand -hex 32 > %s)", "(umask 077; mkdir -p %s;", "there is no key in %s: make one with %s", "tollgate init --generate-keys, or "}, walk: func(w *walk) {
		for _, refuses := range []string{"init --config $C --create-topics --event-partitions 1", "validate --config $C"} {
			w.configured("deployment: shop", "deployment: "+strings.Fields(refuses)[0])
			for range 2 { // in a folder that is not there, then in one that is
				w.shell(makesKey.FindString(w.says(refuses)))
			}
			w.works("init --config $C --create-topics --event-partitions 1")
			w.works("validate --config $C --offline --strict")
		}
		w.configured("deployment: shop", "deployment: generated")
		w.refused("init --config $C")
		w.paste("tollgate init --generate-keys --create-topics", "tollgate init")
		w.works("validate --config $C --offline --strict")
	}},
	{texts: one("or make a new noise key with tollgate change --generate-keys"), walk: func(w *walk) {
		w.begun()
		w.edit("{file: secrets/noise.key}", "{id: next, file: secrets/next.key}")
		w.paste(w.refused("change --config $C --dry-run"), "tollgate change --generate-keys")
		w.edit("{id: next, file: secrets/next.key}", "{id: last, file: secrets/last.key}")
		w.shell(makesKey.FindString(w.refused("change --config $C --dry-run")))
		w.works("change --config $C --dry-run")
	}},
	{texts: []string{"reading --noise-key-file: %w; make a key with", "reading --noise-key-file %s: %w; make a key with", "and nothing else; make one with: openssl rand -hex 32"}, walk: func(w *walk) {
		w.vars["K"], w.vars["F"], w.vars["L"] = w.beside("noise.key"), write(w, "a", ""), write(w, "long", strings.Repeat("ab", 2049))
		w.refused(onFile + " --noise-key-file $L")
		w.refused(onFile + " --noise-key-file $F")
		w.shell("openssl rand -hex 32 > " + w.vars["K"])
		w.must(onFile + " --noise-key-file $K")
		w.edit("{file: secrets/noise.key}", "{file: noise.key}", "{file: secrets/user-hash.key}", "{file: a}")
		w.put(w.beside("a"), "no key")
		w.refused("validate --offline --config $C")
		w.shell("openssl rand -hex 32 > " + w.beside("a"))
		w.works("validate --offline --config $C")
	}},
	{texts: []string{"the environment variable %s is not set or empty; give it a key with: export", "export %s=$(openssl rand -hex 32), and keep that key"}, walk: func(w *walk) {
		w.environment = map[string]string{}
		w.configured("{file: secrets/noise.key}", "{env: NOISE}", "{file: secrets/user-hash.key}", "{env: HASH}")
		w.refused("init --config $C --create-topics --event-partitions 1 --begin-first-promise")
		output := w.says("validate --offline --config $C")
		for _, name := range []string{"NOISE", "HASH"} {
			const makes = "=$(openssl rand -hex 32)"
			if !strings.Contains(output, "export "+name+makes) {
				w.Fatalf("no export of %s to paste: %s", name, output)
			}
			key, err := exec.CommandContext(w.Context(), "sh", "-c", "export "+name+makes+"; printf %s $"+name).Output()
			if err != nil {
				w.Fatal(err)
			}
			w.environment[name] = string(key)
		}
		w.works("validate --offline --config $C")
		w.works("init --config $C --create-topics --event-partitions 1 --begin-first-promise")
	}},
	{texts: one("is not set or empty: set it for this command (export %s="), walk: func(w *walk) {
		w.configured("kafka: {brokers: [", "kafka: {sasl: {mechanism: plain, user: u, password_env: SECRET}, brokers: [")
		madeKeys(w.T, w.value("C"), 0o600)
		w.refused("validate --offline --config $C")
		w.edit("password_env: SECRET", "password_file: secret")
		w.put(w.beside("secret"), "s")
		w.works("validate --offline --config $C")
	}},
	{texts: one("chmod 600 %s, and replace what is in it"), walk: func(w *walk) {
		dir, err := os.MkdirTemp("", "remedy") // a name that a shell takes as it is
		if err != nil {
			w.Fatal(err)
		}
		defer os.RemoveAll(dir)
		text, err := os.ReadFile(w.value("C"))
		if err != nil {
			w.Fatal(err)
		}
		w.vars["C"] = filepath.Join(dir, "tollgate.yaml")
		w.put(w.vars["C"], string(text))
		madeKeys(w.T, w.value("C"), 0o644)
		output := w.refused("validate --offline --strict --config $C")
		for _, command := range regexp.MustCompile(`chmod 600 [^ ,]+`).FindAllString(output, -1) {
			w.shell(command)
		}
		w.works("validate --offline --strict --config $C")
	}},
	{texts: one("where is the key? For example {file: noise.key}"), walk: func(w *walk) {
		madeKeys(w.T, w.value("C"), 0o600)
		w.edit("noise: {file: secrets/noise.key}", "noise: {id: a}")
		w.refused("validate --offline --config $C")
		w.edit("noise: {id: a}", "noise: {file: noise.key}")
		w.shell("openssl rand -hex 32 > " + w.beside("noise.key"))
		w.works("validate --offline --config $C")
	}},
	{texts: []string{"the noise key: make another one with openssl", "the key is all zeros; it must be"}, walk: func(w *walk) {
		madeKeys(w.T, w.value("C"), 0o600)
		for _, bad := range []string{strings.Repeat("5a", 32), strings.Repeat("00", 32)} {
			w.put(w.beside("secrets/user-hash.key"), bad)
			w.refused("validate --offline --config $C")
			w.shell("openssl rand -hex 32 > " + w.beside("secrets/user-hash.key"))
			w.works("validate --offline --config $C")
		}
	}},
	{texts: []string{"correct --config (a relative path begins"}, walk: func(w *walk) {
		w.vars["X"], w.vars["F"] = w.beside("nowhere.yaml"), w.beside("empty.yaml")
		w.refused("validate --offline --config $X")
		w.put(w.vars["F"], "")
		_, output := w.line("validate --offline --config $F")
		_, minimal, _ := strings.Cut(output, "every field:\n\n")
		w.put(w.vars["F"], minimal)
		w.must("validate --offline --config $F")
		example, err := os.ReadFile("../../../docs/example.yaml")
		if err != nil {
			w.Fatal(err)
		}
		w.put(w.vars["X"], strings.Replace(string(example), "password_env: TOLLGATE_PASSWORD", "password_file: password", 1))
		w.put(w.beside("password"), "secret")
		w.must("validate --offline --config $X")
	}},
}

// shell runs a command as it is printed.
func (w *walk) shell(command string) {
	w.Helper()
	if command == "" {
		w.Fatal("no command for the shell was printed")
	}
	if output, err := exec.CommandContext(w.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		w.Fatalf("%s: %v: %s", command, err, output)
	}
}
