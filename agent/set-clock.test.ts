import { expect, test } from 'vitest';
import { createApiClient } from '#agent/api/api-client.ts';
import { raiseClock, readKernelDate, setClock } from '#agent/set-clock.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

function parts(fails = false) {
  const commands: string[] = [];
  const said: string[] = [];
  const run: Run = (command, args) => {
    commands.push([command, ...args].join(' '));
    return fails ? Promise.reject(new AppError('command_failed', 'date exited with 1')) : Promise.resolve(ranWell());
  };
  return { commands, said, run, clock: createInstantClock(), log: silentLog, say: (line: string) => said.push(line) };
}

test.each([undefined, 0, 59_000, -60_000])('a clock that is %s ms behind is left alone', async (errorMs) => {
  const { commands, said, ...rest } = parts();
  await setClock(errorMs, rest);
  expect([...commands, ...said]).toEqual([]);
});

test.each([
  [7_200_000, '@1795255200', 'the clock said 2026-11-21T08:00:00Z, set to 2026-11-21T10:00:00Z by the API'],
  [-90_000, '@1795247910', 'the clock said 2026-11-21T08:00:00Z, set to 2026-11-21T07:58:30Z by the API'],
])('a clock that is %s ms behind is set', async (errorMs, seconds, line) => {
  const { commands, said, ...rest } = parts();
  await setClock(errorMs, rest);
  expect(commands).toEqual([`date -s ${seconds}`]);
  expect(said).toEqual([line]);
});

test('a clock that can not be set is told and no error', async () => {
  const { said, commands: _commands, ...rest } = parts(true);
  await setClock(3_600_000, rest);
  expect(said).toEqual([
    "the clock says 2026-11-21T08:00:00Z, not 2026-11-21T09:00:00Z, and can't be set: date exited with 1",
  ]);
});

test('the API tells by its answers how wrong the clock is', async () => {
  const conductor = await startFakeConductor({});
  const hour = 3_600_000;
  const api = createApiClient({
    urls: [conductor.url],
    insecure: false,
    requestTimeoutMs: 60_000,
    log: silentLog,
    now: () => new Date(Date.now() - hour),
  });
  expect(api.clockErrorMs()).toBeUndefined();
  await api.version();
  expect(Math.abs((api.clockErrorMs() ?? 0) - hour)).toBeLessThan(hour / 2);
  await api.close();
  await conductor.close();
});

test.each([
  [
    'Linux version 6.1.0-41-amd64 (x) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.158-1 (2025-11-09)\n',
    '2025-11-09T00:00:00.000Z',
  ],
  ['Linux version 6.12.0 (x@y) (gcc) #2 SMP Sun Oct  5 12:34:56 UTC 2025\n', '2025-10-05T12:34:56.000Z'],
  ['Linux version 6.1.0 (x) (gcc-12) #1 SMP @0\n', undefined],
  ['', undefined],
])('when the kernel was built: %j', (version, built) => {
  expect(readKernelDate(version)?.toISOString()).toBe(built);
});

test('a clock is raised, never set back', async () => {
  const { commands, said, ...rest } = parts();
  await raiseClock(undefined, rest, 'nobody');
  await raiseClock(new Date('2026-11-20T08:00:00Z'), rest, 'somebody');
  expect(commands).toEqual([]);
  await raiseClock(new Date('2026-11-22T08:00:00Z'), rest, 'the kernel, which was built then');
  expect(said).toEqual([
    'the clock said 2026-11-21T08:00:00Z, set to 2026-11-22T08:00:00Z by the kernel, which was built then',
  ]);
});
