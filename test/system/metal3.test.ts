import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { makeBootMediumDirectory } from '#test/support/boot-medium-directory.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { metal3Host } from '#test/support/metal3-host.ts';

/** metal3's baremetal-operator, call by call, against a conductor, Redfish BMCs and real agents. */

let directory: string;
let conductor: ConductorInProcess;
let machine: SimulatedNode;
let count = 0;

beforeAll(async () => {
  directory = await makeBootMediumDirectory();
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_RAMDISK_DIR: directory } });
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:b8:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac,
    inspects: true,
    deploySteps: { install_coreos: 0 },
  });
  machine.bmc.quirks.taskPolls = 0;
  return () => machine.close();
});

function hostOf(access: 'redfish' | 'idrac') {
  const driverInfo = {
    ...machine.driverInfo,
    redfish_system_id: '/redfish/v1/Systems/1',
    redfish_verify_ca: false,
    external_http_url: conductor.url,
  };
  return metal3Host(conductor.url, { name: `host-${count}`, mac: machine.mac, access, driverInfo });
}

/** The images that its BMC was told to show, without the conductor's own CDs. */
const shown = () =>
  machine.bmc.requests.flatMap(({ path, body }) => {
    const image = path.endsWith('InsertMedia') ? (JSON.parse(body) as { readonly Image: string }).Image : undefined;
    return image === undefined || image.includes('/media/') ? [] : [image];
  });
const overrides = () =>
  machine.bmc.requests.flatMap(({ body }) => {
    const [, target] = /"BootSourceOverrideTarget":"(\w+)"/.exec(body) ?? [];
    const [, enabled] = /"BootSourceOverrideEnabled":"(\w+)"/.exec(body) ?? [];
    return target === undefined ? [] : [`${target} ${enabled ?? 'as before'}`];
  });

const image = {
  instanceInfo: {
    ...demoInstance,
    image_disk_format: 'raw',
    root_device: { name: 's== /dev/sda' },
    boot_iso: null,
    image_checksum: null,
  },
};
const noImage = { image_source: null, image_os_hash_algo: null, image_os_hash_value: null, image_checksum: null };
const liveIso = {
  deployInterface: 'ramdisk',
  instanceInfo: { ...noImage, boot_iso: 'http://192.0.2.1/live.iso' },
} as const;
const configdrive = {
  meta_data: { uuid: 'b0a1', 'metal3-namespace': 'metal3', name: 'host' },
  network_data: {},
  user_data: '#cloud-config\n',
};
const preparation = [
  { interface: 'raid', step: 'delete_configuration' },
  { interface: 'raid', step: 'create_configuration' },
  { interface: 'bios', step: 'apply_configuration', args: { settings: [{ name: 'NumCores', value: 4 }] } },
  {
    interface: 'firmware',
    step: 'update',
    args: { settings: [{ component: 'bios', url: 'http://192.0.2.7/bios-2.1.0.bin' }] },
  },
];
const volumes = {
  logical_disks: [{ size_gb: 100, raid_level: '1', disk_type: 'ssd', volume_name: 'root', is_root_volume: true }],
};

test.each(['redfish', 'idrac'] as const)('a host by %s virtual media, from nothing to nothing', async (access) => {
  const host = hostOf(access);
  expect(await host.init()).toMatchObject({ version: '1.95', drivers: expect.any(Number) as number });
  const networkData = {
    links: [{ id: 'nic0', type: 'phy', ethernet_mac_address: machine.mac }],
    networks: [{ link: 'nic0', type: 'ipv4', ip_address: '192.0.2.20', netmask: '255.255.255.0' }],
  };
  expect(await host.register(networkData)).toMatchObject({
    provision_state: 'manageable',
    target_provision_state: null,
    last_error: null,
    network_data: networkData,
    automated_clean: true,
    driver_info: { redfish_password: '******', deploy_iso: 'http://192.0.2.1/ipa.iso' },
  });
  const { inventory, plugin_data: plugins } = (await host.inspect()) as Record<string, Record<string, unknown>>;
  expect(inventory).toMatchObject({
    interfaces: [{ name: 'eth0', mac_address: machine.mac, speed_mbps: 10_000, pci_address: '0000:00:05.0' }],
    disks: [{ name: '/dev/sda', rotational: false }],
    cpu: { architecture: 'x86_64', count: 8, flags: [] },
    memory: { physical_mb: 16_384 },
    system_vendor: { product_name: 'Simulated node', serial_number: machine.mac },
    hostname: expect.any(String) as string,
  });
  expect(plugins).toMatchObject({ all_interfaces: { eth0: { pxe_enabled: expect.any(Boolean) as boolean } } });

  // HostFirmwareSettings with their schema, HostFirmwareComponents
  const bios = (await host.ask('GET', `/v1/nodes/${host.uuid()}/bios?detail=true`))['bios'] as { name: string }[];
  expect(bios.find(({ name }) => name === 'NumCores')).toMatchObject({
    value: expect.any(String) as string,
    attribute_type: 'Integer',
    allowable_values: null,
    lower_bound: expect.any(Number) as number,
    upper_bound: expect.any(Number) as number,
    read_only: false,
  });
  const components = async () => (await host.ask('GET', `/v1/nodes/${host.uuid()}/firmware`))['firmware'];
  expect(await components()).toContainEqual(
    expect.objectContaining({ component: 'bios', initial_version: '1.0.0', last_version_flashed: null }),
  );

  expect(await host.prepare(preparation, volumes)).toMatchObject({
    target_raid_config: volumes,
    raid_config: { logical_disks: [{ raid_level: '1', size_gb: 100 }] },
  });
  const simple = (await host.ask('GET', `/v1/nodes/${host.uuid()}/bios`))['bios'];
  expect(simple).toContainEqual(expect.objectContaining({ name: 'NumCores', value: '4' }));
  expect(await components()).toContainEqual(
    expect.objectContaining({ component: 'bios', current_version: '2.1.0', last_version_flashed: '2.1.0' }),
  );
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'remove', path: '/properties/root_device' }]);

  const active = await host.provision(image, { configdrive });
  expect(active).toMatchObject({ power_state: 'power on', instance_info: demoInstance, last_error: null });
  expect((active['instance_info'] as Record<string, unknown>)['image_checksum']).toBeUndefined();
  expect(machine.disk).toContain('write_image demo.raw with config drive');
  expect(machine.state().runs).toBe('instance');

  const setting = {
    interface: 'bios',
    step: 'apply_configuration',
    args: { settings: [{ name: 'NumCores', value: 6 }] },
  };
  await host.service([setting]);
  expect(await host.power('soft power off')).toMatchObject({ power_state: 'power off' });
  expect(await host.power('power on')).toMatchObject({ power_state: 'power on' });
  expect(await host.deprovision(false)).toMatchObject({ instance_uuid: null, instance_info: {} });
  expect(await host.delete()).toBe(404);
});

test('a live ISO boots and boots again, nothing is written; then an image takes its place', async () => {
  const host = hostOf('redfish');
  await host.init();
  await host.register(undefined, 'ramdisk');
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'add', path: '/automated_clean', value: false }]);
  const active = await host.provision(liveIso);
  expect(active).toMatchObject({
    deploy_interface: 'ramdisk',
    instance_info: { boot_iso: 'http://192.0.2.1/live.iso' },
  });
  expect([shown(), machine.state(), machine.disk]).toEqual([
    ['http://192.0.2.1/live.iso'],
    { power: 'on', runs: 'instance' },
    [],
  ]);
  expect(overrides().at(-1)).toBe('Cd Continuous');
  await host.power('power off');
  await host.power('power on');
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });

  await host.deprovision(false);
  const { body } = await host.send('GET', `/v1/nodes/${host.uuid()}/vmedia`);
  expect(body).toEqual([{ media_types: ['CD', 'DVD'], inserted: false, image: null }]);
  expect(await host.provision(image)).toMatchObject({ deploy_interface: 'direct' });
  expect(machine.disk).toEqual(expect.arrayContaining(['write_image demo.raw']));
});

test.each([
  ['Never', 'Cd Once'],
  [false, 'Cd Continuous'],
] as const)('an ISO is booted once, or from now on: force_persistent_boot_device %s', async (asked, override) => {
  const host = hostOf('redfish');
  await host.init();
  await host.register();
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'add', path: '/automated_clean', value: false }]);
  await host.provision({ ...liveIso, driverInfo: { force_persistent_boot_device: asked } });
  expect(overrides().at(-1)).toBe(override);
});

test('a custom deploy runs the step that it names, and writes no image by itself', async () => {
  const host = hostOf('redfish');
  await host.init();
  await host.register();
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'add', path: '/automated_clean', value: false }]);
  const deploy_steps = [{ interface: 'deploy', step: 'install_coreos', args: {}, priority: 80 }];
  const custom = { deployInterface: 'custom-agent', instanceInfo: { ...noImage, boot_iso: null } } as const;
  const active = await host.provision(custom, { configdrive, deploy_steps });
  expect(active).toMatchObject({ deploy_interface: 'custom-agent' });
  expect(machine.disk).toEqual(['install_coreos']);
  expect(overrides().at(-1)).toBe('Hdd Continuous');
  expect(machine.state().runs).toBe('instance');
});

test('a data image beside the instance', async () => {
  const host = hostOf('redfish');
  await host.init();
  await host.register();
  const vmedia = `/v1/nodes/${host.uuid()}/vmedia`;
  await host.ask('POST', vmedia, { device_type: 'cdrom', image_url: 'http://192.0.2.1/data.iso' });
  const drive = { media_types: ['CD', 'DVD'], inserted: true, image: 'http://192.0.2.1/data.iso' };
  expect((await host.send('GET', vmedia)).body).toEqual([drive]);
  await host.ask('DELETE', `${vmedia}?device_types=cdrom`);
  expect((await host.send('GET', vmedia)).body).toEqual([{ ...drive, inserted: false, image: null }]);
  for (const [wrong, text] of [
    [{ device_type: 'floppy', image_url: 'http://192.0.2.1/data.img' }, 'cdrom'],
    [{ device_type: 'cdrom', image_url: 'nfs://192.0.2.1/data.iso' }, 'image_url'],
    [{ device_type: 'cdrom' }, 'image_url'],
  ] as const) {
    const answer = await host.send('POST', vmedia, wrong);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(text)]);
  }
});

/** Asks for one subscription as gophercloud does; `fetch` sends no body with it. */
function getWithBody(path: string, body: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': sent.length };
    request(`${conductor.url}${path}`, { method: 'GET', headers }, (answer) => {
      void text(answer)
        .then((answered) => JSON.parse(answered) as unknown)
        .then(resolve, reject);
    })
      .on('error', reject)
      .end(sent);
  });
}

test.each(['redfish', 'idrac'] as const)(
  "a BMCEventSubscription is made and ended at the host's BMC: %s",
  async (access) => {
    const host = hostOf(access);
    await host.init();
    await host.register();
    const passthru = `/v1/nodes/${host.uuid()}/vendor_passthru?method=`;
    const wanted = {
      Destination: 'https://192.0.2.9/events',
      Context: 'any',
      HttpHeaders: [{ Authorization: 'hush' }],
    };
    const made = await host.ask('POST', `${passthru}create_subscription`, wanted);
    const { HttpHeaders: _, ...shown } = wanted;
    expect(made).toEqual({ Id: '1', Protocol: 'Redfish', EventTypes: ['Alert'], ...shown });
    expect(await getWithBody(`${passthru}get_subscription`, { id: '1' })).toEqual(made);
    const posted = machine.bmc.requests.find(
      ({ method, path }) => method === 'POST' && path.endsWith('/Subscriptions'),
    );
    expect(JSON.parse(posted?.body ?? '{}')).toMatchObject(wanted);
    await host.ask('DELETE', `${passthru}delete_subscription`, { id: '1' });
    expect(await host.ask('GET', `${passthru}get_all_subscriptions`)).toMatchObject({ Members: [] });
  },
);

test('failures are read, and tried again as it does', async () => {
  const host = hostOf('redfish');
  await host.init();
  await host.register();
  const args = { settings: [{ component: 'bios', url: 'http://192.0.2.7/nothing.bin' }] };
  await host.change('clean', { clean_steps: [{ interface: 'firmware', step: 'update', args }] });
  await expect(host.settled('manageable')).rejects.toThrow(/"provision_state":"clean failed"/);
  expect(await host.node()).toMatchObject({
    maintenance: true,
    fault: 'clean failure',
    last_error: expect.stringContaining('The image could not be read.') as string,
  });
  await host.change('manage');
  await host.settled('manageable');
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'add', path: '/automated_clean', value: false }]);

  machine.faults.failStep = { step: 'write_image', message: 'the image is bad', once: true };
  await expect(host.provision(image)).rejects.toThrow(/"provision_state":"deploy failed"/);
  expect(await host.node()).toMatchObject({ last_error: expect.stringContaining('the image is bad') as string });
  await host.change('active');
  await host.settled('active');
  // externally provisioned or not: an active host is deleted in maintenance
  expect(await host.delete()).toBe(404);
});

test('a host that others have provisioned is adopted', async () => {
  const host = hostOf('idrac');
  await host.init();
  await host.register();
  await host.change('adopt');
  expect(await host.settled('active')).toMatchObject({ fault: null, maintenance: false });
  expect(await host.delete()).toBe(404);
});

test('what a live ISO lacks is said before anything is begun', async () => {
  const host = hostOf('redfish');
  await host.init();
  await host.register();
  await host.ask('PATCH', `/v1/nodes/${host.uuid()}`, [{ op: 'add', path: '/automated_clean', value: false }]);
  const over = (instanceInfo: Record<string, unknown>) =>
    host.provision({ deployInterface: 'ramdisk', instanceInfo: { ...noImage, ...instanceInfo } });
  await expect(over({ boot_iso: null })).rejects.toThrow('needs boot_iso, or kernel and ramdisk');
  await expect(over({ boot_iso: 'file:///live.iso' })).rejects.toThrow('instance_info.boot_iso must be');
  await expect(
    over({ boot_iso: null, kernel: 'http://192.0.2.1/vmlinuz', ramdisk: 'http://192.0.2.1/initrd' }),
  ).rejects.toThrow('with virtual media give boot_iso');
  expect((await host.node())['provision_state']).toBe('available');
});
