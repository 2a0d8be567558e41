import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { debian13 } from '#test/interop/debian-13.ts';
import { type Ironic, ironicBootUrl, startIronic } from '#test/interop/ironic.ts';
import { loggedErrors } from '#test/interop/logged-errors.ts';
import { type LabNode, type LabSite, startSite } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** The real Ironic 29.0 drives our agent in a QEMU machine through a whole direct deploy. */

interface NodeView {
  readonly provision_state: string;
  readonly target_provision_state: string | null;
  readonly power_state: string | null;
  readonly last_error: string | null;
}

let site: LabSite;
let ironic: Ironic;
let node: LabNode;

beforeAll(async () => {
  const tree = await debian13();
  site = await startSite({ nodes: [{ firmware: 'uefi', bmc: 'redfish' }], report: say, bootUrl: ironicBootUrl });
  ironic = await startIronic(site, tree);
  node = site.nodes[0] as LabNode;
});
afterAll(() => site?.close());

test('a direct deploy with a config drive boots', async () => {
  const image = await readDemoImage();
  const instanceUuid = randomUUID();
  const hostName = `interop-${site.directory.id}`;
  try {
    await enrol({
      image_source: `${ironic.imagesUrl}/${basename(image.urlPath)}`,
      image_disk_format: 'raw',
      image_os_hash_algo: 'sha256',
      image_os_hash_value: image.sha256,
    });
    // what Neutron would do: the machine's own system gets its network when it is started
    await plugInto(labAddresses.provisioning.vlan);
    node.machine.onPowerOn(async ([first]) => {
      if (first === 'disk') await plugInto(labAddresses.tenant.vlan);
    });
    const started = performance.now();
    await provision('active', {
      configdrive: {
        meta_data: { uuid: instanceUuid, instance_uuid: instanceUuid, hostname: hostName, name: hostName },
      },
    });
    await rest('active', 14 * 60_000);
    say(`active after ${seconds(started)}`);
    const beacon = await waitForBeacon(site, node, 8 * 60_000);
    say(`its own system answers after ${seconds(started)}`);
    expect(beacon).toMatchObject({ hostname: hostName, instanceUuid });
  } catch (error) {
    say([ironic.logFile, node.machine.serialLog].map(tail).join('\n'));
    throw error;
  }
});

test('Ironic has met nothing that it does not understand', () => {
  expect(loggedErrors(ironic.logFile)).toEqual([]);
});

async function enrol(instanceInfo: object): Promise<void> {
  const created = await ironic.api.call<{ readonly uuid: string }>('POST', '/v1/nodes', {
    name: node.name,
    driver: node.bmc.driver,
    driver_info: { ...node.bmc.driverInfo, ...ironic.ramdisk },
    properties: { capabilities: 'boot_mode:uefi' },
    instance_info: instanceInfo,
  });
  await ironic.api.call('POST', '/v1/ports', { node_uuid: created.uuid, address: node.machine.mac });
  await provision('manage');
  await rest('manageable', 180_000);
  await provision('provide');
  await rest('available', 180_000);
}

function plugInto(vlan: number): Promise<string> {
  return site.network
    .vsctl('clear', 'Port', node.name, 'trunks')
    .then(() => site.network.vsctl('set', 'Port', node.name, 'vlan_mode=access', `tag=${vlan}`, 'protected=false'));
}

async function provision(target: string, more: object = {}): Promise<void> {
  await ironic.api.call('PUT', `/v1/nodes/${node.name}/states/provision`, { target, ...more });
}

async function rest(state: string, timeoutMs: number): Promise<NodeView> {
  let seen = '';
  const view = await waitUntil(
    `${node.name} to become ${state}`,
    async () => {
      const now = await ironic.api.call<NodeView>('GET', `/v1/nodes/${node.name}`);
      if (now.provision_state !== seen) say(`Ironic: ${now.provision_state}`);
      seen = now.provision_state;
      return now.target_provision_state === null || seen.endsWith('failed') ? now : undefined;
    },
    { timeoutMs, everyMs: 500, signal: site.closing },
  );
  expect(view).toMatchObject({ provision_state: state, last_error: null });
  return view;
}

function seconds(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}

function tail(file: string): string {
  const text = stripVTControlCharacters(readFileSync(file, 'utf8')).replaceAll('\r', '');
  return `--- ${file}\n${text.split('\n').slice(-60).join('\n')}`;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
