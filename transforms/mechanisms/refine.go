package mechanisms

// refine moves discrete Laplace noise of scale t₁ to the smaller scale t₂: from u with P(u)
// proportional to e^(−|u|/t₁) it draws v so that v has P(v) proportional to e^(−|v|/t₂), and u
// given v is v plus noise that knows nothing else. 1 ≤ t₂ < t₁ < 2^31.
//
// With β(t) = 1/(2·sinh²(1/2t)) the characteristic function of the law of scale t
// is 1/(1 + β(t)·(1−cos θ)). Hence for r = β(t₂)/β(t₁)
//
//	1/(1 + β₁·x) = 1/(1 + β₂·x) · (r + (1−r)/(1 + β₁·x)),
//
// and u has the law of v + w with w independent of v: 0 with probability r, else
// discrete Laplace of scale t₁. This is the coupling of Koufogiannis, Han and
// Pappas ("Gradual Release of Sensitive Data under Differential Privacy", 2016,
// Theorem 9), exact on the lattice instead of the real line; there r = (t₂/t₁)².
//
// By Bayes' rule the law of v given u is u itself with probability
//
//	r·p₂(u)/p₁(u) = sinh(1/t₁)/sinh(1/t₂)·e^(−|u|·(1/t₂−1/t₁)),
//
// and otherwise proportional to e^(−|v|/t₂)·e^(−|u−v|/t₁) over all integers v.
func refine(u int64, t1, t2 uint64, src Source) (int64, error) {
	if keeps(magnitude(u), t1, t2, src) {
		return u, nil
	}
	v, err := between(magnitude(u), t1, t2, src)
	if u < 0 {
		v = -v
	}
	return v, err
}

func magnitude(u int64) uint64 {
	if u < 0 {
		return uint64(-u)
	}
	return uint64(u)
}

// keeps returns true with probability sinh(1/t₁)/sinh(1/t₂)·e^(−m·(1/t₂−1/t₁)). The
// first factor is e^−(1/t₂−1/t₁)·(1 − e^(−2/t₁))/(1 − e^(−2/t₂)), and with w =
// e^(−1/(t₁·t₂)) the fraction in it is (1 − w^(2·t₂))/(1 − w^(2·t₁)): the
// probability that a geometric variable of ratio w below 2·t₁ is below 2·t₂.
func keeps(m, t1, t2 uint64, src Source) bool {
	if !expMinusProduct(m+1, t1-t2, t1*t2, src) {
		return false
	}
	for {
		if j := uniform(2*t1, src); expMinus(j, t1*t2, src) {
			return j < 2*t2
		}
	}
}

// between draws v with probability proportional to e^(−|v|/t₂)·e^(−|m−v|/t₁). It proposes
// e^(−|v|·(1/t₂−1/t₁)), which is the same up to a factor for v from 0 to m and exceeds it by
// e^(2d/t₁) at distance d outside. The expected number of proposals is at most (t₁+t₂)/(t₁−t₂).
func between(m, t1, t2 uint64, src Source) (int64, error) {
	for {
		v, err := twoSided(t1-t2, t1*t2, src)
		if err != nil {
			return 0, err
		}
		outside := uint64(0)
		if v < 0 {
			outside = uint64(-v)
		} else if uint64(v) > m {
			outside = uint64(v) - m
		}
		if outside == 0 || expMinusProduct(outside, 2, t1, src) {
			return v, nil
		}
	}
}
