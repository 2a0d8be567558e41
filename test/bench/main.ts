import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorChain } from '#shared/errors/app-error.ts';
import type { BenchContext, Figure } from '#test/bench/area.ts';
import { areas } from '#test/bench/areas/index.ts';
import { endOnSignals } from '#test/bench/end-on-signals.ts';

/** `npm run --silent bench [-- area…]`: one JSON object on stdout, progress on stderr. */
async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !areas.some((area) => area.name === name));
  if (unknown.length > 0) {
    throw new Error(`no such area: ${unknown.join(', ')}; there are ${areas.map(({ name }) => name).join(', ')}`);
  }
  const folder = resolve(import.meta.dirname, '../../build/bench');
  await mkdir(folder, { recursive: true });
  const figures: Record<string, Figure> = {};
  for (const area of areas.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const context: BenchContext = { folder, say: (line) => process.stderr.write(`${area.name}: ${line}\n`) };
    for (const [name, figure] of Object.entries(await area.measure(context))) {
      figures[name.includes('.') ? name : `${area.name}.${name}`] = figure;
    }
  }
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
}

endOnSignals();
try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${errorChain(error)}\n`);
  process.exitCode = 1;
}
