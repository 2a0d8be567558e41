import { expect, test } from 'vitest';
import { inItsName, tellInItsName } from '#conductor/sites/nodes/own-name.ts';

const uuid = '6f0e2f6e-0000-4000-8000-000000000001';
const node = { name: 'n$&1', uuid };

test('a node is called by its name where its UUID stood, and others and URLs are left', () => {
  const other = 'node 6f0e2f6e-0000-4000-8000-000000000002';
  expect(inItsName(`Node ${uuid} is locked, ${other} is not: http://c/${uuid}, node ${uuid}`, node)).toBe(
    `Node n$&1 is locked, ${other} is not: http://c/${uuid}, node n$&1`,
  );
  expect(inItsName(`node ${uuid}`, { name: 'n1' })).toBe(`node ${uuid}`);
});

test('so in whatever has become of it', () => {
  expect(tellInItsName({ state: 'working', doing: `waits for node ${uuid}` }, node)).toEqual({
    state: 'working',
    doing: 'waits for node n$&1',
  });
  expect(tellInItsName({ state: 'failed', error: `Node ${uuid} owes a wipe` }, node)).toEqual({
    state: 'failed',
    error: 'Node n$&1 owes a wipe',
  });
  expect(tellInItsName({ state: 'done', remark: 'it was so' }, node)).toEqual({ state: 'done', remark: 'it was so' });
});
