import { expect, test } from 'vitest';
import { nodeListCommand } from '#conductor/cli/nodes/node-commands.ts';
import type { CommandContext } from '#conductor/cli/shell/command.ts';
import { parseInput } from '#conductor/cli/shell/parse-input.ts';

const uuid = '6f0e2f6e-0000-4000-8000-000000000000';
const named = { uuid, name: 'rack1-a', provision_state: 'active', power_state: 'power on', maintenance: false };

async function list(columns: number, nodes: readonly object[], ...args: string[]): Promise<string> {
  let output = '';
  const client = { call: () => Promise.resolve({ nodes }) };
  const screen = {
    write: (text: string) => void (output += text),
    isTerminal: true,
    size: () => ({ columns, rows: 24 }),
  };
  await nodeListCommand.run({ client, screen } as unknown as CommandContext, parseInput(nodeListCommand, args));
  return output;
}
const heading = (text: string) => text.split('\n')[0]?.split(/ +/);

test('columns that a terminal has no room for are left out, the least needed first', async () => {
  expect(heading(await list(200, [named]))?.[0]).toBe('uuid');
  expect(heading(await list(90, [named]))).toEqual([
    'name',
    'provision_state',
    'target_provision_state',
    'power_state',
    'maintenance',
  ]);
  const narrow = await list(60, [named]);
  expect(heading(narrow)).toEqual(['name', 'provision_state', 'power_state', 'maintenance']);
  expect(narrow.split('\n').every((line) => line.length <= 60)).toBe(true);
});

test('a node without a name keeps its UUID, and chosen columns stay', async () => {
  expect(heading(await list(60, [{ ...named, name: null }]))?.[0]).toBe('uuid');
  expect(heading(await list(20, [named], '--columns', 'uuid,name'))).toEqual(['uuid', 'name']);
  expect(heading(await list(20, [named], '-o', 'wide'))).toContain('resource_class');
  const wide = await list(20, [{ ...named, health: 'Critical' }], '-o', 'wide');
  expect(heading(wide)).toContain('health');
  expect(wide).toContain('Critical');
});

test('-o name: a line each, for scripts', async () => {
  expect(await list(80, [named, { ...named, name: null }], '-o', 'name')).toBe(`rack1-a\n${uuid}\n`);
  await expect(list(80, [], '-o', 'xml')).rejects.toThrow('it must be json, yaml or text, wide or name');
});

test('racks and traits are chosen here, and so many are counted after that', async () => {
  const nodes = [
    { ...named, name: 'a', properties: { rack: 'r1' }, extra: {}, traits: ['CUSTOM_GPU', 'CUSTOM_X'] },
    { ...named, name: 'b', properties: {}, extra: { rack: 'r1' }, traits: [] },
    { ...named, name: 'c', properties: {}, extra: {}, traits: ['CUSTOM_GPU'] },
  ];
  const names = async (...args: string[]) => (await list(80, nodes, '-o', 'name', ...args)).trim().split('\n');
  expect(await names('--rack', 'r1')).toEqual(['a', 'b']);
  expect(await names('--trait', 'CUSTOM_GPU')).toEqual(['a', 'c']);
  expect(await names('--trait', 'CUSTOM_GPU', '--trait', 'CUSTOM_X')).toEqual(['a']);
  expect(await names('--rack', 'r1', '--limit', '1')).toEqual(['a']);
});
