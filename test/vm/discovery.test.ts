import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { bootEvents } from '#conductor/model/power-and-boot.ts';
import { deployEnrolled } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNode, type LabNodeOptions, type LabSite, startLab } from '#test/lab/lab.ts';
import { labAddresses, switchId } from '#test/lab/network.ts';
import { getNode, provision, readDemoImage, waitForState } from '#test/lab/operator.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { say } from '#test/support/say.ts';

/** Machines that nobody has described: they boot, stand enrolled, get their BMC's login by a rule, and are deployed. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish' },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi' },
];
const discoverLimitMs = 14 * 60_000;

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();
let nodesBefore: unknown;

beforeAll(async () => {
  const image = await readDemoImage();
  const conductorSettings = (site: LabSite) =>
    Promise.resolve({ BATON_DISCOVERY: 'true', BATON_INSPECTION_RULES_FILE: writeRules(site) });
  lab = await startLab({ nodes: machines, report: say, conductorSettings });
  const running = lab;
  nodesBefore = (await running.api.call<{ nodes: unknown }>('GET', '/v1/nodes')).nodes;
  outcomes = await deployOnEach(
    running,
    async (node, reporting) => {
      await discover(running, node);
      return deployEnrolled(running, node, image, reporting);
    },
    say,
  );
});
afterAll(() => lab?.close());

/** The lab's BMCs can't be seen from within their machines: a rule for each, by the machine's UUID, names them. */
function writeRules(site: LabSite): string {
  const file = join(site.directory.path, 'rules.yaml');
  const set = (path: string, value: unknown) => ({ op: 'set-attribute', args: { path, value } });
  const rules = site.nodes.map(({ name, machine, bmc }) => ({
    description: name,
    conditions: [{ op: 'eq', args: { values: ['{inventory[system_vendor][baton_system_uuid]}', machine.uuid] } }],
    actions: [
      set('/name', name),
      set('/driver', bmc.driver),
      ...Object.entries(bmc.driverInfo).map(([field, value]) => set(`/driver_info/${field}`, value)),
      set('/resource_class', 'lab'),
      set('/automated_clean', false),
    ],
  }));
  writeFileSync(file, stringify(rules), { mode: 0o600 });
  return file;
}

/**
 * Discovers the machine as it stands in the rack: on the provisioning network, which its switch names by LLDP; then
 * somebody presses its button.
 */
async function discover(running: Lab, node: LabNode): Promise<void> {
  const { network } = running;
  await network.vsctl('clear', 'Port', node.name, 'trunks');
  await network.vsctl('set', 'Port', node.name, 'vlan_mode=access', `tag=${labAddresses.provisioning.vlan}`);
  await network.vsctl('set', 'Interface', node.name, 'lldp:enable=true');
  await node.machine.setPower('on');
  try {
    await waitUntil(`${node.name} to be enrolled`, () => getNode(running, node).catch(() => undefined), {
      timeoutMs: discoverLimitMs,
      everyMs: 500,
      signal: running.closing,
    });
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running, 60)}\n`);
    throw error;
  }
  say(`${node.name} is enrolled`);
  // Open vSwitch names itself by each interface's own MAC address, under which no networks file can have it
  const { ports } = await running.api.call<{ ports: { uuid: string }[] }>('GET', `/v1/ports?node=${node.name}`);
  await running.api.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
    { op: 'replace', path: '/local_link_connection/switch_id', value: switchId },
  ]);
  await provision(running, node, 'manage');
  await waitForState(running, node, 'manageable');
  await provision(running, node, 'provide');
  await waitForState(running, node, 'available');
}

test('the conductor knew none of them', () => {
  expect(nodesBefore).toEqual([]);
});

describe.each(machines)('an unknown machine with $firmware firmware behind $bmc', ({ name, bmc }) => {
  test('stands with its ports, its place at the switch, and what rules say', async () => {
    const node = lab?.nodes.find((each) => each.name === name);
    if (!lab || !node) throw new Error('there is no lab');
    expect(await lab.api.call('GET', `/v1/nodes/${name}`)).toMatchObject({ driver: bmc, resource_class: 'lab' });
    const { ports } = await lab.api.call<{ ports: unknown[] }>('GET', `/v1/ports/detail?node=${name}`);
    expect(ports).toMatchObject([{ address: node.machine.mac, local_link_connection: { port_id: name } }]);
  });

  test("its flow shows what was seen of the ramdisk's boot", () => {
    const { boot } = reportOf(outcomes, name).flow;
    const first = boot.slice(0, boot.findIndex(({ event }) => event === 'heartbeat') + 1);
    // the ramdisk in which it was discovered may have looked itself up before it was booted again
    expect(new Set(first.map(({ event }) => event))).toEqual(new Set(bootEvents));
    expect(first.find(({ event }) => event === 'initrd')?.bytes).toBeGreaterThan(10_000_000);
  });

  test('is deployed: every proof holds', () => {
    const { flow, proofs } = reportOf(outcomes, name);
    expect(flow.state).toBe('succeeded');
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(8);
  });
});
