"""Reads compositions, JSON of [δ, about its ε, a list of [kind, parameters …, count]] a line, and prints
for each the ε at δ by dp_accounting, from below and from above, and the CPU seconds of the latter."""

import json
import math
import os
import sys
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

from dp_accounting.pld import privacy_loss_distribution as pld

GRID = 1e-4  # the default of dp_accounting


def one(kind, a, b, above):
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(a, sampling_prob=b, pessimistic_estimate=above)
    if kind == "laplace":
        return pld.from_laplace_mechanism(a, pessimistic_estimate=above)
    if kind == "discrete-gaussian":
        return pld.from_discrete_gaussian_mechanism(a, pessimistic_estimate=above)
    if kind == "randomized-response":
        # The probability of a random value: e^epsilon = 1 + k(1 − p)/p for k values.
        return pld.from_randomized_response(a, int(b), pessimistic_estimate=above)
    if kind == "eps-delta":
        # from_privacy_parameters only rounds up.
        rounded = math.ceil if above else math.floor
        mass = {rounded(a / GRID): (1 - b) / (1 + math.exp(-a)), rounded(-a / GRID): (1 - b) / (1 + math.exp(a))}
        return pld.PrivacyLossDistribution.create_from_rounded_probability(mass, b, GRID, pessimistic_estimate=above)
    raise ValueError(kind)


def epsilon(composition, delta, above):
    whole = None
    for kind, a, b, count in composition:
        part = one(kind, a, b, above)
        part = part.self_compose(count) if count > 1 else part
        whole = part if whole is None else whole.compose(part)
    return whole.get_epsilon_for_delta(delta)


for line in sys.stdin:
    delta, _, composition = json.loads(line)
    begin = time.process_time()
    above = epsilon(composition, delta, True)
    spent = time.process_time() - begin
    print(json.dumps([epsilon(composition, delta, False), above, spent]), flush=True)
