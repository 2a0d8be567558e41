import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { run } from '#shared/process/run.ts';
import { testSets } from '#test/set-up/test-sets.ts';

/** README, package.json and `.ci/run` mean the same command by "the tests". */

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
const readme = read('README.md');

test('.ci/run runs npm run check and npm test, and nothing else that tests', () => {
  const lines = read('.ci/run').split('\n');
  const code = lines.map((line) => line.replace(/(^| )#.*/, '')).join('\n');
  const commands = code.match(/test\/set-up\/.*\S|\bnpm .*\S|\bvitest\b.*|\bnpx\b.*/gm);
  expect(commands).toEqual(['test/set-up/set-up.sh npm', 'npm run check', 'npm test']);
});

test('npm test sets up, and runs the unit tests and the core', () => {
  expect(scripts['test']).toBe('test/set-up/set-up.sh && vitest run --project unit --project core');
  expect(Object.keys(testSets)).toEqual(expect.arrayContaining(['unit', 'core']));
});

test('npm run test:all sets up, and runs every set', () => {
  expect(scripts['test:all']).toBe('test/set-up/set-up.sh && test/set-up/set-up.sh witnesses && vitest run');
});

test('the README shows npm test where it says how to see it work', () => {
  const [, section = ''] = readme.split('## See it work\n');
  const [, block = ''] = section.split(/```(?:sh)?\n/);
  expect(block.split('\n').map((line) => line.replace(/ *#.*/, ''))).toEqual(['npm run lab', 'npm test', '']);
});

test('what the README and the guides run is there', () => {
  const guides = readdirSync(new URL('../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
  const texts = [readme, ...guides.map((name) => read(`docs/${name}`))].join('\n');
  const named = [...texts.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name);
  expect(named).toEqual(expect.arrayContaining(['check', 'test:unit', 'test:all', 'test:interop']));
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test.each([
  ['nothing', [], ['set-up', 'node test/lab/main.ts']],
  ['flags', ['--nodes', '2'], ['set-up', 'node test/lab/main.ts --nodes 2']],
  ['flags, in a new clone', ['--nodes', '2'], ['set-up npm', 'set-up', 'node test/lab/main.ts --nodes 2']],
  ['a bad flag', ['--bad'], ['']],
  ['--help, with packages', ['--site', '--help'], ['node test/lab/main.ts --site --help']],
  ['--help, in a new clone', ['--help'], ['set-up npm', 'node test/lab/main.ts --help']],
])('npm run lab sets up what it needs: %s', async (title, flags, expected) => {
  expect(scripts['lab']).toBe('test/lab/lab.sh');
  const folder = mkdtempSync(join(tmpdir(), 'baton-lab-'));
  try {
    for (const each of ['test/lab', 'test/set-up', 'bin']) mkdirSync(join(folder, each), { recursive: true });
    if (!title.includes('new clone')) mkdirSync(join(folder, 'node_modules'));
    copyFileSync(new URL('lab/lab.sh', import.meta.url), join(folder, 'test/lab/lab.sh'));
    for (const [name, said] of [
      ['test/set-up/set-up.sh', 'set-up'],
      ['bin/node', 'node'],
    ] as const) {
      writeFileSync(join(folder, name), `#!/bin/bash\necho ${said} "$@"; [[ $* != *--bad* ]] || exit 2\n`, {
        mode: 0o755,
      });
    }
    const { stdout } = await run(join(folder, 'test/lab/lab.sh'), flags, {
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
      timeoutMs: 240_000,
      okExitCodes: [flags.includes('--bad') ? 2 : 0],
    });
    expect(stdout.trimEnd().split('\n')).toEqual(expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('what .ci/run says, with commands that do as they are told', () => {
  let folder = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-ci-'));
    for (const each of ['.ci', 'test/set-up', 'build', 'bin']) mkdirSync(join(folder, each), { recursive: true });
    copyFileSync(new URL('../.ci/run', import.meta.url), join(folder, '.ci/run'));
    script('test/set-up/set-up.sh', 'exit 0');
    // npm run check; npm test
    script(
      'bin/npm',
      '[[ $2 == check ]] && exit "$CHECK"; [[ -n $REPORT ]] && printf %s "$REPORT" >build/test-report.json; exit "$TEST"',
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function script(name: string, text: string): void {
    writeFileSync(join(folder, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }

  async function outcome(how: { check?: number; test?: number; report?: object }): Promise<readonly unknown[]> {
    const { check = 0, test: tests = 0, report } = how;
    const { stdout, exitCode } = await run(join(folder, '.ci/run'), [], {
      env: {
        PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        CHECK: String(check),
        TEST: String(tests),
        REPORT: report ? JSON.stringify(report) : '',
      },
      okExitCodes: [0, 1],
      timeoutMs: 240_000,
    });
    return [stdout.trimEnd().split('\n').at(-1), exitCode];
  }

  const file = (status: string, ...tests: readonly string[]) => {
    return { name: 'a.test.ts', status, assertionResults: tests.map((each) => ({ status: each })) };
  };
  const green = { numPassedTests: 3, numFailedTests: 0, testResults: [file('passed', 'passed')] };

  test.each([
    ['all is well', { report: green }, '3 passed, 0 failed', 0],
    ['the check fails', { check: 1, report: green }, '3 passed, 1 failed', 1],
    ['something failed outside of all tests', { test: 1, report: green }, '3 passed, 1 failed', 1],
    ['there is no report', {}, '0 passed, 1 failed', 1],
    ['no test has run', { report: { numPassedTests: 0, numFailedTests: 0, testResults: [] } }, '0 passed, 1 failed', 1],
    [
      'two tests fail',
      { test: 1, report: { ...green, numFailedTests: 2, testResults: [file('failed', 'failed', 'failed')] } },
      '3 passed, 2 failed',
      1,
    ],
    [
      'a file can not be loaded, and the set-up of another fails',
      { test: 1, report: { ...green, testResults: [file('failed'), file('failed', 'skipped')] } },
      '3 passed, 2 failed',
      1,
    ],
  ])('%s', async (_, how, lastLine, exitCode) => {
    rmSync(join(folder, 'build/test-report.json'), { force: true });
    expect(await outcome(how)).toEqual([lastLine, exitCode]);
  });

  test('a report of an earlier run does not count', async () => {
    writeFileSync(join(folder, 'build/test-report.json'), JSON.stringify(green));
    expect(await outcome({})).toEqual(['0 passed, 1 failed', 1]);
  });
});
