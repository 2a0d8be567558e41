import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { putCredential } from '#conductor/sites/credentials.ts';
import { relabelNodes } from '#conductor/sites/nodes/relabel-nodes.ts';
import { factsOf, inLine, restingFacts } from '#conductor/sites/nodes/testing/node-cases.ts';
import { judgeNode, verifyNodes } from '#conductor/sites/nodes/verify-nodes.ts';
import { type FakeSite, newAction, newSiteNode, siteOf, startFakeSite } from '#test/support/fake-site.ts';

/** Looking at nodes, and relabelling them. */

let site: FakeSite;
beforeAll(async () => {
  site = await startFakeSite();
});
afterAll(() => site.close());

const action = newAction();

test('a node that is not enrolled is looked at as its document describes it', async () => {
  const node = newSiteNode();
  const reports = await verifyNodes(site.context(), { action, site: siteOf([node]), names: [node.name, 'no'] });
  expect(reports.get(node.name)).toEqual({
    state: 'done',
    findings: ['it is not enrolled yet, which prepare does'],
    differs: ['not enrolled'],
  });
  expect(reports.get('no')).toMatchObject({ state: 'failed' });
});

test('what differs is found by one and, as far as it is labels, changed by the other', async () => {
  const node = newSiteNode();
  await site.run([node], { action: newAction(), phase: 'prepare' });
  const changed = siteOf([{ ...node, rack: 'r9', labels: { zone: 'b' }, resourceClass: 'small' }]);
  const verify = () => verifyNodes(site.context(), { action, site: changed, names: [node.name] });
  const differing = 'not as its document says: properties/rack, extra/labels, resource_class';
  expect((await verify()).get(node.name)).toMatchObject({
    state: 'done',
    findings: [expect.stringContaining('power'), "in 'available'", differing],
    differs: ['properties/rack', 'extra/labels', 'resource_class'],
  });
  const relabel = () => relabelNodes(site.context(), { action, site: changed, names: [node.name] });
  expect((await relabel()).get(node.name)).toEqual({
    state: 'done',
    findings: ['changed properties/rack', 'changed extra/labels', 'changed resource_class'],
  });
  expect((await verify()).get(node.name)?.findings).not.toContain(differing);
  expect(inWords((await relabel()).get(node.name))).toMatchObject({ remark: 'it was so already' });
});

test('what can’t be changed of a deployed node is told with its name, not its UUID', async () => {
  const node = newSiteNode();
  const deploying = newAction();
  for (const phase of ['prepare', 'deploy'] as const) await site.run([node], { action: deploying, phase });
  const changed = siteOf([{ ...node, resourceClass: 'small' }]);
  const reports = await relabelNodes(site.context(), { action, site: changed, names: [node.name] });
  expect(inWords(reports.get(node.name))).toMatchObject({
    state: 'failed',
    error: expect.stringMatching(`^change resource_class: Node ${node.name} can not have resource_class changed`),
  });
});

test('a BMC that does not answer is a fault', async () => {
  await putCredential(site.context(), 'bmc', { username: 'a', password: 'b' }, undefined);
  const driverInfo = { redfish_address: 'http://127.0.0.1:9' };
  const node = newSiteNode({ driver: 'redfish', driverInfo, credential: 'bmc' });
  const reports = await verifyNodes(site.context(), { action, site: siteOf([node]), names: [node.name] });
  expect(inWords(reports.get(node.name))).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('its BMC: '),
  });
});

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
