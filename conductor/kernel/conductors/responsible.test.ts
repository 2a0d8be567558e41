import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { responsibleConductor, worksOn } from '#conductor/kernel/conductors/node-conductor.ts';

const conductor = (hostname: string, conductorGroup = '') => ({ hostname, conductorGroup, drivers: ['redfish'] });
const node = (conductorGroup = '') => ({ uuid: randomUUID(), driver: 'redfish', conductorGroup });
const three = ['a', 'b', 'c'].map((name) => conductor(name));

test('group and hardware type say who works on a node', () => {
  expect(worksOn(conductor('a'), node())).toBe(true);
  expect(worksOn(conductor('a', 'left'), node('LEFT'))).toBe(true);
  expect(worksOn(conductor('a', 'left'), node())).toBe(false);
  expect(worksOn(conductor('a'), node('left'))).toBe(false);
  expect(worksOn(conductor('a'), { ...node(), driver: 'ipmi' })).toBe(false);
});

test('nodes are shared about evenly, and who leaves gives away its own alone', () => {
  const nodes = Array.from({ length: 3000 }, () => node());
  const before = nodes.map((each) => responsibleConductor(three, each));
  for (const name of ['a', 'b', 'c']) {
    expect(before.filter((each) => each === name).length).toBeGreaterThan(800);
  }
  const after = nodes.map((each) => responsibleConductor(three.slice(1), each));
  const moved = after.filter((name, index) => name !== before[index]);
  expect(moved).toHaveLength(before.filter((name) => name === 'a').length);
});

test('nobody is responsible for a node without a conductor', () => {
  expect(responsibleConductor(three, node('left'))).toBeUndefined();
  expect(responsibleConductor([...three, conductor('d', 'left')], node('left'))).toBe('d');
});
