package demo

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// check refuses combinations of flags that make no sense, before anything is opened. changed
// reports whether a flag was given.
func (f *demoFlags) check(changed func(string) bool) error {
	f.given = changed
	if !changed("window") {
		f.Window = f.baseWindow()
	}
	if f.Window < time.Millisecond {
		return command.Must("window", "at least 1ms")
	}
	if changed("lasts") && f.Lasts <= 0 {
		return command.Must("lasts", "above 0")
	}
	if err := cmp.Or(f.checkOverwrite(), command.FlagError(f.Target.Check())); err != nil {
		return err
	}
	if f.input == "" {
		for _, name := range fileFlags() {
			if changed(name) {
				return command.Usage(fmt.Errorf("--%s is only used with --input FILE: made-up events have their own "+
					"layout", name))
			}
		}
		f.setMadeUpDefaults(changed)
	} else {
		for _, name := range generatorFlags() {
			if changed(name) {
				return command.Usage(fmt.Errorf("--%s is for made-up events: leave it out with --input", name))
			}
		}
		if err := f.checkFile(changed); err != nil {
			return err
		}
		f.chooses = f.openValues || !changed("window") || !f.noiseGiven() || f.setting().Lasts == 0
	}
	return f.readPublicKeys()
}

// checkFile checks the flags that describe a file and what to compute from it, and sets what
// follows from them.
func (f *demoFlags) checkFile(changed func(string) bool) error {
	if err := errors.Join(f.checkInput(changed), f.checkRange(), f.checkKind(changed)); err != nil {
		return command.Usage(err)
	}
	if f.openValues = f.MetricKind().Values() && !f.ranged(); f.openValues {
		f.Max = 1 // until a range is chosen
	}
	f.setProvisional()
	return input.Readable("input", f.input)
}

// setMadeUpDefaults sets the defaults for made-up events.
func (f *demoFlags) setMadeUpDefaults(changed func(string) bool) {
	if !changed("relative") {
		f.Target.Relative = 0.1
	}
	if !changed("absolute") {
		f.Target.Absolute = 40
	}
	if !changed("lasts") {
		f.Lasts = time.Duration(max(1, f.stream.Windows)) * f.Window
	}
}

// baseWindow returns the default size of windows, which depends only on flags: an hour for made-up
// events, for a range that does not consist of whole days and, if times have hours, for a range of
// at most four days; otherwise a day.
func (f *demoFlags) baseWindow() time.Duration {
	const day = 24 * time.Hour
	from, to := f.millis()
	if f.input == "" || from%day.Milliseconds() != 0 || to%day.Milliseconds() != 0 || f.leastWindow() < day &&
		from != 0 && to != 0 && to-from <= 4*day.Milliseconds() {
		return time.Hour
	}
	return day
}

// checkOverwrite returns an error if a report would overwrite an input.
func (f *demoFlags) checkOverwrite() error {
	inputs := []command.NamedFile{{By: "--input", Path: f.input}, {By: "--public-keys", Path: f.publicKeys}}
	return command.CheckOverwrite(command.Reports(f.report, f.trustedReport), inputs...)
}

// checkRange refuses a range that does not begin and end with windows, in the time zone or UTC.
func (f *demoFlags) checkRange() error {
	size := f.Window.Milliseconds()
	f.from.In(f.times.Zone)
	f.to.In(f.times.Zone)
	for _, border := range []struct {
		name  string
		value command.TimeValue
	}{{"from", f.from}, {"to", f.to}} {
		switch millis := border.value.UnixMilli(); {
		case border.value.IsZero():
		case millis%size != 0 || border.value.Nanosecond()%1e6 != 0:
			before := time.UnixMilli(millis - millis%size).UTC()
			example := func(t time.Time) *command.TimeValue {
				return &command.TimeValue{Time: t, Local: border.value.Local}
			}
			return fmt.Errorf("--%s is %v: it must be the start of a window of %v in %s, for example %v or %v",
				border.name, &border.value,
				timespan.Text(f.Window), cmp.Or(f.times.Zone, "UTC"), example(before),
				example(before.Add(f.Window)))
		}
	}
	if !f.from.IsZero() && !f.to.IsZero() && !f.from.Before(f.to.Time) {
		return fmt.Errorf("--from %v must be before --to %v", &f.from, &f.to)
	}
	return nil
}

// compile compiles a deployment for a setting to try, with the other flags.
func (f *demoFlags) compile(s choice.Setting) (*pipeline.Deployment, error) {
	return f.deployment(f.decided(s))
}

// deployment compiles settings. Its errors name flags.
func (f *demoFlags) deployment(s demo.Settings) (*pipeline.Deployment, error) {
	d, err := s.Compile()
	if err != nil {
		return nil, f.configFlag(err)
	}
	d.Config.Events.Format.Value, d.Config.Events.Format.Decimals = f.ValueField, f.Decimals // for the report
	return d, nil
}

// warnings returns the settings that are valid but probably wrong, with the names of flags.
func (f *demoFlags) warnings(d *pipeline.Deployment) (all []error) {
	for _, one := range deployment.Warnings(d) {
		all = append(all, f.configFlag(one))
	}
	return all
}

// configFlag replaces fields of the configuration by flags in an error: the given flags that set
// the wrong field, and the flags to add.
func (f *demoFlags) configFlag(err error) error {
	var bad *pipeline.ConfigError
	if !errors.As(err, &bad) {
		return err
	}
	reason := bad.Reason(func(s deployment.Setting) string {
		flags := f.settingBy(s.Field)
		if flags == nil {
			return s.String()
		}
		return strings.TrimSpace("--" + flags[0] + " " + strings.Trim(s.Value, "[]"))
	})
	field := regexp.MustCompile(`\[[0-9]+\]`).ReplaceAllString(bad.Field, "")
	flags := f.settingBy(field)
	for end := strings.LastIndexByte(field, '.'); flags == nil && end >= 0; end = strings.LastIndexByte(field, '.') {
		field = field[:end]
		flags = f.settingBy(field)
	}
	named := slices.DeleteFunc(flags, func(name string) bool { return !f.given(name) })
	if len(named) == 0 {
		return command.Usage(errors.New(reason))
	}
	return command.Usage(fmt.Errorf("--%s: %s", strings.Join(named, ", --"), reason))
}

// settingBy returns the flags that set a field of a configuration, or a part of it; nil for none.
// Most flags have the name of their field.
func (f *demoFlags) settingBy(field string) []string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	name = strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "$1-$2"))
	switch field {
	case "Events.Format":
		return []string{"input-format", "columns"}
	case "Events.Format.User":
		return []string{"user-field"}
	case "Metrics":
		return []string{"relative", "absolute", "confidence"}
	case "Metrics.Keys":
		return []string{"public-keys"}
	case "Metrics.Max":
		return []string{"min", "max"}
	case "Metrics.Target":
		return []string{"absolute", "noise"}
	case "Privacy":
		return []string{"epsilon", "delta"}
	case "Privacy.DeltaKeys":
		return []string{"delta-keys", "delta"}
	}
	if f.flags == nil || f.flags.Lookup(name) == nil {
		return nil
	}
	return []string{name}
}
