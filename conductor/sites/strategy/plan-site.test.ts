import { describe, expect, test } from 'vitest';
import { orderGroups } from '#conductor/sites/strategy/plan-site.ts';
import { seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const group = (name: string, ...dependencies: string[]) => ({ name, depends_on: dependencies });
const names = (groups: readonly { readonly name: string }[]) => groups.map(({ name }) => name);

describe('orderGroups', () => {
  test('the seed’s example: one of the allowed orders, the first of the document where there is a choice', () => {
    const { order, faults } = orderGroups(seedStrategy.groups);
    expect(names(order)).toEqual([
      'monitoring-nodes',
      'ntp-node',
      'control-nodes',
      'compute-nodes-1',
      'compute-nodes-2',
    ]);
    expect(faults).toEqual([]);
  });

  test('a circle is told with its members, and without what hangs off it', () => {
    const { order, faults } = orderGroups([
      group('free'),
      group('behind', 'b'),
      group('a', 'c', 'free'),
      group('b', 'a'),
      group('c', 'b', 'before'),
      group('before'),
    ]);
    expect(names(order)).toEqual(['free', 'before']);
    expect(faults).toEqual([
      {
        level: 'Error',
        name: 'DependencyCycle',
        message:
          'groups depend on each other in a circle: a → c → b → a (→ = depends on); one of these dependencies must go',
        path: 'data.groups[2].depends_on',
      },
    ]);
  });

  test('two circles are two faults', () => {
    const { faults } = orderGroups([group('a', 'b'), group('b', 'a'), group('c', 'd', 'a'), group('d', 'c')]);
    expect(faults.map(({ message }) => /circle: (.*) \(/.exec(message)?.[1])).toEqual(['a → b → a', 'c → d → c']);
  });

  test('unknown, self, twice: each with its path and what would be right; what is left is ordered', () => {
    const { order, faults } = orderGroups([group('a', 'a'), group('b', 'nowhere', 'a', 'a'), group('b')]);
    expect(names(order)).toEqual(['a', 'b']);
    expect(faults.map(({ name, path, message }) => [name, path, message])).toEqual([
      [
        'DuplicateGroup',
        'data.groups[2].name',
        'group b stands here again, after data.groups[1]; each group needs a name of its own',
      ],
      ['SelfDependency', 'data.groups[0].depends_on[0]', 'group a depends on itself; it may depend on other groups'],
      [
        'UnknownDependency',
        'data.groups[1].depends_on[0]',
        'group b depends on nowhere, which is not a group; there are a',
      ],
    ]);
  });
});

/** Any graph without circles: each group depends on some of those before it; then the document is shuffled. */
const anyGroups = fc
  .array(fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), { maxLength: 20 })
  .map((list) =>
    list.map((dependencies, index) =>
      group(`g${index}`, ...dependencies.filter((each) => each < index).map((each) => `g${each}`)),
    ),
  )
  .chain((groups) => fc.shuffledSubarray(groups, { minLength: groups.length }));

test('any document without circles: each group once, behind all that it depends on', () => {
  fc.assert(
    fc.property(anyGroups, (groups) => {
      const { order, faults } = orderGroups(groups);
      expect(faults).toEqual([]);
      expect(names(order).toSorted()).toEqual(names(groups).toSorted());
      const place = new Map(order.map(({ name }, index) => [name, index]));
      for (const { name, depends_on: dependencies } of order) {
        for (const each of dependencies) expect(place.get(each)).toBeLessThan(place.get(name) ?? -1);
      }
    }),
  );
});

test('any graph: a circle is found exactly when not all can be ordered, and is one', () => {
  const anyGraph = fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), { minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(anyGraph, (edges) => {
      const groups = edges.map((targets, index) =>
        group(`g${index}`, ...targets.filter((each) => each !== index).map((each) => `g${each}`)),
      );
      const { order, faults } = orderGroups(groups);
      expect(faults.length > 0).toBe(order.length < groups.length);
      for (const { message } of faults) {
        const walk = /circle: (.*) \(/.exec(message)?.[1]?.split(' → ') ?? [];
        expect(walk.at(-1)).toBe(walk[0]);
        walk.slice(1).forEach((name, index) => {
          expect(groups.find((each) => each.name === walk[index])?.depends_on).toContain(name);
        });
      }
    }),
  );
});

test('a chain of 10,000 groups, and a circle of as many', () => {
  const chain = Array.from({ length: 10_000 }, (_, index) =>
    group(`g${index}`, ...(index === 0 ? [] : [`g${index - 1}`])),
  );
  expect(orderGroups(chain).order).toHaveLength(10_000);
  const circle = [group('g0', 'g9999'), ...chain.slice(1)];
  expect(orderGroups(circle).faults).toHaveLength(1);
});
