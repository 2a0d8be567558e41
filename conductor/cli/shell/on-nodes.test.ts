import { beforeEach, expect, test } from 'vitest';
import { commands, runCommand } from '#conductor/cli/commands.ts';
import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

const fleet = [
  { uuid: '1', name: 'a', traits: ['CUSTOM_GPU', 'CUSTOM_NVME'], properties: {}, extra: { rack: 7 } },
  { uuid: '2', name: 'b', traits: ['CUSTOM_GPU'], properties: { rack: '8' }, extra: { rack: '7' } },
  { uuid: '3', name: null, traits: [], properties: {}, extra: {} },
];
let found: readonly unknown[];
let output: string;
let asked: string[];
let atWork: number;
let mostAtWork: number;
beforeEach(() => {
  found = fleet;
  output = '';
  asked = [];
  atWork = 0;
  mostAtWork = 0;
});

const client: ApiClient = {
  call: async (method, path) => {
    asked.push(`${method} ${path}`);
    if (path.startsWith('/v1/nodes?')) return { nodes: found };
    atWork += 1;
    mostAtWork = Math.max(mostAtWork, atWork);
    await systemClock.sleep(5);
    atWork -= 1;
    if (path.includes('/b/')) throw new AppError('conflict', 'b is locked');
    return {};
  },
  download: () => Promise.reject(new Error('nothing is downloaded')),
};

const run = (...args: string[]): Promise<void> =>
  runCommand(
    {
      describeSettings: () => Promise.resolve([]),
      screen: {
        write: (text) => void (output += String(text)),
        isTerminal: true,
        size: () => ({ columns: 80, rows: 24 }),
      },
      clock: systemClock,
      connect: () => ({ client, openConsole: () => Promise.reject(new Error('nobody sits here')) }),
    },
    args,
  );
const changes = () => asked.filter((request) => !request.startsWith('GET'));

test('machines that reported themselves once are deleted together', async () => {
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  found = [
    { uuid: 'once', name: null, traits: [], created_at: at(20), inspection_finished_at: at(20) },
    { uuid: 'again', name: null, traits: [], created_at: at(20), inspection_finished_at: at(10) },
    { uuid: 'before', name: null, traits: [], created_at: at(200), inspection_finished_at: at(200) },
    { uuid: 'by-hand', name: null, traits: [], created_at: at(20), inspection_finished_at: null },
  ];
  await run('node', 'delete', '--discovered', '1h', '--yes');
  expect(asked).toEqual([
    'GET /v1/nodes?fields=uuid,name,traits,created_at,inspection_finished_at&provision_state=enroll&limit=1000',
    'DELETE /v1/nodes/once',
  ]);
  for (const wrong of ['soon', '5', '2999-01-01T00:00Z'])
    await expect(run('node', 'delete', '--discovered', wrong, '--yes')).rejects.toThrow(
      `--discovered: ${wrong}: it must be`,
    );
});

test('several nodes are set off at the same time, a line each; one that fails does not stop the others', async () => {
  await expect(run('manage', 'a', 'b', 'c')).rejects.toThrow(/^1 of 3 failed:\n {2}b: b is locked$/);
  expect(output.split('\n').sort()).toEqual([
    '',
    'node a: manage requested; baton watch a shows it',
    'node c: manage requested; baton watch c shows it',
  ]);
  expect(mostAtWork).toBe(3);
});

test('no more than sixteen at once', async () => {
  await run('power', 'on', ...Array.from({ length: 40 }, (_, index) => `n${index}`));
  expect(changes()).toHaveLength(40);
  expect(mostAtWork).toBe(16);
});

test('selected nodes are listed, and left alone until --yes', async () => {
  await expect(run('power', 'off', '--class', 'small', '--state', 'available')).rejects.toThrow(
    /^3 selected, and nothing done: a b 3\n→ --yes acts on them$/,
  );
  expect(asked).toEqual([
    'GET /v1/nodes?fields=uuid,name,traits&provision_state=available&resource_class=small&limit=1000',
  ]);
  await expect(run('power', 'off', '--class', 'small', '--yes', '-o', 'json')).rejects.toThrow('1 of 3 failed');
  expect(JSON.parse(output)).toEqual([
    { node: 'a', target: 'power off' },
    { name: 'b', error: 'b is locked' },
    { node: '3', target: 'power off' },
  ]);
});

test('traits must all be there', async () => {
  await run('undeploy', '--trait', 'CUSTOM_GPU', '--trait', 'CUSTOM_NVME', '--yes');
  expect(changes()).toEqual(['PUT /v1/nodes/a/states/provision']);
  expect(output).toBe('node a: deleted requested; baton watch a shows it\n');
  await expect(run('undeploy', '--trait', 'CUSTOM_X', '--yes')).rejects.toThrow('no node matches the selection');
});

test('a rack is what an operator has noted', async () => {
  await run('power', 'off', '--rack', '7', '--yes');
  expect(asked[0]).toBe('GET /v1/nodes?fields=uuid,name,traits,properties,extra&limit=1000');
  expect(changes()).toEqual(['PUT /v1/nodes/a/states/power']);
});

test('what is unclear is refused before anything is asked', async () => {
  await expect(run('manage')).rejects.toThrow('manage: it takes NODE...; usage: baton manage NODE..., or --state');
  await expect(run('manage', 'a', '--state', 'enroll')).rejects.toThrow('name nodes or select them, not both');
  await expect(run('manage', 'a', '--yes')).rejects.toThrow('--yes: with a selector');
  await expect(run('rescue', 'a', 'b', '--password', '-')).rejects.toThrow(
    'rescue: --password: for several nodes it must be a file',
  );
  expect(asked).toEqual([]);
});

test('every verb that changes nodes takes selectors', () => {
  const taking = commands.filter(({ options }) => options?.['yes'] !== undefined).map(({ words }) => words);
  const some = ['power on', 'maintenance off', 'deploy', 'rebuild', 'inspect', 'clean', 'provide', 'undeploy', 'abort'];
  expect(taking).toEqual(expect.arrayContaining([...some, 'rescue', 'node delete', 'unhold', 'adopt', 'service']));
});

test('fields and traits of selected nodes are changed, and of one that is named', async () => {
  await run('node', 'set', '--rack', '7', 'extra.owner=me', '--yes');
  expect(changes()).toEqual(['PATCH /v1/nodes/a']);
  await run('node', 'trait', 'add', 'a', 'CUSTOM_NEW');
  expect(changes().at(-1)).toMatch(/^PUT \/v1\/nodes\/a\/traits/);
  await expect(run('node', 'set', '--class', 'small', '--yes')).rejects.toThrow('it takes');
  await expect(run('node', 'set', 'a')).rejects.toThrow('it takes');
  await expect(run('node', 'set', '--rack', '7', 'extra.note=@-', '--yes')).rejects.toThrow('must be a file');
});
