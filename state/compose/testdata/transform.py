"""The composition of mechanisms without a grid: a second oracle beside compositions.py, with the same
input and output.

With M(s) = E e^(sL) of the privacy loss L of all mechanisms together, and s = θ + iu for any θ > 0,

    δ(ε) = E max(0, 1 − e^(ε − L)) = 1/2π ∫ M(s) e^(−sε) / (s(s+1)) du.

A sum over u = j·2π/W in place of the integral is Σ_n e^(θnW) δ(ε + nW) (Poisson), whose other terms
are at least 0 and bounded by Chernoff. Beyond the last u the sum is bounded by sup |M|, and
roundings by their number. So the truth is between what is printed. M is a closed form, except on
Poisson samples, where it is an integral over x by trapezoids, which converge faster than any power.
check compares every M with quadrature by mpmath."""

import json
import math
import sys
import time

import mpmath
import numpy as np


def log_sum(terms, powers):
    """ln Σ terms·e^powers, of arrays along the first axis."""
    top = powers.real.max(axis=0)
    return top + np.log((terms * np.exp(powers - top)).sum(axis=0))


# Every mechanism is ln M and a function of θ and u: the supremum of ln |M| beyond u.


def atoms(losses, probabilities):
    l, p = np.array(losses)[:, None], np.array(probabilities)[:, None]
    log = lambda s: log_sum(p, l * np.atleast_1d(s))
    return log, lambda theta, u: real(log, theta)


def gaussian(mu):
    log = lambda s: mu * mu * np.atleast_1d(s) * (np.atleast_1d(s) + 1) / 2
    return log, lambda theta, u: real(log, theta) - (mu * u) ** 2 / 2


def laplace(e):
    def log(s):
        s, low = np.atleast_1d(s), np.exp(-e * (1 + 2 * np.atleast_1d(s)))
        return s * e + np.log((1 + low + (1 - low) / (2 * s + 1)) / 2)

    def beyond(theta, u):
        low = math.exp(-e * (1 + 2 * theta))
        return min(real(log, theta), theta * e + math.log((1 + low) * (1 + 1 / (2 * u)) / 2))

    return log, beyond


def discrete_gaussian(sigma):
    """Σ_x e^(−(x+s)²/2σ²) by Poisson's formula; if σ ≥ 2, all but three terms are below 1e-30 of it."""
    whole = math.log(sum(math.exp(-2 * (math.pi * sigma * k) ** 2) for k in range(-2, 3)))

    def log(s):
        s = np.atleast_1d(s) + 0j
        theta, u = s.real, s.imag
        k = np.rint(-u / (2 * math.pi * sigma**2)) + np.array([[-1], [0], [1]])
        height = (theta * (theta + 1) - (u + 2 * math.pi * sigma**2 * k) ** 2) / (2 * sigma**2)
        return log_sum(1, height + 1j * (u * (2 * theta + 1) / (2 * sigma**2) + 2 * math.pi * k * theta)) - whole

    return log, lambda theta, u: real(log, theta)


def sampled(sigma, q, add):
    """P = (1−q)·N(0, 1) + q·N(μ, 1) and Q = N(0, 1), or the other way round if add."""
    mu = 1 / sigma

    def integrand(theta, step):
        """x, L and the logarithm of the density of x under P, tilted by θ."""
        x = np.arange(-14 - (mu * theta if add else 0), 14 + (0 if add else mu * (theta + 1)), step)
        ratio = np.logaddexp(math.log1p(-q), math.log(q) + mu * (x - mu / 2))
        loss = -ratio if add else ratio
        return x, loss, theta * loss + (0 if add else ratio) - x * x / 2 - math.log(2 * math.pi) / 2

    def log(s):
        s, out = np.atleast_1d(s) + 0j, []
        for part in np.array_split(s, len(s) // 64 + 1):
            _, rough, _ = integrand(s[0].real, 0.1)
            slope = np.abs(np.diff(rough)).max() / 0.1  # the steepest L, by which the phase turns
            step = 2 * math.pi / (16 + 6 * mu + 2 * slope * np.abs(part.imag).max())
            _, loss, height = integrand(s[0].real, step)
            top = height.max()
            out.append(top + np.log(np.exp(1j * np.outer(part.imag, loss)) @ np.exp(height - top) * step))
        return np.concatenate(out)

    def beyond(theta, u):
        """|∫ h(l) e^(iul) dl| is at most the variation of h over u; h is the tilted density of L."""
        _, loss, height = integrand(theta, 1e-3)
        slope = mu * -np.expm1(math.log1p(-q) - np.abs(loss) * np.sign(-loss if add else loss))
        steep, top = np.abs(slope) > 1e-12, height.max()
        h = np.exp(height - top)[steep] / np.abs(slope[steep])
        return min(real(log, theta), top + math.log(np.abs(np.diff(h)).sum() * 1.01 / u))

    return log, beyond


def real(log, theta):
    return float(log(theta)[0].real)


def one(kind, a, b, add=False):
    """ln M and its bound of one mechanism in one direction; the probability of an unbounded loss."""
    if kind == "gaussian":
        return (*(gaussian(1 / a) if b == 1 else sampled(a, b, add)), 0)
    if kind == "laplace":
        return (*laplace(1 / a), 0)
    if kind == "discrete-gaussian":
        return (*discrete_gaussian(a), 0)
    if kind == "eps-delta":
        return (*atoms([a, -a], [1 / (1 + math.exp(-a)), 1 / (1 + math.exp(a))]), b)
    # Randomized response: one of b values at random with probability a, else the true one.
    truth, lie = 1 - a + a / b, a / b
    e = math.log(truth / lie)
    return (*atoms([e, -e, 0], [truth, lie, (b - 2) * lie]), 0)


class Direction:
    """All mechanisms of a composition, from one of the two neighbouring inputs."""

    def __init__(self, composition, add):
        made = [(one(kind, a, b, add), count) for kind, a, b, count in composition]
        self.parts = [(log, beyond, count) for (log, beyond, _), count in made]
        works = sum(count * math.log1p(-fails) for (_, _, fails), count in made)
        self.works, self.fails = math.exp(works), -math.expm1(works)

    def most(self, epsilon):
        """A bound of δ by Chernoff."""
        return self.fails + math.exp(min(0, *(self.log(t) - t * epsilon for t in 2.0 ** np.arange(10))))

    def prepare(self, near):
        """Makes the terms of the sum for the δ at any ε near one."""
        self.near = near
        self.theta = theta = self.tilt()
        wide = lambda far: (self.log(far) - far * near + 40) / (far - theta)
        needed, self.far = min((wide(far), far) for far in theta * np.array([1.05, 1.2, 1.5, 2, 3]))
        self.width = max(40 / theta, needed)  # so that all other terms are about e^−40
        du, self.terms, phase = 2 * math.pi / self.width, np.zeros(0), 0
        while True:
            n = len(self.terms)
            s = theta + 1j * du * np.arange(n, max(200, 2 * n))
            logs = [count * log(s) for log, _, count in self.parts]
            phase = max(phase, sum(np.abs(l.imag).max() for l in logs) + s[-1].imag * near)
            self.terms = np.append(self.terms, np.exp(sum(logs) - s * near) / (s * (s + 1)))
            self.terms[0] /= 1 if n else 2
            beyond = sum(count * b(theta, s[-1].imag) for _, b, count in self.parts)
            self.room = math.exp(beyond - theta * near) / (math.pi * s[-1].imag)
            if self.room < 2e-4 * self.sum(near) or len(self.terms) > 1e5:
                break
        self.room += np.abs(self.terms).sum() * 2 / self.width * (1e-11 + phase * 4e-16)

    def log(self, theta):
        return sum(count * real(log, theta) for log, _, count in self.parts)

    def tilt(self):
        """The θ with the least M(θ)·e^(−θε)/(θ(θ+1)), by golden sections; any θ would do."""
        size = lambda t: self.log(math.exp(t)) - math.exp(t) * self.near - t - math.log1p(math.exp(t))
        low, high = math.log(1e-2), math.log(1e3)
        while size(high) < size(high - 1) and high < 25:
            high += 1
        for _ in range(25):
            a, b = high - 0.618 * (high - low), low + 0.618 * (high - low)
            low, high = (low, b) if size(a) < size(b) else (a, high)
        return math.exp(low)

    def sum(self, epsilon):
        s = self.theta + 2j * math.pi / self.width * np.arange(len(self.terms))
        return float((self.terms * np.exp(s * (self.near - epsilon))).real.sum()) * 2 / self.width

    def bounds(self, epsilon):
        theta, far, value = self.theta, self.far, self.sum(epsilon)
        room = self.room * math.exp(theta * (self.near - epsilon))
        above = self.log(far) - far * epsilon - (far - theta) * self.width
        wraps = 1.01 * math.exp(-theta * self.width) + (1.01 * math.exp(above) if above < 0 else math.inf)
        return tuple(self.fails + self.works * max(0, d) for d in (value - room - wraps, value + room))


def interval(composition, delta, near):
    """Bounds of the least ε at δ, which is about near."""
    sample = any(kind == "gaussian" and b != 1 for kind, _, b, _ in composition)
    directions = [Direction(composition, add) for add in ((False, True) if sample else (False,))]
    directions = directions[:1] + [d for d in directions[1:] if d.most(0.9 * near) > delta]
    for _ in range(20):
        for d in directions:
            d.prepare(near)
        delta_at = [lambda e, side=side: max(d.bounds(e)[side] for d in directions) for side in (0, 1)]
        step = min([0.02 * near] + [20 / d.theta for d in directions])
        if delta_at[1](near + step) > delta:
            near += step
        elif not delta_at[0](near - step) > delta:
            near -= step
        else:
            return [halved(f, delta, near - step, near + step)[side] for side, f in enumerate(delta_at)]
    return 0, 1e300


def halved(f, delta, low, high):
    """Two ε next to each other, f of the first above δ and of the second not."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > delta else (low, middle)
    return low, high


def check():
    """Compares every M with ∫ p^(1+s) q^(−s) by mpmath."""
    near = lambda x: mpmath.npdf(x, 1, 2)
    off = lambda x: mpmath.npdf(x, 0, 2)
    mix = lambda x: 0.9 * off(x) + 0.1 * near(x)
    laplace = lambda at: lambda x: mpmath.exp(-abs(x - at) / 2) / 4
    discrete = lambda at: lambda x: mpmath.exp(-mpmath.mpf(x - at) ** 2 / 18)
    for s in (3, 2 + 5j):
        for kind, p, q in (
            (("gaussian", 2, 1), near, off),
            (("gaussian", 2, 0.1), mix, off),
            (("gaussian", 2, 0.1, True), off, mix),
            (("laplace", 2, 0), laplace(0), laplace(1)),
            (("discrete-gaussian", 3, 0), discrete(0), discrete(1)),
        ):
            f = lambda x: p(x) * (p(x) / q(x)) ** s
            if kind[0] == "discrete-gaussian":
                want = sum(map(f, range(-120, 121))) / sum(map(p, range(-120, 121)))
            else:
                want = mpmath.quad(f, [-60, -20, 0, 1, 20, 60])
            got = np.exp(one(*kind)[0](s)[0])
            assert abs(got / complex(want) - 1) < 1e-11, (kind, s, got, want)


check()
for line in sys.stdin:
    delta, near, composition = json.loads(line)
    begin = time.process_time()
    with np.errstate(divide="ignore"):  # ln 0, where M underflows
        low, high = interval(composition, delta, near)
    print(json.dumps([low, high, time.process_time() - begin]), flush=True)
