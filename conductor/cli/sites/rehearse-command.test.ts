import { expect, test } from 'vitest';
import type { ActionRehearsal } from '#conductor/api/rehearsal.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const times = (median: number, p90 = median, isAssumed = false) => ({
  median_seconds: median,
  p90_seconds: p90,
  is_assumed: isAssumed,
});
const counts = (most: number) => ({ median: most, most });
const shares = (succeeds: number) => ({
  begun_percent: 100,
  success_percent: succeeds,
  failure_percent: 100 - succeeds,
});

const answer: ActionRehearsal = {
  rehearsed: true,
  name: 'deploy_site',
  committed_rev_id: 3,
  runs: 100,
  seed: 1,
  ends: times(725, 1500, true),
  success_percent: 93,
  pauses: [{ group: 'rest', reason: '3 nodes failed', percent: 4 }],
  stuck_percent: 0,
  most_out: counts(2),
  racks: [
    { rack: 'r1', most_out: counts(2) },
    { rack: null, most_out: counts(1) },
  ],
  groups: [
    {
      name: 'first',
      critical: true,
      depends_on: [],
      member_count: 1,
      ...shares(93),
      begins: times(0),
      ends: times(60, 65),
      most_out: counts(1),
    },
    {
      name: 'rest',
      critical: false,
      depends_on: ['first'],
      member_count: 2,
      ...shares(89),
      begins: times(60, 65),
      ends: times(725, 1500, true),
      most_out: counts(2),
    },
  ],
  nodes: [
    {
      name: 'n1',
      rack: 'r1',
      ...shares(93),
      begins: times(0),
      ends: times(60, 65),
      flows: ['clean', 'deploy'],
      remark: null,
    },
    {
      name: 'n2',
      rack: null,
      ...shares(0),
      begins: times(60),
      ends: null,
      flows: [],
      remark: 'it is in maintenance: fan',
    },
  ],
  critical_path: [
    { group: 'first', node: 'n1', begins_seconds: 0, ends_seconds: 60 },
    { group: 'rest', node: null, begins_seconds: 60, ends_seconds: 725 },
  ],
  durations: [
    { flow: 'clean', model: 'Dell R640', nodes: 1, basis: 'model', flows: 40, assumed_seconds: null },
    { flow: 'deploy', model: 'Dell R640', nodes: 1, basis: 'other models', flows: 7, assumed_seconds: null },
    { flow: 'verify', model: null, nodes: 2, basis: 'assumed', flows: 0, assumed_seconds: 60 },
  ],
  validations: [{ level: 'Warning', name: 'W', message: 'no checksum' }],
  remarks: [],
};
const terminalOf = () => createRecordingTerminal(() => answer);

test('rehearse asks for the action as action create would, and prints when what ends', async () => {
  const terminal = terminalOf();
  const args = ['--param', 'continue-on-fail=true', '--allow-intermediate-commits', '--fail', 'n1@deploy.write_image'];
  const text = await terminal.run('rehearse', 'deploy_site', ...args, '--fail', '5%', '--seed', '0', '--runs', '20');
  expect(terminal.calls).toEqual([
    [
      'POST /api/v1.0/actions?rehearse=true&runs=20&seed=0&fail=n1%40deploy.write_image&fail=5%25',
      { name: 'deploy_site', parameters: { 'continue-on-fail': 'true', 'allow-intermediate-commits': true } },
    ],
  ]);
  expect(text).toBe(`\
deploy_site, revision 3, rehearsed 100 times with seed 1; nothing was started
it ends after ~12 m 05 s, in 90 % of the runs within ~25 m 00 s; no critical group fails in 93 %

group  begins    (90 %)    ends        (90 %)      succeeds  fails  most out
first  0.0 s     0.0 s     1 m 00 s    1 m 05 s    93 %      7 %    1
rest   1 m 00 s  1 m 05 s  ~12 m 05 s  ~25 m 00 s  89 %      11 %   2

its end follows from: first (n1 is last) 0.0 s to 1 m 00 s → rest 1 m 00 s to 12 m 05 s
most nodes out at once: 2; by rack: r1 2
pauses by itself in 4 %: rest: 3 nodes failed
n2 fails: it is in maintenance: fan
deploy of 1 node (Dell R640): times of all models, from 7 recorded
verify of 2 nodes (model not known): none is recorded, ~ marks what follows from an assumed 1 m 00 s
Warning no checksum
`);
});

test('--nodes shows each node, and -o json all of the answer', async () => {
  const text = await terminalOf().run('rehearse', 'deploy_site', '--nodes');
  expect(text).toMatch(/^n1 +0\.0 s .*93 % +7 % +clean, deploy$/m);
  expect(text).toMatch(/^n2 +1 m 00 s .* - .*0 % +100 % +it is in maintenance: fan$/m);
  expect(JSON.parse(await terminalOf().run('rehearse', 'deploy_site', '-o', 'json'))).toEqual(answer);
});

test('a parameter without a value and a seed that is none are bad usage: nothing is sent', async () => {
  for (const args of [
    ['--param', 'x'],
    ['--seed', 'x'],
    ['--runs', '0'],
  ]) {
    const terminal = terminalOf();
    const error = await terminal.run('rehearse', 'deploy_site', ...args).catch((cause: unknown) => cause);
    expect([exitCodeOf(error), terminal.calls]).toEqual([2, []]);
  }
});
