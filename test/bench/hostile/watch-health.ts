import { systemClock } from '#shared/clock.ts';

/** `watch-health.ts URL`: asks `/healthz` every 20 ms until SIGTERM, and prints `ready` and then what each took, milliseconds, one on each line. */

const [url = ''] = process.argv.slice(2);
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());
process.stdout.write('ready\n');
const latenciesMs: number[] = [];
while (!ending.signal.aborted) {
  const since = performance.now();
  const answer = await fetch(`${url}/healthz`);
  await answer.text();
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
  latenciesMs.push(performance.now() - since);
  await systemClock.sleep(20, ending.signal).catch(() => undefined);
}
process.stdout.write(latenciesMs.join('\n'));
