// Axes.

// linear is a scale with round ticks over [low, high]. It ends at ticks, but reaches no farther across
// zero than the values do: a small count with much noise does not cost a fifth of the chart.
function linear(low, high) {
  if (!(high > low)) high = low + 1;
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((f) => f * power >= raw) * power;
  const from = low < 0 && low > -step ? low : Math.floor(low / step + 1e-9) * step;
  const to = high > 0 && high < step && low < 0 ? high : Math.ceil(high / step - 1e-9) * step;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) ticks.push(+(i * step).toPrecision(12));
  return { map: (v) => (v - from) / (to - from), ticks };
}

// logarithmic is linear around zero, up to about the least error, so that
// zero and negative values can be drawn.
function logarithmic(low, high, error) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(error, 1)));
  const bend = (v) => Math.sign(v) * Math.log10(1 + Math.abs(v) / unit);
  const from = bend(low), to = Math.max(bend(high), from + 0.1), ticks = [0];
  for (let v = unit; v <= Math.max(Math.abs(low), Math.abs(high)); v *= 10) ticks.push(v, -v);
  return {
    map: (v) => (bend(v) - from) / (to - from),
    ticks: ticks.filter((v) => bend(v) >= from - 1e-9 && bend(v) <= to + 1e-9).sort((a, b) => a - b),
  };
}

const timeSteps = [1, 10, 100, 1e3, 5e3, 15e3, 30e3, 6e4, 3e5, 9e5, 18e5, 36e5, 108e5, 216e5, 432e5, day, 2 * day, 7 * day, 14 * day];

// timeTicks are round times between from and to, at most count of them.
function timeTicks(from, to, count) {
  const least = (to - from) / count, step = timeSteps.find((s) => s >= least);
  if (!step) return monthTicks(from, to, Math.ceil(least / (30 * day)));
  const ticks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    ticks.push({ at: t, text: step >= day || (t % day === 0 && to - from > day) ? iso(t).slice(step >= day && !ticks.length ? 0 : 5, 10) : clock(t) });
  }
  return ticks;
}

function monthTicks(from, to, least) {
  const step = [1, 2, 3, 6, 12, 60, 600, 12000].find((s) => s >= least) || 12000;
  const ticks = [], begin = new Date(from);
  for (let month = Math.ceil((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / step) * step; ; month += step) {
    const t = new Date(0);
    t.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    if (!(+t <= to)) return ticks;
    if (+t >= from) ticks.push({ at: +t, text: iso(+t).slice(0, step % 12 ? 7 : 4) });
  }
}
