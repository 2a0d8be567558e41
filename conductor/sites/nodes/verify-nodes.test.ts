import { afterAll, beforeAll, expect, test } from 'vitest';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { putCredential } from '#conductor/sites/credentials/credential-store.ts';
import { relabelNodes } from '#conductor/sites/nodes/relabel-nodes.ts';
import { verifyNodes } from '#conductor/sites/nodes/verify-nodes.ts';
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
