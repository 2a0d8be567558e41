import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { run } from '#shared/process/run.ts';
import { type AgentMachine, createAgentMachine } from '#test/interop/agent-machine.ts';
import { debian13 } from '#test/interop/debian-13.ts';
import { loggedErrors } from '#test/interop/logged-errors.ts';
import { serveMachine } from '#test/lab/bmc/machine-control.ts';
import { startRedfishBmc } from '#test/lab/bmc/redfish-bmc.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { removeLab } from '#test/lab/lab-directory.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** The real ironic-python-agent 10.2 under our conductor: booted by our scripts, looked up, inspected, cleaned, powered off. */

interface NodeView {
  readonly provision_state: string;
  readonly target_provision_state: string | null;
  readonly power_state: string | null;
  readonly last_error: string | null;
  readonly maintenance: boolean;
}

interface InventoryView {
  readonly inventory: {
    readonly interfaces: readonly unknown[];
    readonly disks: readonly unknown[];
    readonly memory: { readonly physical_mb: number };
  };
  readonly plugin_data: { readonly error: string | null };
}

const mac = '52:54:00:1a:a0:02';
const name = 'real';
let lab: Lab;
let machine: AgentMachine;

beforeAll(async () => {
  const tree = await debian13();
  // there is no disk to wait for
  const conductorSettings = {
    BATON_HEARTBEAT_TIMEOUT: '30',
    BATON_KERNEL_PARAMS: 'ipa-debug=1 ipa-disk-wait-attempts=1',
  };
  lab = await startLab({ nodes: [], report: say, conductorSettings });
  machine = await createAgentMachine(lab.directory, {
    name,
    mac,
    tree,
    bootScript: async (address) => {
      const answer = await request(`${lab.conductor.url}/boot/node.ipxe?mac=${address}`, { dispatcher: lab.gate });
      return answer.body.text();
    },
  });
  lab.defer(() => machine.close());
  const machineSocket = join(lab.directory.sockets, `${name}.machine`);
  lab.defer(await serveMachine(machine, machineSocket));
  const address = await lab.network.addBmcAddress(0);
  const bmc = await startRedfishBmc(lab.directory, { machineName: name, machineSocket, address });
  lab.defer(() => bmc.stop());
  const node = await lab.api.call<{ readonly uuid: string }>('POST', '/v1/nodes', {
    name,
    driver: bmc.driver,
    driver_info: { ...bmc.driverInfo, agent_burnin_cpu_timeout: 2 },
    network_interface: 'noop',
    automated_clean: false,
  });
  await lab.api.call('POST', '/v1/ports', { node_uuid: node.uuid, address: mac });
  await provision('manage');
  await rest('manageable');
});
afterAll(() => lab?.close());

test('is inspected', async () => {
  await showingLogs(async () => {
    await provision('inspect');
    await rest('manageable');
  });
  const { inventory, plugin_data } = await lab.api.call<InventoryView>('GET', `/v1/nodes/${name}/inventory`);
  expect(inventory.interfaces).toMatchObject([{ name, mac_address: mac, has_carrier: true }]);
  expect(inventory.disks).toEqual([]);
  expect(inventory.memory.physical_mb).toBeGreaterThan(0);
  expect(plugin_data.error).toBeNull();
});

test('is cleaned with a burn-in of two seconds, and powered off', async () => {
  await showingLogs(async () => {
    const started = performance.now();
    await provision('clean', { clean_steps: [{ interface: 'deploy', step: 'burnin_cpu' }] });
    const node = await rest('manageable');
    say(`cleaned in ${Math.round(performance.now() - started)} ms`);
    expect(node).toMatchObject({ power_state: 'power off', maintenance: false });
  });
  expect(machine.boots()).toBe(2);
  expect(machine.getPower()).toBe('off');
  const log = readFileSync(machine.logFile, 'utf8');
  expect(log).toContain("'stress-ng', '--cpu', 0, '--timeout', 2");
});

test('is cleaned by the steps of its own list, in the order of their priorities', async () => {
  await lab.api.call('PATCH', `/v1/nodes/${name}`, [{ op: 'replace', path: '/automated_clean', value: true }]);
  await showingLogs(async () => {
    await provision('provide');
    await rest('available');
  });
  const { steps } = await lab.api.call<FlowView>('GET', `/v1/nodes/${name}/flow`);
  expect(steps.map((step) => `${step.priority} ${step.step} ${step.state}`)).toEqual([
    '0 boot_ramdisk succeeded',
    '99 erase_devices_metadata succeeded',
    '10 erase_devices succeeded',
    '0 tear_down_agent succeeded',
    '0 leave_network succeeded',
  ]);
  expect(machine.boots()).toBe(3);
  expect(machine.getPower()).toBe('off');
});

test('it has met nothing that it does not understand', () => {
  // a hardware manager that Debian's package names and does not contain; LLDP, for which it has no rights here
  const known = /Could not load 'mlnx'| ironic_python_agent\.netutils /;
  expect(loggedErrors(machine.logFile).filter((line) => !known.test(line))).toEqual([]);
});

test('nothing of it stays behind, even when nobody ends it', async () => {
  const { namespace } = lab.directory;
  await machine.setBoot({ device: 'pxe', once: true, mode: 'uefi' });
  await machine.setPower('on');
  await waitUntil(
    'the agent to log',
    () => readFileSync(machine.logFile, 'utf8').split('# unshare').length === 5 || undefined,
    { timeoutMs: 120_000 },
  );
  const pids = (await run('ip', ['netns', 'pids', namespace])).stdout.split('\n').filter(Boolean);
  expect(pids.length).toBeGreaterThan(4);
  // what the watchdog of a killed test does
  await removeLab(lab.directory);
  // one that was killed leaves the namespace before it is gone
  await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}/root/`)), { timeout: 60_000 }).toEqual([]);
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain('interop-packages');
  expect((await run('ip', ['netns', 'list'])).stdout).not.toContain(namespace);
});

async function showingLogs(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    say(`${tail(lab.conductor.logFile)}\n${tail(machine.logFile)}`);
    throw error;
  }
}

async function provision(target: string, more: object = {}): Promise<void> {
  await lab.api.call('PUT', `/v1/nodes/${name}/states/provision`, { target, ...more });
}

async function rest(state: string): Promise<NodeView> {
  const node = await waitUntil(
    `${name} to become ${state}`,
    async () => {
      const now = await lab.api.call<NodeView>('GET', `/v1/nodes/${name}`);
      return now.target_provision_state === null ? now : undefined;
    },
    { timeoutMs: 10 * 60_000, signal: lab.closing },
  );
  expect(node).toMatchObject({ provision_state: state, last_error: null });
  return node;
}

function tail(file: string): string {
  return `--- ${file}\n${readFileSync(file, 'utf8').split('\n').slice(-60).join('\n')}`;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
