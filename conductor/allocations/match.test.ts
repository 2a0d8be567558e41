import { describe, expect, test } from 'vitest';
import {
  type Candidate,
  type Demand,
  decideAllocation,
  describeShortage,
  listRefusals,
  pairUp,
  type Requirements,
  selectByRack,
} from '#conductor/allocations/match.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const requirements: Requirements = { resourceClass: 'big', traits: [], candidateNodes: [], owner: null };
const candidate = (more: Partial<Candidate> = {}): Candidate => ({
  uuid: crypto.randomUUID(),
  name: null,
  resourceClass: 'big',
  provisionState: 'available',
  maintenance: false,
  retired: false,
  powerState: 'power off',
  health: 'OK',
  instanceUuid: null,
  owner: null,
  lessee: null,
  traits: [],
  rack: undefined,
  isLocked: false,
  hasLease: true,
  ...more,
});
const kinds = (node: Candidate, wanted: Requirements) => listRefusals(node, wanted).map(({ kind }) => kind);

describe('what stands against a node', () => {
  test.each<[string, Partial<Candidate>, Partial<Requirements>, string[]]>([
    ['nothing', {}, {}, []],
    ['its class', { resourceClass: null }, {}, ['class']],
    ['its state', { provisionState: 'active' }, {}, ['state']],
    ['maintenance', { maintenance: true }, {}, ['maintenance']],
    ['retirement', { retired: true }, {}, ['retired']],
    ['critical health', { health: 'Critical' }, {}, ['health']],
    ['a warning of its health', { health: 'Warning' }, {}, []],
    ['a health that is not known', { health: null }, {}, []],
    ['an instance', { instanceUuid: 'x' }, {}, ['instance']],
    ['an unknown power state', { powerState: null }, {}, ['power']],
    ['the candidates', {}, { candidateNodes: ['other'] }, ['candidate']],
    ['nobody owns it', {}, { owner: 'p' }, ['owner']],
    ['another owns it', { owner: 'q' }, { owner: 'p' }, ['owner']],
    ['its owner', { owner: 'p' }, { owner: 'p' }, []],
    ['its lessee', { owner: 'q', lessee: 'p' }, { owner: 'p' }, []],
    ['an owner that nobody asks for', { owner: 'q' }, {}, []],
    [
      'all at once',
      { maintenance: true, provisionState: 'enroll' },
      { traits: ['CUSTOM_A'] },
      ['state', 'maintenance', 'traits'],
    ],
  ])('%s', (_, node, wanted, expected) => {
    expect(kinds(candidate(node), { ...requirements, ...wanted })).toEqual(expected);
  });

  test('a node fits when it has all traits asked for, and perhaps more', () => {
    const traits = fc.uniqueArray(fc.constantFrom('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D'));
    fc.assert(
      fc.property(traits, traits, (has, wanted) => {
        const isSuperset = wanted.every((trait) => has.includes(trait));
        expect(kinds(candidate({ traits: has }), { ...requirements, traits: wanted })).toEqual(
          isSuperset ? [] : ['traits'],
        );
      }),
    );
  });
});

const demand = (more: Partial<Demand> = {}): Demand => ({
  names: [null],
  count: 1,
  minCount: 1,
  placement: undefined,
  mayWait: false,
  triesLeft: 1,
  ...more,
});

describe('what to do about a demand', () => {
  test('all or nothing, or at least min_count, and locked nodes never', () => {
    const nodesOf = fc
      .array(fc.boolean(), { maxLength: 8 })
      .map((locks) => locks.map((isLocked) => candidate({ isLocked })));
    const size = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(nodesOf, size, size, fc.boolean(), fc.nat(1), (nodes, count, least, mayWait, triesLeft) => {
        const minCount = Math.min(least, count);
        const free = nodes.filter(({ isLocked }) => !isLocked).length;
        const verdict = decideAllocation(demand({ names: [], count, minCount, mayWait, triesLeft }), nodes);
        const isEnough = free >= count;
        const mayTry = !isEnough && triesLeft > 0 && free < nodes.length;
        const right = mayTry ? 'try again' : !isEnough && mayWait ? 'wait' : free >= minCount ? 'take' : 'fail';
        expect(verdict.kind).toBe(right);
        const taken = verdict.kind === 'take' ? verdict.nodes : [];
        expect(taken).toHaveLength(right === 'take' ? Math.min(count, free) : 0);
        expect(taken.some(({ isLocked }) => isLocked)).toBe(false);
      }),
    );
  });

  test('the namesake first, unless it is locked', () => {
    const nodes = [candidate({ name: 'a' }), candidate({ name: 'b' })];
    expect(decideAllocation(demand({ names: ['b'] }), nodes)).toMatchObject({ nodes: [{ name: 'b' }] });
    const locked = [candidate({ name: 'a' }), candidate({ name: 'b', isLocked: true })];
    expect(decideAllocation(demand({ names: ['b'] }), locked)).toMatchObject({ nodes: [{ name: 'a' }] });
  });

  test("a group's allocations get their namesakes, the others what is left", () => {
    const allocations = [{ name: 'g-0' }, { name: 'g-1' }, { name: 'g-2' }];
    const nodes = [candidate({ name: 'x' }), candidate({ name: 'g-0' })];
    const pairs = pairUp(allocations, nodes).map(({ allocation, node }) => `${allocation.name}=${node.name}`);
    expect(pairs.sort()).toEqual(['g-0=g-0', 'g-1=x']);
  });
});

describe('a shortage in words', () => {
  test('Ironic says it first, the counts follow', () => {
    const nodes = [candidate({ maintenance: true }), candidate({ instanceUuid: 'x', provisionState: 'active' })];
    expect(describeShortage(requirements, nodes, 1)).toBe(
      'no available nodes match the resource class big (2 nodes of the class: 1 not in state available, 1 in maintenance, 1 with an instance)',
    );
    expect(describeShortage(requirements, [], 1)).toBe('no available nodes match the resource class big');
    expect(describeShortage({ ...requirements, candidateNodes: ['n'] }, [], 1)).toBe(
      'none of the requested nodes are available and match the resource class big',
    );
    expect(describeShortage({ ...requirements, traits: ['CUSTOM_A'] }, [candidate()], 1)).toBe(
      'no suitable nodes have the requested traits CUSTOM_A (1 nodes of the class: 1 without the requested traits)',
    );
    expect(describeShortage(requirements, [candidate(), candidate({ maintenance: true })], 3)).toBe(
      '1 of 3 nodes of resource class big are available (2 nodes of the class: 1 in maintenance)',
    );
  });

  test('an owner reads of its own nodes only', () => {
    const owned = { ...requirements, owner: 'p1' };
    expect(describeShortage(owned, [], 1)).toBe(
      'no available nodes match the resource class big (0 nodes of the class that belong or are leased to the owner)',
    );
    expect(describeShortage(owned, [candidate({ owner: 'p1', maintenance: true })], 1)).toBe(
      'no available nodes match the resource class big (1 nodes of the class that belong or are leased to the owner: 1 in maintenance)',
    );
  });
});

const inRack = fc.record({ id: fc.uuid(), rack: fc.constantFrom('a', 'b', 'c', 'd', undefined) });
const nodesOf = fc.uniqueArray(inRack, { selector: ({ id }) => id, maxLength: 16 });
const count = fc.integer({ min: 1, max: 16 });
const perRack = (nodes: readonly { rack: string | undefined }[]): number[] =>
  [...Map.groupBy(nodes, ({ rack }) => rack).values()].map((members) => members.length);

test('as many as are asked for, none twice, whatever the placement', () => {
  fc.assert(
    fc.property(nodesOf, count, fc.constantFrom('spread', 'pack', undefined), (nodes, wanted, placement) => {
      const chosen = selectByRack(nodes, wanted, placement);
      expect(chosen).toHaveLength(Math.min(wanted, nodes.length));
      expect(new Set(chosen).size).toBe(chosen.length);
      expect(chosen.every((node) => nodes.includes(node))).toBe(true);
    }),
  );
});

test('spread: a rack gives one more than another only where the other has no more', () => {
  fc.assert(
    fc.property(nodesOf, count, (nodes, wanted) => {
      const chosen = selectByRack(nodes, wanted, 'spread');
      const most = Math.max(0, ...perRack(chosen));
      for (const [rack, members] of Map.groupBy(nodes, (node) => node.rack)) {
        const taken = chosen.filter((node) => node.rack === rack).length;
        expect(taken >= most - 1 || taken === members.length).toBe(true);
      }
    }),
  );
});

test('pack: no choice takes fewer racks', () => {
  fc.assert(
    fc.property(nodesOf, count, (nodes, wanted) => {
      const known = nodes.filter(({ rack }) => rack !== undefined);
      const chosen = selectByRack(known, wanted, 'pack');
      const sizes = perRack(known).sort((a, b) => b - a);
      const needed = Math.min(wanted, known.length);
      const fewest = sizes.findIndex((_, index) => sum(sizes.slice(0, index + 1)) >= needed) + 1;
      expect(perRack(chosen)).toHaveLength(fewest);
    }),
  );
});

test('pack takes the smallest rack that suffices, and nodes of unknown racks last', () => {
  const rack = (name: string | undefined, size: number) => Array.from({ length: size }, () => ({ rack: name }));
  const nodes = [...rack(undefined, 9), ...rack('big', 6), ...rack('fits', 3), ...rack('small', 2)];
  expect(new Set(selectByRack(nodes, 3, 'pack').map((node) => node.rack))).toEqual(new Set(['fits']));
  expect(selectByRack(nodes, 12, 'pack').filter((node) => node.rack === undefined)).toHaveLength(1);
  expect(selectByRack(nodes, 3, 'spread').map((node) => node.rack)).toEqual(['big', 'fits', 'small']);
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
