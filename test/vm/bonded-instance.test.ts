import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { deployEnrolled } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { buildNetplanImage } from '#test/lab/netplan-image.ts';
import { labAddresses } from '#test/lab/network.ts';
import { enrollNode, readDemoImage } from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { say } from '#test/support/say.ts';

/**
 * An instance whose cloud-init builds what Baton has switched: two cards in a bond by LACP, and the tenant's network as a
 * tagged VLAN on top of it.
 */

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();
const { vlan } = labAddresses.tenant;
const secondMac = '52:54:01:00:00:02';

beforeAll(async () => {
  const imagesDirectory = await buildNetplanImage(say);
  const image = await readDemoImage(imagesDirectory);
  lab = await startLab({
    nodes: [{ name: 'node0', firmware: 'uefi', bmc: 'redfish', secondMac }],
    imagesDirectory,
    switchSettings: { bond_numbers: '101-110' },
    tenantNetwork: { tagged: [vlan] },
    report: say,
  });
  const running = lab;
  outcomes = await deployOnEach(
    running,
    async (node, reporting) => {
      const group = { mode: '802.3ad', properties: { miimon: 100, lacp_rate: 'fast' } };
      await enrollNode(running, node, { bond: { secondMac, group } });
      return deployEnrolled(running, node, image, reporting);
    },
    say,
  );
});
afterAll(() => lab?.close());

test('every proof of a deploy holds, over the tagged VLAN', () => {
  const { proofs } = reportOf(outcomes, 'node0');
  expect(proofs.filter(({ holds }) => !holds)).toEqual([]);
  expect(proofs).toHaveLength(8);
});

test('switch and system have made a bond of both cards by LACP, which carries the VLAN tagged', async () => {
  if (!lab) throw new Error('there is no lab');
  const control = join(lab.directory.sockets, 'vswitchd.ctl');
  const { stdout } = await run('ovs-appctl', ['-t', control, 'bond/show']);
  expect(stdout).toContain('lacp_status: negotiated');
  expect(stdout.match(/^(member|slave) node0b?: enabled$/gm)).toHaveLength(2);
  expect(await lab.network.vsctl('--columns=vlan_mode,trunks', 'find', 'Port', 'lacp=active')).toMatch(
    new RegExp(`vlan_mode\\s*: trunk\\s+trunks\\s*: \\[${vlan}\\]`),
  );
  expect(readFileSync(lab.nodes[0]?.machine.serialLog ?? '', 'latin1')).toContain('baton-demo: beacon ready');
});

test.each(['net0', 'net1'])('the beacon answers also while the cable of %s is out', async (cable) => {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  await node.machine.qmp('set_link', { name: cable, up: false });
  await expect(waitForBeacon(lab, node, 15 * 60_000)).resolves.toMatchObject({ hostname: expect.any(String) });
  await node.machine.qmp('set_link', { name: cable, up: true });
});
