import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

test('an allocation is asked for with all that was said, and waited for', async () => {
  const states = ['allocating', 'active'];
  const terminal = createRecordingTerminal((request) => {
    if (request.startsWith('GET /v1/nodes/')) return { uuid: 'n', name: 'n1' };
    return {
      uuid: 'a',
      name: 'web',
      state: request.startsWith('POST') ? 'allocating' : states.shift(),
      node_uuid: 'n',
    };
  });
  const options = [
    '--trait',
    'CUSTOM_A',
    '--trait',
    'CUSTOM_B',
    '--candidate',
    'n1',
    '--owner',
    'team',
    '--extra',
    'rack=7',
  ];
  expect(await terminal.run('allocate', 'gold', '--name', 'web', ...options, '--wait=30')).toBe(
    'allocation web: node n1\n',
  );
  expect(terminal.calls[0]).toEqual([
    'POST /v1/allocations',
    {
      resource_class: 'gold',
      name: 'web',
      owner: 'team',
      traits: ['CUSTOM_A', 'CUSTOM_B'],
      candidate_nodes: ['n1'],
      wait: 30,
      extra: { rack: '7' },
    },
  ]);
  expect(await terminal.run('allocate', 'gold')).toBe(
    'allocation web: allocating; baton allocation show web shows more\n',
  );
  expect(terminal.calls.at(-1)).toEqual(['POST /v1/allocations', { resource_class: 'gold' }]);
});

test('--wait alone waits for the matching, not for nodes to become free, and gives up', async () => {
  const terminal = createRecordingTerminal(() => ({ uuid: 'a', state: 'allocating' }));
  await expect(terminal.run('allocate', 'gold', '--wait')).rejects.toThrow('it is still allocating, and goes on');
  expect(terminal.calls[0]?.[1]).toEqual({ resource_class: 'gold' });
  await expect(terminal.run('allocate', 'gold', '--wait=soon')).rejects.toThrow('--wait: it must be a whole number');
});

test('of a group, min-count says how many are enough', async () => {
  const terminal = createRecordingTerminal((request) => {
    if (request.startsWith('POST')) return { allocations: [{ uuid: 'a' }, { uuid: 'b' }] };
    if (request.startsWith('GET /v1/nodes/')) return { name: 'n1' };
    return request.endsWith('/a')
      ? { uuid: 'a', state: 'active', node_uuid: 'n' }
      : { uuid: 'b', state: 'error', last_error: 'no available nodes' };
  });
  const group = ['allocate', 'gold', '--count', '2', '--spread', '--wait'];
  expect(await terminal.run(...group, '--min-count', '1')).toContain('allocation a: node n1\nallocation b: error');
  expect(terminal.calls[0]?.[1]).toEqual({ resource_class: 'gold', count: 2, min_count: 1, placement: 'spread' });
  await expect(terminal.run(...group)).rejects.toThrow(
    /^no available nodes\n→ `baton allocate … --dry-run` .*delete b/,
  );
  await expect(terminal.run('allocate', 'gold', '--pack')).rejects.toThrow('--pack: it goes with --count');
  await expect(terminal.run(...group, '--pack')).rejects.toThrow('one of them');
});

test('a dry run says of each node why it would be refused, and fails where the allocation would', async () => {
  let error: string | null = null;
  const terminal = createRecordingTerminal(() => ({
    nodes: [{ uuid: 'u1', name: 'n1' }],
    fitting: 1,
    error,
    refused: [{ uuid: 'u2', name: null, reasons: ['is in maintenance', 'lacks CUSTOM_A'] }],
  }));
  expect(await terminal.run('allocate', 'gold', '--dry-run')).toBe(
    'n1  would be taken\nu2  is in maintenance; lacks CUSTOM_A\n1 fit\n',
  );
  expect(terminal.calls).toEqual([['POST /v1/allocations', { resource_class: 'gold', dry_run: true }]]);
  error = 'no available nodes match the resource class gold';
  await expect(terminal.run('allocate', 'gold', '--dry-run')).rejects.toThrow(/^no available nodes match/);
});

test('what `baremetal allocation` has: a UUID, a node with an instance, the class as an option, fields', async () => {
  const terminal = createRecordingTerminal((request) =>
    request.includes('?')
      ? { allocations: [{ uuid: 'a', name: 'web' }] }
      : { uuid: 'a', name: 'web', state: 'allocating' },
  );
  await terminal.run('allocate', '--resource-class', 'gold', '--uuid', 'u1', '--name', 'web');
  await terminal.run('allocate', '--node', 'n1');
  expect(terminal.calls).toEqual([
    ['POST /v1/allocations', { resource_class: 'gold', uuid: 'u1', name: 'web' }],
    ['POST /v1/allocations', { node: 'n1' }],
  ]);
  await expect(terminal.run('allocate')).rejects.toThrow('CLASS is missing (or --node)');
  await expect(terminal.run('allocate', 'gold', '--resource-class', 'gold')).rejects.toThrow('one of them');
  const list = await terminal.run('allocation', 'list', '--resource-class', 'gold', '--fields', 'uuid, name');
  expect(list).toContain('web');
  expect(terminal.calls.at(-1)?.[0]).toContain('/v1/allocations?fields=uuid,name&resource_class=gold&');
  await terminal.run('allocation', 'show', 'web', '--fields', 'uuid,state');
  expect(terminal.calls.at(-1)?.[0]).toBe('GET /v1/allocations/web?fields=uuid%2Cstate');
});
