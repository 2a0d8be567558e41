import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { provision, readDemoImage, waitForState } from '#test/lab/operator.ts';
import { readGpt } from '#test/lab/proofs/read-gpt.ts';
import { say } from '#test/support/say.ts';

/** Whole deploys in QEMU, at the same time on one switch and one conductor. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  // the other tests' machines have one processor
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', cpus: 2 },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi' },
];

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: machines, report: say });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});

afterAll(() => lab?.close());

describe.each(machines)('a machine with $firmware firmware behind $bmc', ({ name }) => {
  test('becomes active, each step of the deploy in its turn', () => {
    const { flow } = reportOf(outcomes, name);
    expect(flow.state).toBe('succeeded');
    expect(flow.steps.map(({ step, priority, state }) => `${priority} ${step} ${state}`)).toEqual([
      '100 deploy succeeded',
      '80 write_image succeeded',
      '60 prepare_instance_boot succeeded',
      '40 tear_down_agent succeeded',
      '30 switch_to_tenant_network succeeded',
      '20 boot_instance succeeded',
    ]);
  });

  test('every proof holds: disk, identity, network', () => {
    const { proofs } = reportOf(outcomes, name);
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(8);
  });
});

test('an undeployed machine is off, without its partition table, and available again', async () => {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  const disk = node.machine.diskFiles[0] ?? '';
  expect(readGpt(disk)).toHaveLength(4);
  // metadata is erased by a clean of the node on the provisioning network
  await lab.api.call('PATCH', `/v1/nodes/${node.name}`, [{ op: 'replace', path: '/automated_clean', value: true }]);
  await provision(lab, node, 'deleted');
  try {
    const view = await waitForState(lab, node, 'available', 14 * 60_000);
    expect(view.instance_uuid).toBeNull();
  } catch (error) {
    say(labDiagnostics(lab, 60));
    throw error;
  }
  expect(node.machine.getPower()).toBe('off');
  expect(() => readGpt(disk)).toThrow('has no GUID partition table');
});
