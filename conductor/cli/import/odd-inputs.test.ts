import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeMissingLogin } from '#conductor/cli/import/prepare-fleet.ts';
import { readMaas } from '#conductor/cli/import/read-maas.ts';
import { readManifests } from '#conductor/cli/import/read-manifests.ts';
import { readMetal3 } from '#conductor/cli/import/read-metal3.ts';
import { readTinkerbell } from '#conductor/cli/import/read-tinkerbell.ts';

/** Odd input is refused, or keeps a node from being managed, by the name of the field that is wrong. */

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-odd-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function manifests(...objects: object[]) {
  const file = join(directory, 'objects.yaml');
  await writeFile(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  return readManifests([file]);
}

const secret = (more: object) => ({ kind: 'Secret', metadata: { name: 's', namespace: 'x' }, ...more });
const whole = secret({ stringData: { username: 'u', password: 'p' } });

describe('a host of metal3', () => {
  const read = async (spec: object, status: object = {}, login: object = whole) =>
    readMetal3(
      await manifests(
        {
          kind: 'BareMetalHost',
          metadata: { name: 'h', namespace: 'x' },
          spec: { bmc: { address: 'redfish://h/s', credentialsName: 's' }, ...spec },
          status,
        },
        login,
      ),
    ).nodes[0];

  test.each([
    [{ bmc: { credentialsName: 's' } }, {}, 'spec.bmc.address is missing'],
    [{ bootMACAddress: '52:54' }, {}, 'spec.bootMACAddress: "52:54" is no MAC address'],
    [
      { networkInterfaces: [{ name: 'a' }, { macAddress: 'x' }] },
      {},
      'spec.networkInterfaces[1].macAddress: "x" is no MAC address',
    ],
    [
      {},
      { operationalStatus: 'servicing', provisioning: { state: 'provisioned' } },
      'it is servicing there: let that end, or abort it',
    ],
  ])('%j %j is refused', async (spec, status, words) => {
    expect((await read(spec, status))?.refused).toBe(words);
  });

  test.each([
    [{ bmc: { address: 'redfish://h/s' } }, whole, 'no Secret is named'],
    [{}, secret({ metadata: { name: 't', namespace: 'x' } }), 'Secret x/s is not in it'],
    [{}, secret({ stringData: { password: 'p' } }), 'Secret x/s has no username'],
    [
      {},
      secret({ data: { username: 'dQ==', password: 'in clear!' } }),
      'Secret x/s: data.password must be base64 (stringData has plain text)',
    ],
  ])('%j with %j stays in enroll', async (spec, login, words) => {
    const node = await read(spec, { provisioning: { state: 'available' } }, login);
    expect(node?.left).toEqual([`the BMC's login (spec.bmc.credentialsName: ${words})`]);
    expect(node && describeMissingLogin(node)).toContain("its BMC can't be asked");
  });
});

describe('Hardware of Tinkerbell', () => {
  const connection = { host: '192.0.2.9', credentialsRef: { name: 's', namespace: 'x' } };
  const read = async (spec: object) =>
    readTinkerbell(
      await manifests(
        { apiVersion: 'tinkerbell.org/v1alpha2', kind: 'Hardware', metadata: { name: 'h', namespace: 'x' }, spec },
        whole,
      ),
    ).nodes[0];

  test.each([
    [{}, 'spec.bmc.connection is missing'],
    [{ bmc: { connection: { ...connection, host: '' } } }, 'spec.bmc.connection.host is missing'],
    [
      { bmc: { connection: { ...connection, providerOptions: { rpc: { consumerURL: 'http://h' } } } } },
      'spec.bmc.connection.providerOptions.rpc: Baton has no driver for it (Redfish and IPMI it has)',
    ],
    [
      { bmc: { connection: { ...connection, host: 'a b' } } },
      'spec.bmc.connection.host: "ipmi://a b" is not understood: it must be like ipmi://192.0.2.9:623, [2001:db8::9]',
    ],
    [{ bmc: { connection }, networkInterfaces: { '52:54': {} } }, 'spec.networkInterfaces: "52:54" is no MAC address'],
  ])('%j is refused', async (spec, words) => {
    expect((await read(spec))?.refused).toBe(words);
  });

  test('has its Secret in the namespace that it names', async () => {
    const other = { ...connection, credentialsRef: { name: 's', namespace: 'y' } };
    expect((await read({ bmc: { connection } }))?.left).toEqual([]);
    expect((await read({ bmc: { connection: other } }))?.left).toEqual([
      "the BMC's login (spec.bmc.connection.credentialsRef: Secret y/s is not in it)",
    ]);
  });
});

describe('a machine of MAAS', () => {
  const read = (machine: object, power: object | undefined) =>
    readMaas(
      JSON.stringify([{ system_id: 'a', hostname: 'm1', status_name: 'Ready', power_type: 'redfish', ...machine }]),
      power && JSON.stringify({ a: power }),
    ).nodes[0];
  const login = { power_address: 'h', power_user: 'u', power_pass: 'p' };

  test.each([
    [
      { power_type: 'ipmi' },
      { ...login, k_g: 'secret' },
      'k_g: Baton opens no session with a Kg key: clear it at the BMC',
    ],
    [{ status_name: 'Commissioning' }, login, 'it is Commissioning there: let that end, or abort it'],
    [{ status_name: undefined }, login, 'it is without a status_name there: let that end, or abort it'],
    [
      { interface_set: [{ type: 'physical', name: 'eth0', mac_address: 'x' }] },
      login,
      'interface_set[0].mac_address: "x" is no MAC address',
    ],
  ])('%j with %j is refused', (machine, power, words) => {
    expect(read(machine, power)?.refused).toBe(words);
  });

  test.each([
    [{}, undefined, 'give --power'],
    [{}, {}, 'give --power that has its system_id'],
    [{}, { ...login, power_pass: '' }, 'power_pass of --power is empty'],
    [{ power_type: 'ipmi' }, { mac_address: '52:54:00:00:00:01' }, 'power_address of --power is empty'],
  ])('%j with %j stays in enroll', (machine, power, words) => {
    const node = read(machine, power);
    expect(node?.left).toEqual([`the BMC's login (${words})`]);
    expect(node && describeMissingLogin(node)).toContain("its BMC can't be asked");
  });

  test('that has failed may still run its system, which the table says', () => {
    const node = read({ status_name: 'Failed testing', osystem: 'ubuntu' }, login);
    expect(node).toMatchObject({ goal: 'enroll', left: ['its ubuntu, which may run (--adopt m1, if it does)'] });
    expect(read({ status_name: 'Releasing failed', osystem: '' }, login)).toMatchObject({ goal: 'enroll', left: [] });
    expect(read({ status_name: 'Reserved' }, login)?.goal).toBe('manageable');
  });
});
