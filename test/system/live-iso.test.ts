import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { makeBootMediumDirectory } from '#test/support/boot-medium-directory.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Instances that run from a CD in the virtual drive: emptying or changing it ends them. */

const live = 'http://192.0.2.1/live.iso';
let directory: string;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
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
  name = `live-${count}`;
  const mac = `52:54:00:00:b9:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  await enrolSimulatedNode(operator, machine, name, {
    boot_interface: 'redfish-virtual-media',
    driver_info: { ...machine.driverInfo, external_http_url: conductor.url },
    automated_clean: false,
  });
  return async () => {
    conductor.atCheckpoints(() => 'go on');
    await machine.close();
  };
});

async function deployLive(boot_iso = live): Promise<void> {
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'add', path: '/deploy_interface', value: 'ramdisk' },
    { op: 'replace', path: '/instance_info', value: { boot_iso } },
  ]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
}

/** Lists what the BMC was asked to do, in order. */
function asked(): string[] {
  return machine.bmc.requests.flatMap(({ method, path, body }) => {
    if (method === 'GET' || path.includes('/Sessions')) return [];
    const boot = /"BootSourceOverrideTarget":"(\w+)"/.exec(body)?.[1];
    return [boot ?? /"ResetType":"(\w+)"/.exec(body)?.[1] ?? path.split('.').at(-1) ?? ''];
  });
}

test.each([live, 'http://me:hush@192.0.2.1/live.iso'])(
  'a conductor that dies once the instance is on its way leaves it its CD: %s',
  async (iso) => {
    machine.bmc.quirks.hidesMediaLogin = true;
    conductor.atCheckpoints((at) => (at === 'acted' && machine.state().power === 'on' ? 'die' : 'go on'));
    const before = conductor.deaths();
    const active = deployLive(iso);
    await expect.poll(() => conductor.deaths()).toBe(before + 1);
    conductor.atCheckpoints(() => 'go on');
    await active;
    expect([machine.state(), machine.boots()]).toEqual([{ power: 'on', runs: 'instance' }, 1]);
    expect(asked()).toEqual(['InsertMedia', 'Cd', 'On']);
  },
);

test.each([
  // actions are sent once, changes as often as a question, and once more
  ['the CD is put in', { method: 'POST', path: /InsertMedia$/, times: 1 }],
  ['the boot device is set', { method: 'PATCH', path: /Systems\/1$/, times: 6 }],
  ['the machine is switched on', { method: 'POST', path: /ComputerSystem\.Reset$/, times: 1 }],
])('a BMC that is away for a moment when %s is asked again', async (_, fault) => {
  machine.bmc.inject({ ...fault, drop: true });
  await deployLive();
  expect([machine.state(), machine.boots(), await drive()]).toEqual([{ power: 'on', runs: 'instance' }, 1, live]);
});

const drive = async (): Promise<unknown> =>
  ((await operator.call('GET', `/v1/nodes/${name}/vmedia`)) as unknown as readonly { readonly image: unknown }[])[0]
    ?.image;

/** A service that restarts the machine, and boots no ramdisk. */
async function serve(): Promise<void> {
  const service_steps = [{ interface: 'power', step: 'reboot' }];
  await operator.provision(name, 'service', { service_steps, disable_ramdisk: true });
  await operator.waitForState(name, 'active');
}

test('a service without the ramdisk restarts the instance from its CD, wherever the conductor dies', async () => {
  await deployLive();
  const deaths = await conductor.dieAtEach({
    act: serve,
    check: async () => {
      expect([machine.state(), await drive()]).toEqual([{ power: 'on', runs: 'instance' }, live]);
    },
  });
  expect(deaths).toBeGreaterThan(3);
  expect(asked().filter((each) => /Media/.test(each))).toEqual(['InsertMedia']);
});

test('an instance whose CD has been taken is started from it at the end of a service', async () => {
  await deployLive();
  await operator.call('DELETE', `/v1/nodes/${name}/vmedia`);
  expect(machine.state()).toEqual({ power: 'on', runs: 'nothing' });
  await serve();
  expect([machine.state(), await drive()]).toEqual([{ power: 'on', runs: 'instance' }, live]);
  expect(asked().slice(-4)).toEqual(['ForceOff', 'InsertMedia', 'Cd', 'On']);
});

test("an operator's data image stays in the drive until the instance is given back", async () => {
  const data = 'http://192.0.2.1/data.iso';
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  await operator.call('POST', `/v1/nodes/${name}/vmedia`, { device_type: 'cdrom', image_url: data });
  await serve();
  expect(await drive()).toBe(data);
  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  expect(await drive()).toBeNull();
});
