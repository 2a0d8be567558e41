import { expect, test } from 'vitest';
import { circleSize, createNeighbourGroups, type GroupMember, nextCallMs } from '#conductor/agents/find-neighbours.ts';

const time = { now: 0 };
const member = (number: number, place = ''): GroupMember => ({
  id: number.toString(16).padStart(16, '0'),
  url: `https://192.0.2.1:${number}`,
  certificate_sha256: 'a'.repeat(64),
  node: `node ${number}`,
  place,
});
const ids = (found: readonly { readonly url: string }[]): readonly number[] =>
  found.map(({ url }) => Number(new URL(url).port)).sort((a, b) => a - b);

test('those of a group know each other, and nobody of another', () => {
  const groups = createNeighbourGroups(() => time.now);
  expect(groups.join('a', member(1), 1000)).toEqual([]);
  expect(ids(groups.join('a', member(2), 1000))).toEqual([1]);
  expect(ids(groups.join('b', member(3), 1000))).toEqual([]);
  expect(ids(groups.join('a', member(1), 1000))).toEqual([2]);
  expect(groups.size()).toBe(3);
});

test('a machine is in one group at a time, whatever it says that it deploys', () => {
  const groups = createNeighbourGroups(() => time.now);
  groups.join('a', member(1), 1000);
  for (let number = 0; number < 100; number += 1) {
    groups.join(`group ${number}`, { ...member(2), id: number.toString(16).padStart(16, '0') }, 1000);
  }
  expect(groups.size()).toBe(2);
  expect(groups.join('group 7', member(3), 1000)).toEqual([]);
  expect(ids(groups.join('group 99', member(3), 1000))).toEqual([2]);
  time.now += 5000;
  groups.join('a', member(1), 1000);
  expect(groups.size()).toBe(1);
});

test('who does not call again is forgotten', () => {
  const groups = createNeighbourGroups(() => time.now);
  groups.join('a', member(1), 1000);
  time.now += 5000;
  expect(groups.join('a', member(2), 1000)).toEqual([]);
  time.now += 5000;
  groups.join('b', member(3), 1000);
  expect(groups.size()).toBe(1);
});

test('circles are bounded, about as large as each other, and of machines that stand together', () => {
  const groups = createNeighbourGroups(() => time.now);
  const all = Array.from({ length: 120 }, (_, number) =>
    member(number + 1, `rack ${number % 3}\nswitch ${number % 6}`),
  );
  for (const each of all) groups.join('a', each, 1000);
  const found = all.map((each) => ids(groups.join('a', each, 1000)));
  expect(new Set(found.map(({ length }) => length))).toEqual(new Set([circleSize - 1]));
  for (const [number, others] of found.entries()) {
    expect(others).not.toContain(number + 1);
    for (const other of others) expect(found[other - 1]).toContain(number + 1);
  }
  const sameRack = found.flatMap((others, number) => others.filter((port) => (port - 1) % 3 === number % 3));
  expect(sameRack.length).toBeGreaterThan(0.8 * 120 * (circleSize - 1));
});

test('however many there are, an agent calls again while its ticket is good', () => {
  expect([0, 100, 5000, 1e6].map(nextCallMs)).toEqual([15_000, 20_000, 265_000, 300_000]);
});
