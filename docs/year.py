"""Recomputes the means of the experiment year with numpy alone: no code of Tollgate, other random numbers.

    go run ./cmd/experiments year --format json | python3 docs/year.py

Prints for every population and method what the experiment found and what comes out here, in % of a day's events, and
fails if the two are more than 5% apart.
"""
import json, math, sys
import numpy as np

DAYS, KEYS, EPSILON, DELTA = 365, 20, 1, 1e-6
visitors = lambda r, n: np.minimum(0.01 * np.exp(1.2 * r.standard_normal(n)), 1)
POPULATIONS = {  # users, the probability that one comes on a day, the exponent of Zipf's law of the keys
    "visitors": (400_000, visitors, 1),
    "regulars": (40_000, lambda r, n: r.random(n) ** 4, 1),
    "one large key": (400_000, visitors, 2),
}
Z = 1.959964  # 95%
# By what a stop rule is stricter where both a relative and an absolute error are asked for: transforms/noisereduction/stop_factors.go
FLOOR = {0: 1, 0.03: 0.981, 0.05: 0.958, 0.07: 0.961, 0.1: 0.937, 0.15: 0.911, 0.2: 0.879, 0.3: 0.818, 0.5: 0.712}


def budget():
    """The largest μ² of μ-Gaussian privacy within (ε, δ): Balle and Wang 2018, Theorem 8."""
    phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    low, high = 1e-3, 10
    for _ in range(100):
        m = (low + high) / 2
        fits = phi(-EPSILON / m + m / 2) - math.exp(EPSILON) * phi(-EPSILON / m - m / 2) <= DELTA
        low, high = (m, high) if fits else (low, m)
    return low**2


def visits(r, users, often, law):
    """For each day: who comes, their own key, and a second one or −1."""
    p = np.arange(1, KEYS + 1) ** -float(law)
    p /= p.sum()
    often, own = often(r, users), r.choice(KEYS, users, p=p)
    for _ in range(DAYS):
        who = np.flatnonzero(r.random(users) < often)
        other = np.where(r.random(len(who)) < 0.3, r.choice(KEYS, len(who), p=p), -1)
        yield who, own[who], np.where(other == own[who], -1, other)


def noise(r, counts, top, within):
    """The error of each count, and the precision that it costs: the stop rule of docs/accuracy.md."""
    if within == 0:
        return r.standard_normal(KEYS) / math.sqrt(top), np.full(KEYS, top)
    enough = Z / (FLOOR[within] * within)
    u = np.full(KEYS, top * 2.0**-24)
    s = np.sqrt(u) * r.standard_normal(KEYS)
    while True:
        score = (counts + s / u) * np.sqrt(u)
        on = (score < enough) & (u < top)
        if not on.any():
            return s / u, u
        ratio = np.where(score > -2 + 1e-9, enough / np.maximum(score + 2, 1e-9), 16) ** 2
        steps = np.maximum(np.floor(14 * np.log2(np.clip(ratio, 1, 16))), 1)
        next = np.where(on, np.minimum(u * 2 ** (steps / 14), top), u)
        s += np.sqrt(next - u) * r.standard_normal(KEYS)
        u = next


def mean_error(r, population, keys=2, days=DAYS, least=0, burst=1, within=0):
    """The mean over the year of a day's error in % of its events. least: the finest noise of an account, ± so many events."""
    users, often, law = POPULATIONS[population]
    b2 = budget()
    top = (Z / (FLOOR[within] * least)) ** 2 if least else b2 / (keys * days)
    left, balance, total = np.full(users, b2), np.full(users, burst * b2), 0.0
    for who, own, other in visits(r, users, often, law):
        real = np.bincount(own, minlength=KEYS) + np.bincount(other[other >= 0], minlength=KEYS)
        one = np.where((other >= 0) & (r.random(len(who)) < 0.5), other, own)  # that counts where only one does
        if least:
            balance = np.minimum(balance + (1 - burst) * b2 / DAYS, burst * b2)
            n = np.minimum(np.floor(np.minimum(balance, left)[who] / top + 1e-9), 1 + (other >= 0))
        else:
            n = np.where(left[who] >= b2 / days * (1 - 1e-9), np.minimum(keys, 1 + (other >= 0)), 0)
        two = n == 2
        own, other = np.where(n == 1, one, own), np.where(two, other, -1)
        counts = np.bincount(own[n > 0], minlength=KEYS) + np.bincount(other[two], minlength=KEYS)
        wrong, u = noise(r, counts, top, within)
        price = (n > 0) * u[own] + two * u[other] if least else b2 / days
        left[who] -= price
        balance[who] -= price
        total += np.abs(counts + wrong - real).sum() / real.sum()
    return 100 * total / DAYS


def main():
    r, failed = np.random.default_rng(1), False
    for table in json.load(sys.stdin)["tables"]:
        population = table["title"].split(":")[0]
        names = [c["name"] for c in table["columns"]]
        for row in table["rows"]:
            row = dict(zip(names, row))
            setting = {"keys": row["keys"], "days": row["days"], "least": row["noise ±"], "burst": row["burst"], "within": (row["within %"] or 0) / 100}
            here = mean_error(r, population, **{name: value for name, value in setting.items() if value})
            failed |= abs(here / row["mean"] - 1) > 0.05
            print(f"{population}, {row['method']}: {row['mean']:.2f}%, here {here:.2f}%")
    sys.exit("more than 5% apart" if failed else 0)


if __name__ == "__main__":
    main()
