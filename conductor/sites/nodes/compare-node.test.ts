import { describe, expect, test } from 'vitest';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import {
  compareNode,
  describedDocuments,
  designHash,
  type KnownNode,
  nameChanges,
} from '#conductor/sites/nodes/compare-node.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

const document: SiteNode = {
  ...siteNode,
  driver: 'redfish',
  rack: 'r1',
  tags: ['control'],
  labels: { zone: 'a' },
  properties: { capabilities: 'boot_mode:bios', root_device: { name: '/dev/sda' } },
  ports: [{ address: '52:54:00:00:00:01', pxeEnabled: true, localLinkConnection: { switch_id: 's', port_id: 'p' } }],
  traits: ['CUSTOM_A'],
};
const driverInfo = { redfish_address: 'http://bmc', redfish_username: 'admin', redfish_password: 'secret' };

const port = (more: Partial<PortRow> = {}): PortRow => ({
  id: 1,
  uuid: 'port-1',
  nodeUuid: 'node-1',
  portgroupUuid: null,
  address: '52:54:00:00:00:01',
  name: null,
  description: null,
  vendor: null,
  category: null,
  availableForDynamicPortgroup: true,
  extra: {},
  localLinkConnection: { port_id: 'p', switch_id: 's' },
  pxeEnabled: true,
  physicalNetwork: null,
  isSmartnic: false,
  createdAt: new Date(0),
  updatedAt: null,
  ...more,
});

const node: KnownNode = {
  uuid: 'node-1',
  driver: 'redfish',
  driverInfo,
  networkInterface: 'noop',
  deployInterface: null,
  interfaces: { raid: 'redfish', rescue: 'no-rescue' },
  ...describedDocuments(document),
  resourceClass: 'big',
  conductorGroup: '',
  raidConfig: {},
  targetRaidConfig: {},
};

const compare = (
  change: Partial<SiteNode> = {},
  known: Partial<KnownNode> = {},
  ports: readonly PortRow[] = [port()],
) => compareNode({ ...document, ...change }, driverInfo, { node: { ...node, ...known }, ports, traits: ['CUSTOM_A'] });
const names = (...given: Parameters<typeof compare>) => nameChanges(compare(...given));

test('a node that is as its document says needs nothing', () => {
  expect(names()).toEqual([]);
});

test('what the document does not say is left as it is', () => {
  expect(names({}, { properties: { ...node.properties, cpus: 4 }, extra: { ...node.extra, note: 'x' } })).toEqual([]);
  expect(names({}, {}, [port(), port({ uuid: 'port-2', address: '52:54:00:00:00:02' })])).toEqual([]);
});

describe('driver_info', () => {
  test('is written whole: a password goes to another address only when it is written again', () => {
    const { patch } = compare({}, { driverInfo: { ...driverInfo, redfish_address: 'http://old' } });
    expect(patch.map(({ path }) => path)).toEqual([
      '/driver_info/redfish_address',
      '/driver_info/redfish_username',
      '/driver_info/redfish_password',
    ]);
  });

  test('is named without its keys', () => {
    expect(names({}, { driverInfo: {} })).toEqual(['driver_info']);
  });
});

test('another driver: what the old one reached the BMC by is removed, what both know is not', () => {
  const old = { ...driverInfo, redfish_verify_ca: false, agent_x: 1, fast_track: true };
  const { patch } = compareNode(
    { ...document, driver: 'ipmi' },
    { ipmi_address: 'bmc' },
    {
      node: { ...node, driverInfo: old },
      ports: [port()],
      traits: ['CUSTOM_A'],
    },
  );
  const changed = patch.map(({ op, path }) => `${op} ${path}`).sort();
  // a choice stays that the new driver has, too
  expect(changed).not.toContain('remove /rescue_interface');
  expect(changed).toEqual(expect.arrayContaining(['remove /raid_interface', 'remove /power_interface']));
  expect(changed.filter((change) => !change.endsWith('_interface'))).toEqual([
    'add /driver',
    'add /driver_info/ipmi_address',
    'remove /driver_info/redfish_address',
    'remove /driver_info/redfish_password',
    'remove /driver_info/redfish_username',
    'remove /driver_info/redfish_verify_ca',
  ]);
});

describe('what the machine itself has told since', () => {
  test('capabilities beside those of the document stay, one of them wins', () => {
    const grown = { ...node.properties, capabilities: 'raid_level:1,boot_mode:bios' };
    expect(names({}, { properties: grown })).toEqual([]);
    const { patch } = compare({}, { properties: { ...grown, capabilities: 'raid_level:1,boot_mode:uefi' } });
    expect(patch).toEqual([{ op: 'add', path: '/properties/capabilities', value: 'raid_level:1,boot_mode:bios' }]);
  });

  test('the root device of a RAID that was built stays', () => {
    const built = {
      raidConfig: { logical_disks: [{}] },
      properties: { ...node.properties, root_device: { wwn: 'x' } },
    };
    expect(names({}, built)).toEqual([]);
    expect(names({}, { properties: built.properties })).toEqual(['properties/root_device']);
  });
});

describe('ports', () => {
  test('one that is missing is added, one that is plugged in elsewhere is changed', () => {
    expect(compare({}, {}, []).newPorts).toEqual(document.ports);
    const [change] = compare({}, {}, [port({ localLinkConnection: {}, pxeEnabled: false })]).portChanges;
    expect(change?.patch.map(({ path }) => path)).toEqual(['/pxe_enabled', '/local_link_connection']);
  });

  test('one that is another node’s is taken', () => {
    expect(compare({}, {}, [port({ nodeUuid: 'node-2' })])).toMatchObject({
      taken: [{ address: '52:54:00:00:00:01', nodeUuid: 'node-2' }],
      newPorts: [],
      portChanges: [],
    });
  });
});

test('rack, tags, labels and class are apart: relabelling changes no more than those', () => {
  const { patch, relabelling, traits } = compare({
    rack: 'r2',
    tags: ['worker'],
    labels: {},
    resourceClass: 'small',
    traits: ['CUSTOM_B'],
  });
  expect(patch).toEqual([]);
  expect(relabelling.map(({ path }) => path)).toEqual([
    '/properties/rack',
    '/extra/tags',
    '/extra/labels',
    '/resource_class',
  ]);
  expect(traits).toEqual(['CUSTOM_B']);
});

test('keys with slashes are escaped', () => {
  const { patch } = compare({ properties: { ...document.properties, 'a/b~c': 1 } });
  expect(patch).toEqual([{ op: 'add', path: '/properties/a~1b~0c', value: 1 }]);
});

const site = { plugins: [] };
const documented = { ...siteNode, instanceInfo: { image_source: 'http://i/a', image_checksum: 'x' } };

test('the order of keys does not count', () => {
  const turned = { ...documented, instanceInfo: { image_checksum: 'x', image_source: 'http://i/a' } };
  expect(designHash(site, turned)).toBe(designHash(site, documented));
});

test('rack, labels and, without plugins, tags do not count', () => {
  expect(designHash(site, { ...documented, rack: 'r9', labels: { a: 'b' }, tags: ['x'] })).toBe(
    designHash(site, documented),
  );
});

test('image, plugins and the roles that they go by do', () => {
  const plugins = { plugins: [{ name: 'ntp', version: '1' }] };
  const hashes = [
    designHash(site, documented),
    designHash(site, { ...documented, instanceInfo: { image_source: 'http://i/b' } }),
    designHash(plugins, documented),
    designHash(plugins, { ...documented, tags: ['control'] }),
    designHash({ plugins: [{ name: 'ntp', version: '2' }] }, documented),
    designHash({ plugins: [{ name: 'ntp', version: '1', content: 'other' }] }, documented),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});
