import type { SensorReading } from '#conductor/drivers/interfaces.ts';

const longest = 100;

/** BMCs may call several sensors alike (`PSU`, `PSU 2` here, in their order), and they may make words of any length. */
export function nameApart(readings: readonly SensorReading[]): SensorReading[] {
  const own = readings.map((each) => ({
    ...each,
    name: each.name.slice(0, longest),
    unit: each.unit?.slice(0, longest) ?? null,
  }));
  const taken = new Set(own.map(({ name }) => name));
  const seen = new Map<string, number>();
  return own.map((each) => {
    let count = (seen.get(each.name) ?? 0) + 1;
    let name = each.name;
    if (count > 1) {
      while (taken.has(`${each.name} ${count}`)) count += 1;
      name = `${each.name} ${count}`;
      taken.add(name);
    }
    seen.set(each.name, count);
    return { ...each, name };
  });
}
