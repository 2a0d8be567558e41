import { describe, expect, test } from 'vitest';
import { judgeNode } from '#conductor/sites/nodes/judge-node.ts';
import { factsOf, inLine, restingFacts } from '#conductor/sites/nodes/testing/node-cases.ts';

const look = (
  facts: Parameters<typeof judgeNode>[0]['facts'],
  more: Partial<Omit<Parameters<typeof judgeNode>[0], 'facts'>> = {},
) => judgeNode({ facts, designHash: () => 'now', isWanted: true, bmc: { power: 'power on' }, ...more });

describe('what is not as documented', () => {
  const deployed = factsOf('active', 'deployed by the site');

  test('a node that runs what its documents say is', () => {
    expect(look(deployed)).toMatchObject({ state: 'done', differs: [] });
  });

  test('one that is off, from other documents, or without its instance is not', () => {
    expect(look(deployed, { bmc: { power: 'power off' } }).differs).toEqual(['powered off']);
    expect(look(deployed, { designHash: () => 'then' }).differs).toEqual(['deployed from other documents']);
    expect(look(factsOf('available', 'no instance')).differs).toEqual(["not deployed: in 'available'"]);
    expect(look({}).differs).toEqual(['not enrolled']);
  });

  test('a deployed one is told as by an action that leaves it alone', () => {
    const other = factsOf('active', 'deployed by the site', { rest: { ...inLine, differs: ['driver'] } });
    expect(look(other, { designHash: () => 'then' })).toMatchObject({
      findings: ['power on', "in 'active'", expect.stringContaining('by now: driver, deployed from other documents (')],
      differs: ['driver', 'deployed from other documents'],
    });
  });

  test('one that its document can not deploy is a fault before an action finds it, unless it runs already', () => {
    const undeployable = 'its document has no image';
    const free = { ...restingFacts({ provisionState: 'available' }), undeployable };
    for (const facts of [{ undeployable }, free]) {
      expect(look(facts)).toMatchObject({
        state: 'failed',
        findings: expect.arrayContaining([undeployable]) as unknown,
      });
    }
    expect(look(free, { isWanted: false }).state).toBe('done');
    expect(look({ ...deployed, undeployable }).state).toBe('done');
  });

  test('one that no group chooses need not be deployed', () => {
    expect(look(restingFacts({ provisionState: 'available' }), { isWanted: false }).differs).toEqual([]);
  });
});
