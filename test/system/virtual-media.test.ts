import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { parametersBytes, secretsBytes } from '#shared/wire/boot-medium.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';
import { makeBootMediumDirectory, mediumParts } from '#test/support/boot-medium-directory.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Whole flows of machines that boot by virtual media: a conductor, a Redfish BMC and a real agent over real HTTP. */

const { head, kernel, between, ramdisk } = mediumParts;
let directory: string;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let count = 0;

beforeAll(async () => {
  directory = await makeBootMediumDirectory();
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_RAMDISK_DIR: directory } });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:b4:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  return () => machine.close();
});

const networkData = (mac: string) => ({
  links: [{ id: 'nic0', type: 'phy', ethernet_mac_address: mac }],
  networks: [{ link: 'nic0', type: 'ipv4', ip_address: '192.0.2.20', netmask: '255.255.255.0' }],
});

async function enrol(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await enrolSimulatedNode(operator, machine, name, {
    boot_interface: 'redfish-virtual-media',
    driver_info: { ...machine.driverInfo, external_http_url: conductor.url },
    network_data: networkData(machine.mac),
    ...more,
  });
}

/** The addresses of the CDs that were put in, in order. */
function inserted(): string[] {
  return machine.bmc.requests.flatMap(({ method, path, body }) =>
    method === 'POST' && path.endsWith('InsertMedia') ? [(JSON.parse(body) as { readonly Image: string }).Image] : [],
  );
}

/** Lists what was asked of the BMC, in order, without what only reads. */
function asked(): string[] {
  return machine.bmc.requests.flatMap(({ method, path, body }) => {
    if (method === 'GET' || path.endsWith('/Sessions')) return [];
    const boot = /"BootSourceOverrideTarget":"(\w+)"/.exec(body)?.[1];
    return [boot ?? /"ResetType":"(\w+)"/.exec(body)?.[1] ?? path.split('.').at(-1) ?? ''];
  });
}

test('a deploy boots from a CD with its own token and address, which is ejected before the instance boots', async () => {
  await enrol('cd');
  await operator.provision('cd', 'active');
  const cd = await expect
    .poll(() => inserted()[0])
    .toBeTypeOf('string')
    .then(() => inserted()[0] ?? '');
  expect(cd).toMatch(new RegExp(`^${conductor.url}/media/[0-9a-f-]{36}/[\\w-]{43}\\.iso$`));
  await operator.waitForState('cd', 'active');
  expect(asked()).toEqual(['InsertMedia', 'Cd', 'On', 'Hdd', 'EjectMedia', 'ForceOff', 'On']);
  expect(machine.disk).toContain('write_image demo.raw');
  // the boot is over: its CD is gone
  expect((await fetch(cd)).status).toBe(404);
});

test("a deploy boots from a second drive, and leaves a person's disc in the first one", async () => {
  const disc = { image: '//client/os.iso', via: 'Applet', isKept: true } as const;
  const types = ['CD', 'DVD'];
  machine.bmc.quirks.slots = [
    { id: 'CD1', types, holds: disc },
    { id: 'CD2', types },
  ];
  machine.bmc.quirks.media = { shows: 'unread', needs: ['TransferProtocolType', 'UserName'], busyAfterEject: 1 };
  await enrol('second');
  await operator.provision('second', 'active');
  await operator.waitForState('second', 'active');
  expect(machine.disk).toContain('write_image demo.raw');
  const slots = machine.bmc.requests.flatMap(({ method, path }) =>
    method === 'POST' ? (/VirtualMedia\/(\w+)\/.*Media$/.exec(path)?.[1] ?? []) : [],
  );
  // three times with more of what it wants, then the ejection
  expect(slots).toEqual(['CD2', 'CD2', 'CD2', 'CD2']);
  const drives = await operator.call('GET', '/v1/nodes/second/vmedia');
  expect(drives).toMatchObject([{ image: disc.image }, { image: null, inserted: false }]);
  await operator.provision('second', 'deleted');
  await operator.waitForState('second', 'available');
});

test.each(vendorNames.filter((vendor) => vendors[vendor].virtualMedia !== 'none'))(
  'a deploy boots from the virtual CD of a machine of %s, and leaves its drives empty',
  async (vendor) => {
    Object.assign(machine.bmc.quirks, vendors[vendor]);
    const name = `of-${vendor.toLowerCase()}`;
    await enrol(name);
    await operator.provision(name, 'active');
    await operator.waitForState(name, 'active');
    expect(machine.disk).toContain('write_image demo.raw');
    const drives = (await operator.call('GET', `/v1/nodes/${name}/vmedia`)) as unknown as readonly unknown[];
    expect(drives.length).toBeGreaterThan(0);
    expect(drives).toEqual(drives.map(() => expect.objectContaining({ inserted: false }) as unknown));
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
  },
);

test("the CD has this boot's parameters, is served in ranges, and by its name alone", async () => {
  machine.faults.bootsNothing = true;
  await enrol('ranges');
  await operator.provision('ranges', 'active');
  await expect.poll(() => asked().at(-1)).toBe('On');
  const cd = inserted()[0] ?? '';
  const whole = Buffer.from(await (await fetch(cd)).arrayBuffer());
  const start = head.length + parametersBytes + secretsBytes;
  const parameters = whole
    .subarray(head.length, start - secretsBytes)
    .toString('latin1')
    .trimEnd();
  expect(parameters).toMatch(/^set baton_parameters='ipa-api-url=\S+ .*'$/);
  // no console shows what the kernel and GRUB don't see
  expect(parameters).not.toContain('ipa-agent-token');
  const secrets = whole.subarray(start - secretsBytes, start).toString('latin1');
  expect(secrets).toMatch(/^070701.*etc\/baton\/boot-secrets\0+ipa-agent-token=[\w-]{43}\n/s);
  expect(parameters).toContain(` baton.address=${machine.mac},192.0.2.20/24,`);
  expect(whole.toString('latin1')).toBe(
    head + whole.subarray(head.length, start).toString('latin1') + kernel + between + ramdisk,
  );

  const range = (from: number, to: number) => fetch(cd, { headers: { range: `bytes=${from}-${to}` } });
  for (const [from, to] of [
    [0, 0],
    [head.length - 3, head.length + 9],
    [start - 10, start + 10],
    [start - secretsBytes - 10, start - 10],
    [start + kernel.length - 1, start + kernel.length + between.length],
  ] as const) {
    const part = await range(from, to);
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(whole.subarray(from, to + 1));
  }

  expect((await fetch(cd, { method: 'HEAD' })).headers.get('content-length')).toBe(String(whole.length));
  for (const wrong of [cd.replace(/.\.iso$/, '-.iso'), cd.replace(/[0-9a-f-]{36}/, crypto.randomUUID())]) {
    expect((await fetch(wrong)).status).toBe(404);
  }
  // a caller over the network learns nothing, and gets no token with it
  const lookUp = async (token: string) =>
    fetch(`${conductor.url}/v1/lookup?addresses=${machine.mac}`, {
      headers: { 'X-OpenStack-Ironic-API-Version': '1.62', 'X-Baton-Boot-Token': token },
    });
  expect((await lookUp('x'.repeat(43))).status).toBe(404);
  const answer = await lookUp(/ipa-agent-token=(\S+)/.exec(secrets)?.[1] ?? '');
  expect(await answer.json()).toMatchObject({ config: { agent_token: '******', agent_token_required: true } });
  await operator.provision('ranges', 'deleted');
});

test('a conductor that dies once the machine is on its way boots it again, from another CD', async () => {
  await enrol('dies');
  conductor.atCheckpoints((name) => (name === 'acted' && conductor.deaths() === 0 ? 'die' : 'go on'));
  await operator.provision('dies', 'active');
  await expect.poll(() => conductor.deaths()).toBe(1);
  await conductor.reborn();
  await operator.waitForState('dies', 'active');
  const [first, second, ...more] = inserted();
  expect([first === second, more.length]).toEqual([false, 0]);
  expect(machine.disk).toContain('write_image demo.raw');
});

test('while a flow waits for the ramdisk, nobody takes its CD', async () => {
  machine.faults.bootsNothing = true;
  await enrol('taken');
  await operator.provision('taken', 'active');
  const node = { provision_state: 'wait call-back', reservation: null };
  await expect.poll(() => operator.node('taken')).toMatchObject(node);
  const path = '/v1/nodes/taken/vmedia';
  const body = { device_type: 'cdrom', image_url: 'http://192.0.2.1/data.iso' };
  for (const asking of [() => operator.call('POST', path, body), () => operator.call('DELETE', path)]) {
    await expect(asking()).rejects.toThrow(/'vmedia' is not possible on node \S+ while its deploy is under way/);
  }
  expect(asked()).toEqual(['InsertMedia', 'Cd', 'On']);
  await operator.provision('taken', 'deleted');
  await operator.waitForState('taken', 'available');
  await operator.call('POST', path, body);
  expect(inserted().at(-1)).toBe(body.image_url);
});

test("network_data that the ramdisk can't honour is refused before anything is touched", async () => {
  await enrol('bad', { network_data: { ...networkData(machine.mac), links: [{ id: 'nic0', type: 'bond' }] } });
  await expect(operator.provision('bad', 'active')).rejects.toThrow(
    'boot: network_data.links.0.bond_links must name the cards of the bond',
  );
  expect(asked()).toEqual([]);
});

test('firmware that boots by HTTP is given the same as an ISO, while it is to boot the ramdisk, and iPXE else', async () => {
  const firmware = (mac: string, method = 'GET') =>
    fetch(`${conductor.url}/boot/snponly.efi?mac=${mac.replaceAll(':', '-')}`, { method });
  machine.faults.bootsNothing = true;
  await enrolSimulatedNode(operator, machine, 'by-http', { boot_interface: 'http' });
  expect((await firmware(machine.mac)).status).toBe(404);
  await operator.provision('by-http', 'active');
  await expect.poll(() => asked()).toEqual(['UefiHttp', 'On']);
  const size = await firmware(machine.mac, 'HEAD');
  expect([size.status, size.headers.get('content-type')]).toEqual([200, 'application/vnd.efi-iso']);
  const iso = Buffer.from(await (await firmware(machine.mac)).arrayBuffer()).toString('latin1');
  expect(iso.length).toBe(Number(size.headers.get('content-length')));
  expect(iso).toMatch(new RegExp(`set baton_parameters='ipa-api-url=\\S+ .* BOOTIF=${machine.mac}`));
  expect(iso).toMatch(/ipa-agent-token=[\w-]{43}\n/);
  expect(iso).toContain(kernel);
  expect((await firmware('52:54:00:ff:ff:ff')).headers.get('content-type')).not.toContain('iso');
  await operator.provision('by-http', 'deleted');
});

test('a BMC that offers no HTTP boot has the machine boot from the network', async () => {
  machine.bmc.quirks.bootTargets = ['None', 'Pxe', 'Hdd'];
  await enrolSimulatedNode(operator, machine, 'by-network', { boot_interface: 'http' });
  await operator.provision('by-network', 'active');
  await operator.waitForState('by-network', 'active');
  expect(asked().slice(0, 2)).toEqual(['Pxe', 'On']);
});
