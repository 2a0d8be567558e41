import { describe, expect, test } from 'vitest';
import { parseSelfTest, runSmartTest } from '#agent/burnin/burn-in-disks.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import type { Run } from '#shared/process/run.ts';

/** The part that matters of `smartctl --json --all` (7.3). */
const report = (value: number, text: string): string =>
  JSON.stringify({
    json_format_version: [1, 0],
    device: { name: '/dev/sda', type: 'sat', protocol: 'ATA' },
    ata_smart_data: { self_test: { status: { value, string: text }, polling_minutes: { short: 2, extended: 182 } } },
  });

test.each([
  [report(0, 'completed without error'), 'passed'],
  [report(249, 'in progress, 90% remaining'), 'running'],
  [report(121, 'completed: read failure'), { failed: 'completed: read failure' }],
  ['{"device": {"protocol": "NVMe"}}', 'not offered'],
])('%s', (stdout, expected) => {
  expect(parseSelfTest('/dev/sda', stdout)).toEqual(expected);
});

describe('runSmartTest', () => {
  const runWith = (...reports: readonly string[]) => {
    const left = [...reports];
    const commands: string[] = [];
    const run: Run = (_command, args) => {
      commands.push(args.join(' '));
      return Promise.resolve(ranWell(args.includes('--test=long') ? '' : left.shift()));
    };
    const signal = new AbortController().signal;
    const context = { run, clock: createInstantClock(), signal, reportProgress: () => undefined };
    return { commands, result: runSmartTest(context, '/dev/sda') };
  };

  test('starts it and waits', async () => {
    const { commands, result } = runWith(
      report(0, 'completed without error'),
      report(249, 'in progress, 90% remaining'),
      report(0, 'completed without error'),
    );
    expect(await result).toBe('passed');
    expect(commands).toContain('--test=long /dev/sda');
  });

  test("a failure is told in the disk's words", async () => {
    const { result } = runWith(report(0, 'fine'), report(121, 'completed: read failure'));
    await expect(result).rejects.toThrow('the self test of /dev/sda says: completed: read failure');
  });

  test('a disk without one', async () => {
    expect(await runWith('{}').result).toBe('not offered');
  });
});
