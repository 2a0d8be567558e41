import { afterAll, beforeAll, expect, test } from 'vitest';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { findUnfit, requireTeardownPossible } from '#conductor/sites/actions/foresee-failures.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { newSiteNode, siteOf } from '#test/support/fake-site.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const image = { image_source: 'http://images.example/os.raw', image_checksum: 'http://images.example/SHA256SUMS' };
const realNode = (more: Partial<SiteNode> = {}): SiteNode =>
  newSiteNode({ driver: 'redfish', driverInfo: { redfish_address: 'https://bmc' }, instanceInfo: image, ...more });

const enrol = (node: SiteNode): Promise<string> =>
  addAvailableNode(api.context.db, node.name, { driver: node.driver, networkInterface: 'noop' });

async function why(...given: readonly SiteNode[]): Promise<(string | undefined)[]> {
  const names = given.map(({ name }) => name);
  const found = await findUnfit(api.context, { site: siteOf(given), names });
  return names.map((name) => found.get(name));
}

const noImage =
  'its document has no platform.image, or only a name that no baton/Images/v1 explains: there is nothing to deploy';
const { instanceInfo: _none, ...withoutImage } = realNode();

test('a node without image is unfit, enrolled or not; a simulated deploy needs none, nor does a boot volume', async () => {
  const [enrolled, onVolume] = [
    { ...withoutImage, name: 'enrolled' },
    { ...withoutImage, name: 'on-volume' },
  ];
  await enrol(enrolled);
  const nodeUuid = await enrol(onVolume);
  await api.context.db.insert(volumeTargets).values({
    uuid: crypto.randomUUID(),
    nodeUuid,
    volumeType: 'iscsi',
    volumeId: '1',
    bootIndex: 0,
    properties: {},
  });
  expect(await why(withoutImage, enrolled, onVolume, realNode(), newSiteNode())).toEqual([
    noImage,
    noImage,
    undefined,
    undefined,
    undefined,
  ]);
});

test('one that no port boots is unfit, unless the node has such a port that documents leave alone', async () => {
  const [port] = realNode().ports;
  const given = realNode({ ports: [{ ...port, address: '52:54:00:aa:00:01', pxeEnabled: false }] });
  const refused = expect.stringMatching(/^its deploy would be refused: .* has no port with pxe_enabled/) as unknown;
  expect(await why(given)).toEqual([refused]);
  const nodeUuid = await enrol(given);
  expect(await why(given)).toEqual([refused]);
  await api.context.db
    .insert(ports)
    .values({ uuid: crypto.randomUUID(), nodeUuid, address: '52:54:00:aa:00:02', pxeEnabled: true });
  expect(await why(given)).toEqual([undefined]);
});

test('what its document can not have is said before it is enrolled', async () => {
  const first = realNode();
  const nodeUuid = await enrol(first);
  const address = '52:54:00:aa:00:03';
  await api.context.db.insert(ports).values({ uuid: crypto.randomUUID(), nodeUuid, address, pxeEnabled: true });
  const bad = realNode({ ports: [{ address, pxeEnabled: true }], credential: 'nobody' });
  expect(await why(bad)).toEqual([
    `port ${address} of its document belongs to node ${first.name}; its document names the credential 'nobody', which Baton does not have`,
  ]);
});

test('a checksum that is missing, or an image that machines may not fetch, is told with the field', async () => {
  const { image_checksum: _sum, ...unchecked } = image;
  expect(await why(realNode({ instanceInfo: unchecked }))).toEqual([
    expect.stringContaining('instance_info needs image_os_hash_algo'),
  ]);
});

test('the request is refused for what the dry run tells: a deployed node that Kubernetes does not have', async () => {
  const small = await startSmallCluster();
  const own = await openTestApi({ settings: { BATON_KUBECONFIG: small.kubeconfigFile } });
  const given = ['n1', 'stray', 'new'].map((name) => newSiteNode({ name }));
  for (const { name } of given) {
    const deployed = { provisionState: 'active' } as const;
    await addAvailableNode(own.context.db, name, name === 'new' ? {} : deployed);
  }
  const site = siteOf(given);
  const etcd = { etcdClusters: [], nodes: new Set(site.nodes.keys()), remarks: [] };
  const request = (more: object) =>
    requireTeardownPossible(own.context, {
      name: 'redeploy_server',
      parameters: { target_nodes: given.map(({ name }) => name), force: true, ...more },
      site,
      etcd,
    });
  await expect(request({})).rejects.toMatchObject({
    code: 'conflict',
    details: {
      reason: 'NodesNotForTeardown',
      nodes: { stray: expect.stringMatching(/has no node "stray" \(--param not-in-cluster-ok=true/) as unknown },
    },
  });
  await expect(request({ 'not-in-cluster-ok': true })).resolves.toBeUndefined();
  await Promise.all([own.close(), small.close()]);
});
