package filters

import (
	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

const source = "Koskela, Tobaben and Honkela"

// Experiments returns the experiments of the package.
func Experiments() []experiment.Experiment {
	return []experiment.Experiment{
		{Name: "filter-steps", Title: "How many steps of gradient descent fit, by GDP and by RDP", Source: source +
			", Figures 3 to 5", Run: steps},
		{Name: "filter-users", Title: "What sampled gradients cost single users, by distributions and by RDP",
			Source: source + ", Figure 1 and Appendix D", Run: users},
		{Name: "filter-groups", Title: "What filtering does to groups of users", Source: source +
			", Section 6 and Appendix E", Run: groups},
	}
}
