import { describe, expect, test } from 'vitest';
import { chooseMegabytes, parseStress, readAvailableBytes, stress } from '#agent/burnin/stressapptest.ts';
import type { Run } from '#shared/process/run.ts';

const signal = new AbortController().signal;

/** stressapptest 1.0.6 on this project's build machine. */
const passed = `Log: Commandline - stressapptest -s 2 -M 64 -m 2 -W
Stats: SAT revision 1.0.6_autoconf, 64 bit binary
Stats: Starting SAT, 64M, 2 seconds
Stats: Found 0 hardware incidents
Stats: Completed: 136996.00M in 6.01s 22807.93MB/s, with 0 hardware incidents, 0 errors
Stats: Memory Copy: 136996.00M at 27363.62MB/s

Status: PASS - please verify no corrected errors
`;
const failed = `Log: Region mask: 0x1
Report Error: miscompare : DIMM Unknown : 1 : 1s
Hardware Error: miscompare on CPU 0(0x1) at 0x7f80b31aeb60(0x575766:DIMM Unknown): read:0xffbaffffffffffff, reread:0xffbaffffffffffff expected:0xffffffffffffffff
Log: Thread 1 found 1 hardware incidents
Stats: Found 1 hardware incidents
Stats: Completed: 106562.00M in 5.03s 21188.22MB/s, with 1 hardware incidents, 0 errors

Status: FAIL - test discovered HW problems
`;

test('reads the output', () => {
  expect(parseStress(passed)).toEqual({ passed: true, rate: 22_807.93, findings: [] });
  expect(parseStress(failed)).toMatchObject({ passed: false, rate: 21_188.22 });
  expect(parseStress('').passed).toBe(false);
});

describe('stress', () => {
  const withOutput = (stdout: string, exitCode: number) => {
    const seen: string[] = [];
    const run: Run = (command, args) => {
      seen.push([command, ...args].join(' '));
      return Promise.resolve({ stdout, stderr: '', exitCode, durationMs: 1 });
    };
    return { seen, load: (cpu: boolean) => stress(run, { seconds: 2, megabytes: 64, threads: 2, cpu }, signal) };
  };

  test('tells what was done', async () => {
    const { seen, load } = withOutput(passed, 0);
    expect(await load(true)).toEqual({ seconds: 2, megabytes: 64, threads: 2, rate: 22_807.93 });
    await load(false);
    expect(seen).toEqual([
      'stressapptest -s 2 -M 64 -m 2 --stop_on_errors -v 5 -W -C 2',
      'stressapptest -s 2 -M 64 -m 2 --stop_on_errors -v 5',
    ]);
  });

  test('a miscompare fails it, with the place', async () => {
    await expect(withOutput(failed, 1).load(true)).rejects.toThrow(/Hardware Error: miscompare on CPU 0/);
    await expect(withOutput('', 1).load(true)).rejects.toThrow(/exit code 1/);
    // whatever it says, an exit code of 1 is not a success
    await expect(withOutput(passed, 1).load(true)).rejects.toThrow(/failed under load/);
  });
});

describe('memory', () => {
  const gib = 1024 ** 3;

  test('a share of what is free, less what the agent needs', () => {
    expect(chooseMegabytes(gib, { percent: 100 })).toBe(864);
    expect(chooseMegabytes(gib, { percent: 50 })).toBe(432);
    expect(chooseMegabytes(gib, { bytes: 512 * 1024 ** 2 })).toBe(512);
  });

  test('more than there is', () => {
    expect(() => chooseMegabytes(gib, { bytes: gib })).toThrow('asks for 1024 MiB of memory: 864 MiB can be tested');
    expect(() => chooseMegabytes(1024, { percent: 98 })).toThrow('0 MiB can be tested');
  });

  test('is read from the kernel', async () => {
    expect(await readAvailableBytes()).toBeGreaterThan(0);
  });
});
