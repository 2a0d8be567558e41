import { describe, expect, test } from 'vitest';
import { createProgressReporter } from '#agent/progress.ts';
import { createManualClock } from '#agent/testing/fake-clock.ts';
import { silentLog } from '#shared/log.ts';

function setUp(options: { readonly intervalMs?: number | undefined; readonly fail?: boolean } = {}) {
  const clock = createManualClock();
  const sent: string[] = [];
  const stop = new AbortController();
  const reporter = createProgressReporter({
    intervalMs: () => ('intervalMs' in options ? options.intervalMs : 500),
    send: async (commandId, progress) => {
      sent.push(`${commandId}: ${progress.phase}`);
      await Promise.resolve();
      if (options.fail) throw new Error('refused');
    },
    clock,
    log: silentLog,
    signal: stop.signal,
  });
  return { clock, sent, stop, reporter };
}

describe('createProgressReporter', () => {
  test('sends the first soon and then only the latest of each interval', async () => {
    const { clock, sent, reporter } = setUp();
    const report = reporter.forCommand('c1');
    for (const phase of ['0', '1']) report({ phase });
    expect(await clock.nextSleep()).toBe(250);
    expect(sent).toEqual([]);
    clock.advance(250);
    expect(await clock.nextSleep()).toBe(500);
    expect(sent).toEqual(['c1: 1']);
    for (const phase of ['2', '3']) report({ phase });
    report({ phase: '4' });
    clock.advance(500);
    await clock.nextSleep();
    expect(sent).toEqual(['c1: 1', 'c1: 4']);
  });

  test('goes on after a failed report', async () => {
    const { clock, sent, reporter } = setUp({ fail: true });
    reporter.forCommand('c1')({ phase: '1' });
    await clock.nextSleep();
    clock.advance(250);
    await clock.nextSleep();
    reporter.forCommand('c1')({ phase: '2' });
    clock.advance(500);
    await clock.nextSleep();
    expect(sent).toHaveLength(2);
  });

  test('drops what is late when the command has ended', async () => {
    const { clock, sent, reporter } = setUp();
    reporter.forCommand('c1')({ phase: '1' });
    await clock.nextSleep();
    clock.advance(250);
    await clock.nextSleep();
    reporter.forCommand('c1')({ phase: '2' });
    reporter.end('c1');
    reporter.forCommand('c2')({ phase: '1' });
    clock.advance(500);
    await clock.nextSleep();
    expect(sent).toEqual(['c1: 1', 'c2: 1']);
  });

  test('sends nothing where the conductor is not Baton', () => {
    const { sent, reporter } = setUp({ intervalMs: undefined });
    reporter.forCommand('c1')({ phase: '1' });
    expect(sent).toEqual([]);
  });
});
