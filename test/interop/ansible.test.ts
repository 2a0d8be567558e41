import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { chrootCommand, chrootEnvironment } from '#test/interop/chroot-command.ts';
import { debian13 } from '#test/interop/debian-13.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** The playbook of docs/examples, by Debian 13's Ansible, takes a simulated machine from nothing to an instance and away. */

const mac = '52:54:00:00:3d:01';
let tree: string;
let folder: string;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;

beforeAll(async () => {
  tree = await debian13();
  folder = await mkdtemp(join(tmpdir(), 'baton-ansible-'));
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  await copyFile(join(import.meta.dirname, '../../docs/examples/ansible.yaml'), join(folder, 'ansible.yaml'));
});
afterAll(async () => {
  await machine?.close();
  await conductor?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

async function play(site: object): Promise<RunResult> {
  await writeFile(join(folder, 'site.yaml'), JSON.stringify(site));
  const argv = ['ansible-playbook', '/home/ansible.yaml', '-i', 'localhost,', '-e', '@/home/site.yaml'];
  return run(...chrootCommand({ tree, binds: { [folder]: 'home' }, argv }), {
    env: { ...chrootEnvironment, HOME: '/tmp', ANSIBLE_LOCALHOST_WARNING: 'false' },
    okExitCodes: [0, 2],
    timeoutMs: 20 * 60_000,
  });
}

test('each task changes what it says, and nothing is left', async () => {
  // the simulated ramdisk has no firmware to put a boot entry into
  const { stdout } = await play({ baton: conductor.url, mac, bmc: machine.driverInfo, boot_mode: 'bios' });
  expect(stdout).toMatch(/localhost +: ok=10 +changed=7 +unreachable=0 +failed=0 /);
  expect(machine.disk).toContainEqual(expect.stringMatching(/^write_image /));
  expect((await operator.call('GET', '/v1/nodes'))['nodes']).toEqual([]);
  expect((await operator.call('GET', '/v1/deploy_templates'))['deploy_templates']).toEqual([]);
});

test('a wrong password ends the play with what the BMC says', async () => {
  const { stdout, exitCode } = await play({
    baton: conductor.url,
    node: 'n10',
    mac: '52:54:00:00:3d:02',
    bmc: { ...machine.driverInfo, redfish_password: 'none-of-its' },
    boot_mode: 'bios',
  });
  expect(exitCode).toBe(2);
  expect(stdout).toContain('redfish_username or redfish_password is wrong');
});
